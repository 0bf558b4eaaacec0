"""Each recomputation of the printed numbers from other printed numbers, against an independent list of them.

``consistency_checks.csv`` was written by another program. Where a number is defined by a metric of this package, it is
recomputed by that metric.
"""

import csv
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lmod_train.report.papers.models import canonical_names
from lmod_train.report.papers.printed import find, printed, read_table
from lmod_train.report.papers.states import state_of
from lmod_train.scoring.regions import OVERALL

EXPECTED = list(csv.DictReader(Path(__file__).with_name("consistency_checks.csv").open(encoding="utf-8")))
MEASURES = {m.name: m.value for m in OVERALL}
PLUS = {"precision": "precision", "recall": "recall", "f1": "f1_lmod_plus", "hr": "hr"}
MODALITIES = ("SS", "OCT", "SLO", "LP", "CFP")
WEIGHTS = {"OIMHS": 3859, "ICDR": 390, "SDRG": 665}
BALANCE = {"OIMHS": (19, 610, 1043, 2187), "ICDR": (78,) * 5, "SDRG": (133,) * 5}
STAGED = {"OIMHS": "mh_staging", "ICDR": "icdr_staging", "SDRG": "sdrg_staging"}
XPCR = {"EP": "Table 3", "CFP": "Table 4", "RetCam": "Table 5", "FFA": "Table 6", "ICGA": "Table 7", "OCT": "Table 8"}
STAGES = ("IQA", "AL", "LC", "DD", "SG", "CD")


def checks(kind):
    return [row for row in EXPECTED if row["check"] == kind]


def one(paper, table, **fields):
    (cell,) = find(paper, table, **fields)
    return cell


def value(paper, table, **fields):
    """The printed number in the printed unit."""
    cell = one(paper, table, **fields)
    return float(cell.value) if cell.value else None


def models(paper, table):
    found = dict.fromkeys(c.model for c in printed(paper) if c.table == table)
    return [m for m in found if m not in ("", "Random", "Average")]


def harmonic(precision, recall):
    """F1 by the definition of LMOD."""
    sums = {"precision": np.array([precision]), "recall": np.array([recall]), "images": np.array([1.0])}
    return float(MEASURES["f1_lmod_v1"](sums))


def overall(metric, values, images):
    """Mean over modalities as the metric of an anatomy task weights them."""
    total = np.array(values) * images
    kept = {"precision": total, "recall": total, "f1": total, "hr": total, "images": images, "predicted": images}
    return float(MEASURES[PLUS[metric]](kept))


def images():
    return np.array([value("lmod_plus", "Table 2", modality=m, metric="num_images") for m in MODALITIES])


def test_every_line_of_the_list_is_recomputed_below():
    assert set(Counter(row["check"] for row in EXPECTED)) == {
        "average", "macro average", "F1 = 2PR/(P+R)", "sum of images", "overall = image-weighted mean",
        "same quantity printed twice", "F1 <= 2PR/(P+R)", "same model in both versions",
        "staging accuracy from Table 5 (weights 3859/390/665)", "row = constant x EP row (cells within 0.02)",
    }  # fmt: skip


@pytest.mark.parametrize("row", checks("average"), ids=lambda r: f"{r['paper']} {r['where']}")
def test_averages(row):
    task, metric = row["where"].split(" ")
    cells = [c for c in find(row["paper"], row["table"], task=task, metric=metric) if c.value]
    values = [float(c.value) for c in cells if c.model not in ("Random", "Average")]
    assert row["recomputed"] == f"{np.mean(values):.4f} (n={len(values)})"
    cell = one(row["paper"], row["table"], task=task, metric=metric, model="Average")
    assert cell.value == row["printed"]
    near = abs(np.mean(values) - float(cell.value)) <= 10.0**-cell.decimals
    assert near == (row["verdict"] != "DISAGREES")
    if row["verdict"] == "agrees":
        assert f"{np.mean(values):.{cell.decimals}f}" == cell.value


