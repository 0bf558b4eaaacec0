import itertools
import math

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.region_scores import BASELINES, MACRO, OVERALL, image_score, region_scores
from tests.scoring.make import by_metric, item, values
from tests.tabled import tabled

EYE = ("optic disc", "optic cup", "fovea")
TRUTH = {1: "optic disc", 2: "optic cup"}


@tabled(
    ("answer", "precision", "recall", "f1", "hr"),
    [
        ({1: "optic disc", 2: "optic cup"}, 1, 1, 1, 1),
        ({1: "optic cup", 2: "optic disc"}, 0, 0, 0, 1),
        ({1: "optic disc"}, 1, 1 / 2, 2 / 3, 1),
        ({1: "optic disc", 2: "optic cup", 3: "fovea"}, 2 / 3, 1, 4 / 5, 2 / 3),  # region 3 does not exist
        ({1: "optic disc", 2: "macula lutea"}, 1 / 2, 1 / 2, 1 / 2, 1),  # a foreign type is wrong, not absent
        ({7: "optic disc", 8: "optic cup"}, 0, 0, 0, 0),
        (Unparsed("empty"), 0, 0, 0, None),
        ({}, 0, 0, 0, None),
    ],
)
def test_one_image_by_hand(answer, precision, recall, f1, hr):
    score = image_score(answer, TRUTH)
    assert (score.precision, score.recall, score.f1) == pytest.approx((precision, recall, f1))
    assert score.hr == (None if hr is None else pytest.approx(hr))


def reference(items):
    """Means over images from sets of pairs, written apart from the code under test."""
    p, r, f, h = [], [], [], []
    for i in items:
        predicted = set() if isinstance(i.answer, Unparsed) else set(i.answer.items())
        true = set(i.truth.items())
        p.append(len(predicted & true) / len(predicted) if predicted else 0)
        r.append(len(predicted & true) / len(true))
        f.append(2 * p[-1] * r[-1] / (p[-1] + r[-1]) if p[-1] + r[-1] else 0)
        if predicted:
            h.append(1 - len({k for k, _ in predicted} - set(i.truth)) / len(predicted))
    mp, mr = np.mean(p), np.mean(r)
    return {
        "precision": mp,
        "recall": mr,
        "f1_lmod_plus": np.mean(f),
        "f1_lmod_v1": 2 * mp * mr / (mp + mr),
        "hr": np.mean(h),
    }


