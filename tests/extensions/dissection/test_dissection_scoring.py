"""Steps between places against hand computations and exact tests; the rule that names a loss in every branch."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from statsmodels.stats.multitest import multipletests

from lmod_train.extensions.dissection.scores import (
    ABSENT,
    BEST,
    CEILING,
    CHAIN,
    LAST,
    NEXT,
    PROJECTOR,
    REPLY,
    STEPS,
    TOWER,
    UNUSED,
    Step,
    _sign_flips,
    _tokens_keep,
    balanced,
    named,
    sentence,
    steps,
)


def read_with(truth, right, seed, classes=2):
    """Classes read for each record, right with a given chance, the others any other class."""
    noise = np.random.default_rng(seed)
    wrong = (truth + noise.integers(1, classes, len(truth))) % classes
    return np.where(noise.random(len(truth)) < right, truth, wrong)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:A single label")
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2)), min_size=1, max_size=30))
def test_balanced_accuracy_is_scikit_learns_and_an_unread_record_is_wrong(pairs):
    truth, read = (np.array(column) for column in zip(*pairs, strict=True))
    score = balanced("t", TOWER, truth, read, [str(i) for i in range(len(pairs))], 3)
    assert score.value == pytest.approx(balanced_accuracy_score(truth, read)) and score.n == len(pairs)


def exact(truth, before, after, groups, classes):
    """The p value over all signs of the patients' differences."""
    patients = sorted(set(groups))
    weight = 1 / np.bincount(truth, minlength=classes)[truth]
    sums = [sum(weight[i] * (int(after[i]) - int(before[i])) for i, g in enumerate(groups) if g == p) for p in patients]
    moved = [s for s in sums if abs(s) > 1e-12]
    signed = [abs(np.dot(signs, moved)) for signs in product((-1, 1), repeat=len(moved))]
    return np.mean([value >= abs(sum(moved)) - 1e-12 for value in signed])


@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_is_that_of_all_signs_of_few_patients(seed):
    noise = np.random.default_rng(seed)
    truth = noise.permutation(np.repeat([0, 1, 2], [10, 5, 3]))
    groups = [f"p{i // 2}" for i in range(18)]
    before, after = noise.random(18) < 0.4, noise.random(18) < 0.8
    found = _sign_flips(truth, before, after, groups, 3)
    assert found == pytest.approx(exact(truth, before, after, groups, 3), abs=0.02)
    assert _sign_flips(truth, before, before, groups, 3) == 1.0


def test_steps_are_differences_of_balanced_accuracy_with_p_values_of_holm():
    truth = np.arange(120) % 2
    rights = (0.95, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.6, 0.55)
    places = {place: read_with(truth, right, i) for i, (place, right) in enumerate(zip(CHAIN, rights, strict=True))}
    groups = [f"p{i // 2}" for i in range(120)]
    found = steps(truth, places, groups, 2)
    assert [(s.first, s.second) for s in found] == list(STEPS)
    raw = []
    for step in found:
        before, after = (places[p] == truth for p in (step.first, step.second))
        expected = np.mean([after[truth == c].mean() - before[truth == c].mean() for c in (0, 1)])
        assert step.change == pytest.approx(expected) and step.n == 120
        assert step.low < step.change < step.high
        raw.append(_sign_flips(truth, before, after, groups, 2))
    assert [s.p for s in found] == pytest.approx(multipletests(raw, method="holm")[1])