def test_the_average_age_of_lmod_plus_is_the_sum_of_22_values_divided_by_23():
    cells = [c for c in find("lmod_plus", "Table 3", task="age_prediction") if c.value]
    values = [float(c.value) for c in cells if c.model not in ("Random", "Average")]
    assert len(values) == 22 and f"{sum(values) / 23:.4f}" == "0.2446" and f"{sum(values) / 22:.4f}" == "0.2557"


def test_three_zeros_of_the_average_of_sex():
    cells = [c for c in find("lmod_plus", "Table 3", task="sex_prediction") if c.value]
    values = [float(c.value) for c in cells if c.model not in ("Random", "Average")]
    above = [v for v in values if v]
    assert (len(values) - len(above), f"{np.mean(values):.4f}", f"{np.mean(above):.4f}") == (3, "0.4296", "0.5012")


@pytest.mark.parametrize("row", checks("macro average"), ids=lambda r: r["paper"])
def test_macro_averages_of_the_cnn(row):
    cells = list(find(row["paper"], row["table"], dataset_or_subset="anatomical_recognition"))
    (macro,) = [c.value for c in cells if c.modality == "macro_avg"]
    mean = np.mean([float(c.value) for c in cells if c.modality in MODALITIES])
    assert (macro, f"{mean:.5f}") == (row["printed"], row["recomputed"])


@pytest.mark.parametrize("row", checks("F1 = 2PR/(P+R)"), ids=lambda r: f"{r['paper']} {r['where']}")
def test_f1_against_precision_and_recall(row):
    model, _, stage = row["where"].partition(" icdr_staging " if "icdr" in row["where"] else " sdrg_staging ")
    task = "icdr_staging" if "icdr" in row["where"] else "sdrg_staging" if stage else "anatomical_recognition"
    own = {"model": model, "task": task} | ({"stage_or_class": stage} if stage else {})
    p, r, f1 = (one(row["paper"], row["table"], metric=m, **own) for m in ("precision", "recall", "f1"))
    again = harmonic(p.number, r.number)
    assert (f1.value, f"{again:.4f}") == (row["printed"], row["recomputed"])
    assert (abs(again - f1.number) <= 2e-4) == (row["verdict"] == "agrees")


def test_eight_of_304_triples_of_table_5_do_not_fit_their_f1():
    triples = {}
    for cell in printed("lmod_plus"):
        if cell.table == "Table 5" and cell.number is not None:
            triples.setdefault((cell.model, cell.task, cell.stage_or_class), {})[cell.metric] = cell.number
    wrong = [
        f"{model} {task} {stage}"
        for (model, task, stage), t in triples.items()
        if abs(harmonic(t["precision"], t["recall"]) - t["f1"]) > 1e-3  # two more are off by 3e-4 and 5e-4
    ]
    assert wrong == [row["where"] for row in checks("F1 = 2PR/(P+R)") if row["paper"] == "lmod_plus"]
    assert (len(wrong), len(triples)) == (8, 304)


@pytest.mark.parametrize("row", checks("sum of images"), ids=lambda r: r["paper"])
def test_sums_of_images(row):
    total = sum(int(c.value) for c in find(row["paper"], row["table"], metric="num_images"))
    stated = {c.value for c in find(row["paper"], "text", metric="num_images") if c.dataset_or_subset == "LMOD"}
    assert str(total) == row["recomputed"] and stated == {row["printed"].split(" ")[0].replace(",", "")}
    assert (stated == {str(total)}) == (row["verdict"] == "agrees")


def overall_cells():
    for row in checks("overall = image-weighted mean"):
        model, metric = row["where"].rsplit(" ", 1)
        own = {"model": model, "metric": metric}
        values = [value("lmod_plus", "Table 4", modality=m, **own) for m in MODALITIES]
        yield row, one("lmod_plus", "Table 4", modality="all", **own), overall(metric, values, images())


def test_overall_of_table_4_by_the_weighting_of_our_metric():
    seen = Counter()
    for row, cell, again in overall_cells():
        assert (cell.value, f"{again:.4f}") == (row["printed"], row["recomputed"])
        near = abs(again - cell.number) < 1.6e-4
        assert near == (row["verdict"] == "agrees")
        seen[near] += 1
    assert seen == {True: 91, False: 1}


