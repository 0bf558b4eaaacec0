"""What the printed numbers of X-PCR and OphthalWeChat show about one another."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from lmod_train.extensions.papers.printed import find, printed
from lmod_train.extensions.xpcr.questions import table_of
from tests.extensions.papers.recomputing import STAGES, XPCR, checks, constant, six, x_pcr_models


def test_rows_of_x_pcr_that_are_a_constant_times_the_row_of_another_modality():
    found = Counter()
    for row in checks("row = constant x EP row (cells within 0.02)"):
        model, modality = row["where"].rsplit(" ", 1)
        most, _ = constant(six(model, "EP"), six(model, modality))
        proportional = most >= 4
        assert proportional == (row["verdict"] == "PROPORTIONAL"), (row, most)
        if proportional:
            ratio = float(row["recomputed"].removeprefix("x"))
            inside = int((np.abs(six(model, "EP") * ratio - six(model, modality)) <= 0.025).sum())
            assert row["printed"] == f"{most}/6" and inside == most, (row, most, inside)
            assert (ratio == 1.0) == (row["note"] == "identical rows")
        found[proportional] += 1
        found["breaking"] += (6 - most) * proportional
        found["copies"] += bool((six(model, "EP") == six(model, modality)).all())
    assert (found[True], found[False], found["breaking"], found["copies"]) == (93, 12, 24, 14)


def test_stage_scores_of_x_pcr_that_are_offset_by_a_constant():
    base = six("HuaTuoGPT-Vision-7B", "EP")
    for modality, offset in {"CFP": -14.64, "RetCam": -10.28, "FFA": 8.71, "ICGA": 8.70, "OCT": 12.15}.items():
        assert base - six("HuaTuoGPT-Vision-7B", modality) == pytest.approx(np.full(6, offset), abs=1e-9)
    for modality, offset in {"EP": 3.98, "FFA": 2.19, "ICGA": 2.65}.items():
        assert six("qwen3-VL-8B", modality) - six("Qwen2.5-VL-7B", modality) == pytest.approx(np.full(6, offset))
    retcam = (six("qwen3-VL-8B", "RetCam") - six("Qwen2.5-VL-7B", "RetCam")).round(2)
    assert Counter(retcam) == {-4.43: 4, -3.27: 2}
    cfp = (six("qwen3-VL-8B", "CFP") - six("Qwen2.5-VL-7B", "CFP")).round(2)
    assert [STAGES[i] for i in np.flatnonzero(cfp == 5.38)] == ["AL", "LC", "DD"]
    differences = six("InternVL3-32B", "EP") - six("InternVL3-32B", "OCT")
    assert differences.round(2).tolist() == [10, 30, 20, 30, 16, 20]


def test_identical_rows_of_x_pcr():
    for model in ("InternVL3-8B", "HuaTuoGPT-Vision-34B"):
        assert all((six(model, "EP") == six(model, m)).all() for m in XPCR)
    assert (six("InternVL3-8B", "EP") != six("HuaTuoGPT-Vision-34B", "EP")).all()
    assert all((six("InternVL3-32B", "EP") == six("InternVL3-32B", m)).all() for m in ("CFP", "RetCam", "FFA", "ICGA"))
    commercial = x_pcr_models()[:6]
    alike = [m for m in commercial if (six(m, "FFA") == six(m, "ICGA")).all()]
    assert len(alike) == 5 and "GPT-5" not in alike
    assert (six("GPT-5", "FFA") - six("GPT-5", "ICGA"))[1:].tolist() == [0] * 5
    assert (six("qwen3-VL-8B", "OCT") == six("Qwen2.5-VL-7B", "OCT")).all()


def test_cells_of_x_pcr_that_are_exactly_20():
    found = {(c.model, c.modality, c.stage_or_class) for c in printed("xpcr") if c.value == "20.00"}
    med = {("LLaVA-Med-7B", m, "SG") for m in ("EP", "RetCam", "FFA", "ICGA", "OCT")} | {("LLaVA-Med-7B", "OCT", "CD")}
    assert found == med | {(f"LLaVA-v1.5-{size}", "OCT", "SG") for size in ("13B", "7B")}


def test_most_rows_of_x_pcr_rise_somewhere_although_the_means_decline():
    rows = [six(model, modality) for modality in XPCR for model in x_pcr_models()]
    assert sum(any(b > a for a, b in pairwise(row)) for row in rows) == 85 and len(rows) == 126


def test_sizes_of_x_pcr():
    sources, taxonomy = (list(table_of(name)) for name in ("sources", "taxonomy"))
    assert (len(sources), {*range(1, 52)} - {int(s["index"]) for s in sources}) == (49, {35, 39})
    assert sum(int(s["size"]) for s in sources) == 722_247
    assert sum(int(t["images"]) for t in taxonomy) == 26_415 and sum(int(t["qa_pairs"]) for t in taxonomy) == 176_188
    by_modality = {c.modality: int(c.value) for c in find("xpcr", "text", metric="num_images") if c.modality in XPCR}
    assert sum(by_modality.values()) == 31_218 and by_modality["OCT"] > by_modality["CFP"]
    each = {}
    for t in taxonomy:
        each.setdefault(t["category"], []).append((int(t["images"]), int(t["qa_pairs"])))
    ratios = {name: f"{sum(q for _, q in rows) / sum(n for n, _ in rows):.2f}" for name, rows in each.items()}
    assert list(ratios.values()) == ["5.67", "5.42", "9.64", "7.17", "9.01", "8.97", "8.05", "5.12"]


def test_english_accuracy_of_qwen_in_ophthalwechat():
    def accuracy(subset):
        cells = find("ophthalwechat", "Table 1A", model="Qwen2.5-VL-72B-Instruct", metric="accuracy")
        return next(c.number for c in cells if c.dataset_or_subset == subset)

    assert accuracy("english") == 0.503
    assert 2 * accuracy("overall") - accuracy("chinese") == pytest.approx(0.509, abs=5e-4)
    balanced = {"True": 71.2 - 50, "of True": 100 * 0.212 / 0.712}
    assert balanced == pytest.approx({"True": 21.2, "of True": 29.8}, abs=0.05)


def test_images_by_modality_of_ophthalwechat():
    counts = {c.modality: int(c.value) for c in find("ophthalwechat", "Supplementary Table 6") if c.modality != "all"}
    assert (len(counts), sum(counts.values())) == (97, 3469)
    assert (counts["CFP+Slitlamp"], counts["Slitlamp+CFP"]) == (2, 3)
    combined = [frozenset(p.strip() for p in m.split("+")) for m in counts if "+" in m]
    assert (len(combined), len(set(combined))) == (68, 67)


def test_means_of_x_pcr():
    every = {m: np.array([six(model, m) for model in x_pcr_models()]) for m in XPCR}
    assert (np.diff(np.concatenate(list(every.values())).mean(axis=0)) < 0).all()
    ep, retcam = every["EP"].mean(axis=0), every["RetCam"].mean(axis=0)
    for stage, pair in {
        "IQA": (82.16, 81.98),
        "AL": (72.20, 71.93),
        "LC": (68.04, 67.46),
        "CD": (41.23, 40.85),
    }.items():
        i = STAGES.index(stage)
        assert (retcam[i], ep[i]) == pytest.approx(pair, abs=0.006)
    dd = STAGES.index("DD")
    for model, number in {"GLM-4.5v": 74.56, "Qwen2.5-VL-7B": 73.88, "GPT-5": 72.19}.items():
        assert six(model, "RetCam")[dd] == number
    group = {c.model: c.note.partition("group=")[2].split(";")[0] for c in find("xpcr", "Table 4")}
    sg, cd = STAGES.index("SG"), STAGES.index("CD")
    means = {
        name: [round(float(np.mean([six(m, "CFP")[i] for m in group if group[m] == name])), 2) for i in (sg, cd)]
        for name in dict.fromkeys(group.values())
    }
    assert sorted(means.values()) == [[48.19, 41.86], [51.4, 45.83], [63.98, 53.37]]
    assert (six("GPT-5", "CFP")[sg], six("GPT-5-nano", "CFP")[cd]) == (69.07, 61.68)


def test_sets_of_x_pcr_that_are_listed_twice():
    sizes = {int(s["index"]): (s["dataset"], int(s["size"])) for s in table_of("sources")}
    assert sizes[7][1] == sizes[38][1] == 1748 and sizes[5][1] == sizes[41][1] == 1544 and sizes[46][1] == 3300
    images = {c.modality: int(c.value) for c in find("xpcr", "text", metric="num_images") if c.modality in XPCR}
    assert images["FFA"] == images["ICGA"] == 3356


def test_languages_of_qwen_in_ophthalwechat():
    def accuracy(table, subset):
        cells = find(
            "ophthalwechat", table, model="Qwen2.5-VL-72B-Instruct", metric="accuracy", dataset_or_subset=subset
        )
        return next(c.number for c in cells)

    n = 15_060
    for english, p in ((0.503, 0.005), (0.508, 0.056)):
        right = [round(n * accuracy("Table 1A", "chinese")), round(n * english)]
        found = chi2_contingency([right, [n - r for r in right]], correction=False).pvalue
        assert found == pytest.approx(p, abs=2e-3)
    parts = [
        accuracy("Table 1B", "Binary_EN"),
        accuracy("Table 1B", "Single-choice_EN"),
        accuracy("Table 1D", "Open-ended_EN"),
    ]
    close = 10_675
    for share in (0.5, 0.6):
        weights = [close * share, close * (1 - share), n - close]
        assert 0.5055 <= np.average(parts, weights=weights) <= 0.5105