def test_intervals_are_by_patient():
    """Records copied within each patient leave change and p as they were, and the interval nearly."""
    truth = np.arange(60) % 2
    places = {TOWER: read_with(truth, 0.9, 0), PROJECTOR: read_with(truth, 0.6, 1)}
    (one,) = steps(truth, places, [str(i) for i in range(60)], 2)
    copied = {place: read.repeat(4) for place, read in places.items()}
    (four,) = steps(truth.repeat(4), copied, [str(i // 4) for i in range(240)], 2)
    assert (four.change, four.p) == pytest.approx((one.change, one.p))
    assert (four.low, four.high) == pytest.approx((one.low, one.high), abs=0.01)


def test_a_missing_place_joins_its_neighbours():
    truth = np.arange(40) % 2
    places = dict.fromkeys((TOWER, BEST, REPLY), truth)
    found = steps(truth, places, [str(i) for i in range(40)], 2)
    assert [(s.name, s.first, s.second) for s in found] == [
        ("comprehension", TOWER, BEST),
        ("saying", BEST, REPLY),
    ]
    assert all((s.change, s.p, s.is_loss) == (0, 1, False) for s in found)


def test_a_record_that_was_not_asked_takes_part_in_no_pair_with_this_place():
    truth = np.arange(40) % 2
    ceiling = np.where(np.arange(40) < 30, truth, ABSENT)
    tower = np.where(np.arange(40) < 30, truth, 1 - truth)  # wrong alone where there is no ceiling
    first, second = steps(truth, {CEILING: ceiling, TOWER: tower, PROJECTOR: truth}, list(map(str, range(40))), 2)
    assert (first.n, first.change, second.n) == (30, 0, 40) and second.change == pytest.approx(0.25)
    none = steps(truth, {CEILING: np.full(40, ABSENT), TOWER: truth}, list(map(str, range(40))), 2)
    assert [(s.n, s.change, s.p) for s in none] == [(0, None, None)] and named(none).reason == "no step is judged"


def test_a_ceiling_below_the_tower_is_none():
    truth = np.arange(80) % 2
    places = {CEILING: read_with(truth, 0.7, 0), TOWER: truth, PROJECTOR: read_with(truth, 0.5, 1)}
    first, second = steps(truth, places, list(map(str, range(80))), 2)
    assert (first.change, first.p, first.is_loss, first.excludes_loss) == (None, None, False, True)
    assert named([first, second]).loss == second and second.name == "connection"


def step(name="prior", change=-0.2, low=None, high=None, p=0.001):
    return Step(name, "a", "b", 100, change, change - 0.1 if low is None else low, high, p)


SURE, UNSURE, LOSS = step("connection", 0.0, -0.02, p=1), step("connection", -0.01, -0.09, p=1), step()
LARGER = step("saying", -0.4)


@pytest.mark.parametrize(
    ("found", "loss", "largest", "reason"),
    [
        ([SURE, LOSS, LARGER], LOSS, LARGER, ""),
        ([SURE, LOSS, UNSURE], LOSS, LOSS, ""),
        ([SURE, UNSURE, LOSS], None, LOSS, "connection may lose 5 points or more before it"),
        ([SURE, SURE], None, None, "no step loses 5 points or more"),
        ([SURE, UNSURE], None, UNSURE, "connection may lose 5 points or more"),
        ([replace(LOSS, p=0.06)], None, replace(LOSS, p=0.06), "prior may lose 5 points or more"),
        (
            [replace(LOSS, change=-0.04, low=-0.045)],
            None,
            replace(LOSS, change=-0.04, low=-0.045),
            "no step loses 5 points",
        ),
        ([replace(SURE, change=None, low=None), LOSS], LOSS, LOSS, ""),
        ([replace(SURE, low=None), LOSS], None, LOSS, "connection may lose 5 points or more before it"),
        ([replace(SURE, change=None)], None, None, "no step is judged"),
    ],
)
def test_the_first_loss_is_named_if_none_may_hide_before_it(found, loss, largest, reason):
    finding = named(found)
    assert finding.loss == loss and finding.largest == largest
    assert finding.reason.startswith(reason) if reason else not finding.reason
    said = sentence("glaucoma", {TOWER: 0.9, REPLY: 0.5}, finding)
    assert said.startswith("glaucoma: 0.90 can be read from the tower, 0.50 is answered: ")
    if loss:
        assert f"next: {NEXT[loss.name]}" in said
        assert ("which may follow from it" in said) == (largest != loss)
    else:
        assert ("largest fall" in said) == bool(largest and largest.is_loss)
        assert ("where it is lost" in said) == bool(largest and largest.is_loss)
        assert ("cannot be told" in said) == (not reason.startswith("no step loses")) and finding.reason in said


@pytest.mark.parametrize("tower", [0.3, 0.6, 0.95, 0.96, 1.0])
@pytest.mark.parametrize("found", [[SURE], [LOSS], [UNSURE], []])
def test_a_tower_that_may_have_lost_is_not_passed_over(tower, found):
    """Without a ceiling the first step is not judged: a model that is as bad as its tower has not lost nothing."""
    told = [sentence("t", {**given, TOWER: tower, REPLY: tower}, named(found)) for given in ({}, {CEILING: 0.9})]
    assert ["--ceiling RUN" in said for said in told] == [tower <= 0.95, False]


@pytest.mark.parametrize("steps", range(1, 7))
def test_small_losses_that_sum_up_are_a_loss(steps):
    scores = {TOWER: 0.99, REPLY: 0.99 - 0.04 * steps}
    said = sentence("t", scores, named([step(change=-0.04, low=-0.045)] * steps))
    assert ("lost in several steps together" in said) == (steps > 1) and ("no loss is found" in said) == (steps == 1)


@pytest.mark.parametrize("classes", [2, 4, 12])
@pytest.mark.parametrize("share", [0.04, 0.06, 0.5, 1.0])
def test_a_class_that_the_mean_hides_is_named(classes, share):
    """The mean of twelve recalls loses under 5 points where half of a class is missed."""
    recalls = {f"c{i}": (0.95, 0.95 - share * 0.95 if i == 1 else 0.94) for i in range(classes)}
    mean = [float(np.mean(some)) for some in zip(*recalls.values(), strict=True)]
    said = sentence("t", {TOWER: mean[0], REPLY: mean[1]}, named([SURE]), recalls=recalls)
    assert ("recall of c1 falls most, from 0.95 in the tower" in said) == (share > 0.05)


def test_every_step_has_a_next_thing_to_try():
    assert set(NEXT) == {*STEPS.values(), UNUSED}


def test_tokens_that_keep_what_the_decision_lacks_are_told_apart():
    truth = np.arange(200) % 2
    lost = read_with(truth, 0.5, 0)
    places = {PROJECTOR: truth, BEST: truth, LAST: lost}
    assert not _tokens_keep(truth, places)
    kept, fading = {**places, "image.9": lost, "image.12": truth}, {**places, "image.9": truth, "image.12": lost}
    assert _tokens_keep(truth, kept) and not _tokens_keep(truth, fading), "the last layer counts, in numbers"
    groups = list(map(str, range(200)))
    for own, name in ((places, "comprehension"), (kept, UNUSED), (fading, "comprehension")):
        assert [s.name for s in steps(truth, own, groups, 2)] == ["comprehension", name], "no loss, and a loss"