def test_overall_rows_of_table_3_from_table_4():
    """91 of 92 within the rounding of the inputs: all but the recall whose SS cell equals the HR of its row."""
    missed = []
    for row, cell, again in overall_cells():
        model = cell.model.replace("QWen", "Qwen")
        number = one("lmod_plus", "Table 3", model=model, task="anatomical_recognition", metric=cell.metric).number
        if abs(again - number) >= 1.6e-4:
            missed.append(row["where"])
    assert missed == ["InternVL-2.5-4B recall"]


def test_the_recall_that_the_overall_of_table_4_implies():
    own = {"model": "InternVL-2.5-4B", "metric": "recall"}
    others = [value("lmod_plus", "Table 4", modality=m, **own) for m in MODALITIES[1:]]
    printed_overall = value("lmod_plus", "Table 4", modality="all", **own)
    implied = (printed_overall * images().sum() - np.dot(others, images()[1:])) / images()[0]
    assert implied == pytest.approx(0.076, abs=5e-4)


@pytest.mark.parametrize("row", checks("same quantity printed twice"), ids=lambda r: r["where"])
def test_quantities_printed_twice(row):
    model, metric = row["where"].rsplit(" ", 1)
    own = {"model": model, "metric": metric, "task": "anatomical_recognition"}
    twice = one("lmod_plus", "Table 3", **own).value, one("lmod_plus", "Table 4", modality="all", **own).value
    assert twice == (row["printed"], row["recomputed"]) and twice[0] != twice[1]


def test_no_other_quantity_of_lmod_plus_is_printed_twice_with_two_values():
    named = {row["where"] for row in checks("same quantity printed twice")}
    for cell in printed("lmod_plus"):
        model = cell.model.replace("QWen", "Qwen")
        if cell.table == "Table 4" and cell.modality == "all" and f"{model} {cell.metric}" not in named:
            assert one("lmod_plus", "Table 3", model=model, task=cell.task, metric=cell.metric).value == cell.value
        if cell.table == "Table 6":
            assert one("lmod_plus", "Table 3", model=model, task=cell.task).number == cell.number


def test_only_one_f1_of_table_4_lies_above_the_harmonic_mean():
    (row,) = checks("F1 <= 2PR/(P+R)")
    above = []
    for f1 in find("lmod_plus", "Table 4", metric="f1"):
        own = {"model": f1.model, "modality": f1.modality}
        p, r = (one("lmod_plus", "Table 4", metric=m, **own).number for m in ("precision", "recall"))
        if f1.number is not None and f1.number > harmonic(p, r) + 1.5e-4:
            above.append((f"{f1.model} {f1.modality}", f1.value, f"{harmonic(p, r):.4f}"))
    assert above == [(row["where"], row["printed"], row["recomputed"])]


def recalls(model, dataset):
    found = find("lmod_plus", "Table 5", model=model, dataset_or_subset=dataset, metric="recall")
    return [c.number if c.number is not None else 0.0 for c in found]


@pytest.mark.parametrize(
    "row", checks("staging accuracy from Table 5 (weights 3859/390/665)"), ids=lambda r: r["where"]
)
def test_staging_is_consistent_with_macro_recall(row):
    model, total = row["where"], sum(WEIGHTS.values())
    macro = sum(n * np.mean(recalls(model, d)) for d, n in WEIGHTS.items()) / total
    right = sum(np.dot(recalls(model, d), classes) for d, classes in BALANCE.items()) / total
    assert row["recomputed"] == f"macro recall {macro:.4f}; accuracy {right:.4f}"
    number = one("lmod_plus", "Table 3", model=model.replace("QWen", "Qwen"), task="staging_overall").number
    fits = abs(macro - number) <= 6e-4
    assert fits == (row["verdict"] == "agrees")
    assert (abs(right - number) <= 1e-3 and not fits) == (row["verdict"] == "agrees with accuracy")


