"""Agreement of judges and readers, against scikit-learn and statsmodels, and copies that are no evidence."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, recall_score
from statsmodels.stats.inter_rater import fleiss_kappa

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.agreement import agreement_scores, fleiss_scores, pair_scores
from tests.extensions.drafting.test_judged import items, named


def test_agreement_is_that_of_scikit_learn_on_what_both_have_judged():
    draw = np.random.default_rng(7)
    every = items(120)
    one = {i.id: bool(draw.random() < 0.6) for i in every[:100]}
    two = {i.id: (one[i.id] if i.id in one and draw.random() < 0.8 else bool(draw.random() < 0.5)) for i in every[20:]}
    both = sorted(one.keys() & two.keys())
    a, b = np.array([one[i] for i in both]), np.array([two[i] for i in both])
    scores = named(agreement_scores("t", every, ("m", one), ("ada", two), reference=True))
    assert {s.n for s in (scores["agreement_judged:m:ada"], scores["kappa_judged:m:ada"])} == {len(both)} == {80}
    assert scores["agreement_judged:m:ada"].value == pytest.approx(float((a == b).mean()))
    assert scores["kappa_judged:m:ada"].value == pytest.approx(cohen_kappa_score(a, b))
    assert scores["sensitivity_judged:m:ada"].value == pytest.approx(float(a[b].mean()))
    assert scores["specificity_judged:m:ada"].value == pytest.approx(float((~a[~b]).mean()))
    kappa = scores["kappa_judged:m:ada"]
    assert kappa.low < kappa.value < kappa.high


def test_two_judges_without_common_items_have_no_agreement():
    assert agreement_scores("t", items(4), ("m", {"r000": True}), ("n", {"r001": True})) == []
    assert set(named(agreement_scores("t", items(4), ("m", {"r000": True}), ("n", {"r000": True})))) == {
        "agreement_judged:m:n", "kappa_judged:m:n",
    }  # fmt: skip


def drawn(rng, readers):
    """Labels (items, readers) of readers who agree more or less, and the patient of each item."""
    n, labels = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    truth, agree = rng.integers(labels, size=(n, 1)), rng.random()
    found = np.where(rng.random((n, readers)) < agree, truth, rng.integers(labels, size=(n, readers)))
    return found.astype(str), [str(i // 2) for i in range(n)]


def same(score, expected):
    """Whether a score is a number of another program, which gives NaN where there is none."""
    return np.isnan(expected) if score.value is None else score.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tables", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_agreement_of_two_is_that_of_scikit_learn(tables):
    rng = np.random.default_rng(1)
    for _ in range(tables):
        found, groups = drawn(rng, 2)
        a, b = found.T
        scores = named(pair_scores("t", a, b, groups, positive="0"))
        assert same(scores["agreement"], np.mean(a == b))
        assert same(scores["kappa"], np.nan if len({*a, *b}) == 1 else cohen_kappa_score(a, b))
        assert same(scores["sensitivity"], recall_score(b == "0", a == "0", zero_division=np.nan))
        assert same(scores["specificity"], recall_score(b != "0", a != "0", zero_division=np.nan))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tables", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_kappa_of_several_is_that_of_statsmodels(tables):
    rng = np.random.default_rng(2)
    for _ in range(tables):
        found, groups = drawn(rng, int(rng.integers(2, 6)))
        counts = np.array([[np.sum(row == label) for label in "0123"] for row in found])
        assert same(named(fleiss_scores("t", found, groups))["kappa_fleiss"], fleiss_kappa(counts))


def test_items_of_one_patient_are_not_more_evidence_of_agreement():
    found, _ = drawn(np.random.default_rng(7), 3)
    groups = [str(i) for i in range(len(found))]

    def widths(ratings, patients):
        of_two = pair_scores("t", ratings[:, 0], ratings[:, 1], patients)
        return np.array([s.high - s.low for s in (*of_two, *fleiss_scores("t", ratings, patients))])

    four = np.concatenate([found] * 4)
    np.testing.assert_allclose(widths(four, groups * 4), widths(found, groups), rtol=0.1)
    assert (widths(four, [f"{i}" for i in range(len(four))]) < 0.6 * widths(found, groups)).all()


def test_two_patients_have_no_interval_and_one_label_no_kappa():
    few = named(pair_scores("t", list("abab"), list("abaa"), list("xxyy")))
    assert few["agreement"].value == 0.75 and few["agreement"].low is None and few["kappa"].low is None
    assert [s.value for s in pair_scores("t", ["a"] * 5, ["a"] * 5, list("vwxyz"))] == [1.0, None]
    assert [s.value for s in fleiss_scores("t", ["aaa"] * 5, list("vwxyz"))] == [1.0, None]


def test_what_a_reader_has_not_labelled_is_left_out_and_wrong_input_is_named():
    assert [s.n for s in fleiss_scores("t", [["a", "a"], ["a", None], ["b", "a"]], list("xyz"))] == [2, 2]
    assert fleiss_scores("t", [["a", None]], ["x"]) == fleiss_scores("t", [], []) == pair_scores("t", [], [], []) == []
    with pytest.raises(BadArgument, match="two or more readers"):
        fleiss_scores("t", [["a"]], ["x"])
    with pytest.raises(BadArgument, match="two or more readers"):
        fleiss_scores("t", [["a", "b"], ["a", "b", "c"]], ["x", "y"])
    with pytest.raises(BadArgument, match="pair the items by id"):
        pair_scores("t", ["a"], [], [])