def some_items(seed, n=120):
    rng = np.random.default_rng(seed)
    items = []
    for i in range(n):
        truth = {k + 1: str(rng.choice(EYE)) for k in range(rng.integers(1, 4))}
        answer = {k: str(rng.choice([truth.get(k, "fovea"), *EYE])) for k in range(1, 5) if rng.random() < 0.6}
        modality = str(rng.choice(["CFP", "OCT", "SLO"]))
        items.append(item(i, answer or Unparsed("no_match"), truth, EYE, group=str(i // 2), modality=modality))
    return items


@tabled("seed", range(4))
def test_many_images_as_the_reference(seed):
    items = some_items(seed)
    scores = region_scores("anatomy", items)
    got = values(scores)
    for name, expected in reference(items).items():
        assert got[name] == pytest.approx(expected), name
    parts = [[i for i in items if i.modality == m] for m in ("CFP", "OCT", "SLO")]
    for name in reference(items):
        assert got[f"{name}_macro"] == pytest.approx(np.mean([reference(part)[name] for part in parts])), name
    answered = [i for i in items if i.status == "answered"]
    assert got["f1_lmod_plus_answered"] == pytest.approx(reference(answered)["f1_lmod_plus"])
    assert got["f1_lmod_v1_answered"] == pytest.approx(reference(answered)["f1_lmod_v1"])
    assert values(scores, "modality=OCT")["f1_lmod_plus"] == pytest.approx(reference(parts[1])["f1_lmod_plus"])


def test_every_estimate_has_an_interval_around_it():
    for s in region_scores("anatomy", some_items(0)):
        if s.subset == "all" and s.metric not in ("chance", "majority") and 0 < s.value < 1:
            assert s.low < s.value < s.high, s


def test_n_of_hr_is_the_number_of_images_with_a_prediction():
    items = [item(1, {1: "fovea"}, TRUTH, EYE), item(2, Unparsed("no_match"), TRUTH, EYE)]
    got = by_metric(region_scores("anatomy", items))
    assert (got["hr"].n, got["hr"].value) == (1, 1.0)
    assert (got["precision"].n, got["share_unparsed"].value) == (2, 0.5)
    silent = by_metric(region_scores("anatomy", items[1:]))
    assert (silent["hr"].n, silent["hr"].value, silent["precision"].value) == (0, None, 0.0)


def measure(measures, name):
    return next(f for f in measures if f.name == name)


def test_f1_of_lmod_v1_is_the_harmonic_mean_of_the_printed_means():
    rows = [(0.0789, 0.1163, 0.0940), (0.6026, 0.3999, 0.4807)]  # LLaVA-Med; InternVL-2B of LMOD v1, Table 3
    for precision, recall, printed in rows:
        sums = {name: np.array([v]) for name, v in (("images", 1.0), ("precision", precision), ("recall", recall))}
        value = float(measure(OVERALL, "f1_lmod_v1").value(sums))
        assert math.isclose(math.floor(value * 1e4) / 1e4, printed, abs_tol=1e-4)


@tabled(
    ("name", "part", "means", "printed"),
    [
        ("precision", "precision", (0.3017, 0.8484, 0.6226, 0.4186, 0.4539), 0.5807),
        ("recall", "recall", (0.2790, 0.8555, 0.6199, 0.4053, 0.4520), 0.5766),
        ("f1_lmod_plus", "f1", (0.2864, 0.8512, 0.6205, 0.4093, 0.4446), 0.5761),
        ("hr", "hr", (0.9085, 0.9829, 0.9974, 0.9486, 0.7616), 0.9439),
    ],
)
def test_overall_of_lmod_plus_is_weighted_by_images(name, part, means, printed):
    """GPT-4o's row of LMOD+, Table 4: SS, OCT, SLO, LP, CFP."""
    images = np.array([2256.0, 3859.0, 10000.0, 2432.0, 3386.0])
    sums = {"images": images, "predicted": images, part: images * means}
    assert images.sum() == 21933
    assert float(measure(OVERALL, name).value(sums)) == pytest.approx(printed, abs=1.5e-4)
    assert float(measure(MACRO, f"{name}_macro").value(sums)) == pytest.approx(np.mean(means))


def test_chance_is_the_mean_f1_of_random_names():
    rng = np.random.default_rng(0)
    truths = [TRUTH, {1: "fovea"}, {1: "optic disc", 2: "optic cup", 3: "fovea"}]
    blind = [image_score({k: str(rng.choice(EYE)) for k in t}, t).f1 for t in truths for _ in range(4000)]
    items = [item(i, Unparsed("empty"), t, EYE) for i, t in enumerate(truths)]
    assert values(region_scores("anatomy", items))["chance"] == pytest.approx(np.mean(blind), abs=0.015)


def test_majority_is_the_best_single_name_for_each_set_of_choices():
    layers = ("retina", "choroid")
    truths = [(TRUTH, EYE), (TRUTH, EYE), ({1: "optic disc"}, EYE), ({1: "retina", 2: "choroid", 3: "retina"}, layers)]
    items = [item(i, Unparsed("empty"), t, c) for i, (t, c) in enumerate(truths)]
    assert values(region_scores("anatomy", items))["majority"] == pytest.approx((0.5 + 0.5 + 1 + 2 / 3) / 4)
    assert measure(BASELINES, "majority").interval is False


def test_one_modality_has_no_macro_mean():
    assert not [s for s in region_scores("a", [item(1, TRUTH, TRUTH, EYE)]) if s.metric.endswith("_macro")]


def test_bad_input_is_an_error_with_the_item():
    with pytest.raises(BadArgument, match="at least one region"):
        region_scores("anatomy", [item(1, TRUTH, {}, EYE)])
    with pytest.raises(BadArgument, match="truth of 1='yes'"):
        region_scores("anatomy", [item(1, "yes", "yes", EYE)])
    with pytest.raises(BadArgument, match="answer='yes'"):
        region_scores("anatomy", [item(1, "yes", TRUTH, EYE)])


def test_no_items_no_scores():
    assert region_scores("anatomy", []) == []


@pytest.mark.parametrize("seed", range(10))
def test_structures_in_wrong_boxes_count_for_the_recall_of_types_alone(seed):
    """The best assignment of the named structures to the true boxes, by brute force, and any shuffle of the boxes."""
    rng = np.random.default_rng(seed)
    truth = {k + 1: str(rng.choice(EYE)) for k in range(rng.integers(1, 5))}
    answer = {k + 1: str(rng.choice(EYE)) for k in range(rng.integers(1, 5))}
    names, true = list(answer.values()), list(truth.values())
    size = max(len(names), len(true))
    padded = [*names, *[""] * (size - len(names))]
    best = max(sum(a == b for a, b in zip(order, true, strict=False)) for order in itertools.permutations(padded))
    score = image_score(answer, truth)
    assert score.types == pytest.approx(best / len(true)) and score.types >= score.recall
    shuffled = dict(zip(answer, rng.permutation(names).tolist(), strict=True))
    assert image_score(shuffled, truth).types == score.types
    scores = {
        s.metric: s.value for s in region_scores("t", [item("a", answer, truth, choices=EYE)]) if s.subset == "all"
    }
    assert scores["recall_of_types"] == pytest.approx(score.types)


def test_images_are_grouped_by_their_number_of_boxes():
    """The mean F1 of each group, against a mean over images that is computed here."""
    counts = (1, 2, 2, 5, 6, 9, 6)
    items = []
    for n, count in enumerate(counts):
        truth = {k: EYE[k % 2] for k in range(1, count + 1)}
        answer = {k: v for k, v in truth.items() if k <= 1 + n % 2}
        items.append(item(n, answer, truth, EYE))
    found = {s.subset: (s.n, s.value) for s in region_scores("anatomy", items) if s.metric == "f1_lmod_plus"}
    f1 = [2 * min(c, 1 + n % 2) / (c + min(c, 1 + n % 2)) for n, c in enumerate(counts)]
    expected = {"1": [0], "2": [1, 2], "5": [3], "6+": [4, 5, 6]}
    assert {k: v for k, v in found.items() if k != "all"} == {
        f"boxes={k}": (len(at), pytest.approx(np.mean([f1[i] for i in at]))) for k, at in expected.items()
    }