def test_the_random_row_of_staging_and_one_repaired_recall():
    total = sum(WEIGHTS.values())
    random = (0.25 * WEIGHTS["OIMHS"] + 0.20 * WEIGHTS["ICDR"] + 0.20 * WEIGHTS["SDRG"]) / total
    assert f"{random:.4f}" == one("lmod_plus", "Table 3", model="Random", task="staging_overall").value
    repaired = [1.0, *recalls("InternVL-2.0-2B", "ICDR")[1:]]
    parts = {d: recalls("InternVL-2.0-2B", d) for d in WEIGHTS} | {"ICDR": repaired}
    again = sum(n * np.mean(parts[d]) for d, n in WEIGHTS.items()) / total
    assert f"{again:.4f}" == one("lmod_plus", "Table 3", model="InternVL-2.0-2B", task="staging_overall").value


def test_125_of_144_recalls_fit_the_classes_of_the_three_sets():
    """Recalls between 0 and 1 that are a whole number of correct answers of their class."""
    fitting = []
    for dataset, classes in BALANCE.items():
        for model in models("lmod_plus", "Table 5"):
            for recall, n in zip(recalls(model, dataset), classes, strict=True):
                if 0 < recall < 1:
                    fitting.append(abs(round(recall * n) / n - recall) < 6e-5)
    assert (sum(fitting), len(fitting)) == (125, 144)


def six(model, modality):
    return np.array([value("xpcr", XPCR[modality], model=model, stage_or_class=s) for s in STAGES])


def constant(base, row):
    """The ratio that most of the six cells share within 0.02, and how many do."""
    fits = [(int((np.abs(base * r - row) <= 0.02 + 1e-9).sum()), -i, r) for i, r in enumerate(row / base)]
    most = max(fits)[0]
    inside = np.abs(base * max(fits)[2] - row) <= 0.02 + 1e-9
    return most, float((row[inside] * base[inside]).sum() / (base[inside] ** 2).sum())


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


@pytest.mark.parametrize("row", checks("same model in both versions"), ids=lambda r: r["where"])
def test_models_of_both_versions(row):
    model, metric = row["where"].rsplit(" ", 1)
    name = canonical_names()["lmod_naacl", model]
    other = {n for (paper, n), c in canonical_names().items() if (paper, c) == ("lmod_plus", name)}
    own = {"task": "anatomical_recognition", "metric": metric}
    (later,) = [c for m in other for c in find("lmod_plus", "Table 3", model=m, **own)]
    first = one("lmod_naacl", "Table 2", model=model, **own)
    assert (first.value, later.value) == (row["printed"], row["recomputed"])
    assert (abs(first.number - later.number) <= 2.0001e-4) == (row["verdict"] == "agrees")


def x_pcr_models():
    return models("xpcr", "Table 3")


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
    sources, taxonomy = (list(read_table(name)) for name in ("xpcr_sources", "xpcr_taxonomy"))
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


def test_accuracies_of_macular_holes_as_fractions_of_76():
    def fits(text, most):
        return [
            n for n in range(1, most + 1) for k in range(n + 1) if cut(100 * k / n) == text or near(100 * k / n, text)
        ]

    def cut(number):
        return f"{int(number * 100) / 100:.2f}"

    def near(number, text):
        return f"{number:.2f}" == text

    for text, k, n in (("30.26", 23, 76), ("18.42", 14, 76), ("5.26", 4, 76), ("22.53", 16, 71), ("24.24", 16, 66),
                       ("21.42", 15, 70), ("19.71", 14, 71)):  # fmt: skip
        assert text in (cut(100 * k / n), f"{100 * k / n:.2f}")
    assert not {75, 76} & set(fits("58.97", 76)) and min(fits("58.97", 76)) == 39
    assert fits("7.30", 76) == []
    age = {t: one("lmod_v1", t, model=m, **own) for t, m, own in (
        ("Table 3", "LLaVA-v1.5-7b", {"task": "age_prediction"}),
        ("Table 4", "LLava-v1.5-7b", {"dataset_or_subset": "age_prediction"}),
    )}  # fmt: skip
    assert age["Table 3"].value == age["Table 4"].value == "12.50"


def test_cells_of_lmod_plus_that_equal_those_of_another_row():
    def row(model):
        own = {"model": model, "modality": "SS"}
        return [value("lmod_plus", "Table 4", metric=m, **own) for m in ("precision", "recall", "f1", "hr")]

    assert row("InternVL-1.5-4B")[1:] == row("LLaVA-Vicuna-7B")[1:] == [0.0837, 0.0492, 0.6851]
    four, eight = row("InternVL-2.5-4B"), row("InternVL-2.5-8B")
    assert four[1] == four[3] == 0.9986 and four[2] == eight[2] == 0.0469
    icdr = {m: [c.value for c in find("lmod_plus", "Table 5", model=m, task="icdr_staging")]
            for m in ("InternVL-1.5-4B", "InternVL-2.0-8B")}  # fmt: skip
    assert icdr["InternVL-1.5-4B"] == icdr["InternVL-2.0-8B"] and len(icdr["InternVL-1.5-4B"]) == 15


def test_the_repairs_of_displaced_cells_of_table_5():
    repairs = {
        0.3338: (0.2003, 1.0),  # Qwen-VL-Chat, SDRG
        0.2908: (0.1762, 0.8333),  # Qwen-VL-Chat, ICDR
        0.3391: (0.2042, 1.0),  # InternVL-2.0-2B, ICDR
        0.1348: (0.5455, 0.0769),  # InternVL-2.5-8B-MPO, ICDR and SDRG
        0.3965: (0.2804, 90 / 133),
        0.3774: (0.2985, 40 / 78),
    }
    for f1, (precision, recall) in repairs.items():
        assert harmonic(precision, recall) == pytest.approx(f1, abs=1.2e-4)


def test_precision_1_with_f1_0_in_six_cells():
    found = set()
    for cell in find("lmod_plus", "Table 5", metric="precision", value="1.0000"):
        if one("lmod_plus", "Table 5", model=cell.model, task=cell.task, stage_or_class=cell.stage_or_class,
               metric="f1").number == 0:  # fmt: skip
            assert state_of(cell).name == "source inconsistent"
            found.add((cell.model, cell.stage_or_class[-1]))
    med = {("LLaVa-Med-v1.5-mistral-7B", stage) for stage in "124"}
    assert found == med | {("InternVL-1.5-2B", "4"), ("InternVL-1.5-4B", "3"), ("InternVL-1.5-4B", "4")}


def test_text_of_lmod_plus_against_its_tables():
    def column(task, metric="accuracy"):
        cells = find("lmod_plus", "Table 3", task=task, metric=metric)
        return {c.model: c.number for c in cells if c.number is not None and c.model not in ("Random", "Average")}

    assert max(
        column("anatomical_recognition", "precision"), key=column("anatomical_recognition", "precision").get
    ) == ("InternVL-1.5-4B")
    assert max(column("multiclass_diagnosis").values()) == column("multiclass_diagnosis")["LLaVa-Med-v1.5-mistral-7B"]
    assert column("multiclass_diagnosis")["InternVL-2.0-8B"] > column("multiclass_diagnosis")["InternVL-2.5-8B"]
    assert (len(column("binary_diagnosis")), len(column("multiclass_diagnosis"))) == (21, 22)
    hr = column("anatomical_recognition", "hr")
    below = {m: v for m, v in hr.items() if m.startswith("InternVL") and v < 0.9}
    assert list(below.values()) == [0.7948, 0.8387, 0.8793, 0.8794]
    for task, metric in (("multiclass_diagnosis", "accuracy"), ("binary_diagnosis", "accuracy"),
                         ("anatomical_recognition", "f1")):  # fmt: skip
        assert column(task, metric)["InternVL-2.5-4B-MPO"] > column(task, metric)["InternVL-2.5-4B"]
    naacl = [float(c.value) for c in find("lmod_naacl", "Table 4")]
    assert [float(c.value) for c in find("lmod_plus", "Table 7")] == pytest.approx([v / 100 for v in naacl])


def test_an_age_group_that_is_counted_and_means_of_the_text_of_lmod_v1():
    above = [c.model for c in find("lmod_v1", "Table 3", task="mh_staging") if c.number and c.number > 0.2]
    assert "InternVL Chat 2B V1.5" in above and len([m for m in above if m not in ("Random", "Average", "GPT-4o")]) == 6
    assert one("lmod_v1", "Table 4", model="GPT-4o", dataset_or_subset="age_prediction").value == "78.71"


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
