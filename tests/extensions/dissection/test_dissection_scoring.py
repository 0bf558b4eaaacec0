"""Steps between places against hand computations; the rule that names a loss in every branch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from lmod_train.extensions.dissection.scores import (
    ABSENT,
    ACTS_LIKE,
    BEST,
    CEILING,
    CEILINGS,
    CHAIN,
    CORRECTED,
    LAST,
    LIKELIHOOD,
    NEXT,
    NONE,
    PROJECTOR,
    READ,
    REPLY,
    STEPS,
    TOWER,
    UNUSED,
    Step,
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


def test_steps_are_differences_of_balanced_accuracy():
    truth = np.arange(120) % 2
    rights = (0.95, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.6, 0.55)
    places = {place: read_with(truth, right, i) for i, (place, right) in enumerate(zip(CHAIN, rights, strict=True))}
    groups = [f"p{i // 2}" for i in range(120)]
    found = steps(truth, places, groups, 2)
    assert [(s.first, s.second) for s in found] == list(STEPS)
    for step in found:
        before, after = (places[p] == truth for p in (step.first, step.second))
        expected = np.mean([after[truth == c].mean() - before[truth == c].mean() for c in (0, 1)])
        assert step.change == pytest.approx(expected) and step.n == 120
        assert step.low < step.change < step.high


def test_intervals_are_by_patient():
    """Records copied within each patient leave the change as it was, and the interval nearly."""
    truth = np.arange(60) % 2
    places = {TOWER: read_with(truth, 0.9, 0), PROJECTOR: read_with(truth, 0.6, 1)}
    first, one = steps(truth, places, [str(i) for i in range(60)], 2)
    assert (first.name, first.n, first.change, first.low) == ("representation", 0, None, None), "without a ceiling"
    copied = {place: read.repeat(4) for place, read in places.items()}
    _, four = steps(truth.repeat(4), copied, [str(i // 4) for i in range(240)], 2)
    assert four.change == pytest.approx(one.change)
    assert (four.low, four.high) == pytest.approx((one.low, one.high), abs=0.01)


def test_a_missing_place_joins_its_neighbours():
    truth = np.arange(40) % 2
    places = dict.fromkeys((TOWER, BEST, REPLY), truth)
    found = steps(truth, places, [str(i) for i in range(40)], 2)
    assert [(s.name, s.first, s.second) for s in found] == [
        ("representation", CEILING, TOWER),
        ("comprehension", TOWER, BEST),
        ("saying", BEST, REPLY),
    ]
    assert all((s.change, s.is_loss) == (0, False) for s in found[1:])


def test_a_record_that_was_not_asked_takes_part_in_no_pair_with_this_place():
    truth = np.arange(40) % 2
    ceiling = np.where(np.arange(40) < 30, truth, ABSENT)
    tower = np.where(np.arange(40) < 30, truth, 1 - truth)  # wrong alone where there is no ceiling
    first, second = steps(truth, {CEILING: ceiling, TOWER: tower, PROJECTOR: truth}, list(map(str, range(40))), 2)
    assert (first.n, first.change, second.n) == (30, 0, 40) and second.change == pytest.approx(0.25)
    none = steps(truth, {CEILING: np.full(40, ABSENT), TOWER: truth}, list(map(str, range(40))), 2)
    assert [(s.n, s.change) for s in none] == [(0, None)] and named(none).reason == "no step is judged"


@pytest.mark.parametrize("ceiling", CEILINGS)
def test_a_ceiling_below_the_tower_is_none(ceiling):
    truth = np.arange(80) % 2
    places = {ceiling: read_with(truth, 0.7, 0), TOWER: truth, PROJECTOR: read_with(truth, 0.5, 1)}
    first, second = steps(truth, places, list(map(str, range(80))), 2)
    assert (first.change, first.is_loss, first.excludes_loss) == (None, False, True)
    assert named([first, second]).loss == second and second.name == "connection"


def step(name, change, low, high):
    return Step(name, "a", "b", 100, change, low, high)


SURE, UNSURE = step("connection", 0.0, -0.02, 0.02), step("connection", -0.01, -0.09, 0.07)
LOSS, LARGER = step("prior", -0.2, -0.3, -0.1), step("saying", -0.4, -0.5, -0.3)
SMALL, WIDE = step("mapping", -0.03, -0.04, -0.01), step("comprehension", -0.15, -0.35, 0.05)
NEARLY = step("prior", -0.2, -0.36, -0.04)
UNJUDGED = step("reading", None, None, None)
"""A step that is not judged."""


def test_a_loss_of_likelihoods_that_the_replies_regain_is_no_loss():
    """Seen at a temperature of 100: flat likelihoods punish long choices, and the replies are all right."""
    lost = Step("prior", CORRECTED, LIKELIHOOD, 200, -0.25, -0.27, -0.21)
    regained = Step("saying", LIKELIHOOD, REPLY, 200, 0.25, 0.21, 0.27)
    finding = named([SURE, lost, regained])
    assert (finding.loss, finding.reason) == (None, NONE)
    said = sentence("four_way", {TOWER: 0.99, REPLY: 0.99}, finding)
    assert "no loss is found" in said and "the replies do not show" in said and "next:" not in said
    half = replace(regained, change=0.1, low=0.06, high=0.14)
    assert named([SURE, lost, half]).loss == lost
    unsure = replace(regained, low=-0.01)
    assert named([SURE, lost, unsure]).loss == lost


@pytest.mark.parametrize(
    ("found", "loss", "behind", "reason", "times"),
    [
        ([SURE, LOSS, LARGER], LOSS, None, "", None),
        ([SURE, LOSS, WIDE], LOSS, None, "", None),
        ([UNSURE, LOSS], LOSS, None, "", None),
        ([SMALL, LOSS], LOSS, SMALL, "", None),
        ([WIDE, LOSS], None, None, "comprehension may lose as much before prior", 5),
        ([WIDE, LOSS, step("saying", -0.6, -0.7, -0.5)], step("saying", -0.6, -0.7, -0.5), LOSS, "", None),
        ([NEARLY, LARGER], None, None, "prior may lose as much before saying", 2),
        ([SURE, SURE], None, None, NONE, None),
        ([SURE, UNSURE], None, None, "connection may lose 5 points or more", 5),
        ([NEARLY], None, None, "prior may lose 5 points or more", 2),
        ([step("prior", -0.05, -0.06, -0.04)], None, None, "prior may lose 5 points or more", 0),
        ([step("prior", -0.2, None, None)], None, None, "prior may lose 5 points or more", 2),
        ([step("prior", -0.2, -0.3, -0.05)], step("prior", -0.2, -0.3, -0.05), None, "", None),
        ([step("connection", 0.0, None, None), LOSS], None, None, "connection may lose as much before prior", 2),
        ([UNJUDGED, LOSS], LOSS, None, "", None),
        ([UNJUDGED], None, None, "no step is judged", None),
    ],
)
def test_the_first_loss_is_named_that_is_larger_than_any_before_it(found, loss, behind, reason, times):
    finding = named(found)
    assert (finding.loss, finding.behind, finding.reason, finding.times) == (loss, behind, reason, times)
    assert finding.largest == min((s for s in found if s.change and s.change < 0), key=lambda s: s.change, default=None)
    said = sentence("glaucoma", {TOWER: 0.9, REPLY: 0.5, CEILING: 0.9}, finding)
    assert said.startswith(
        "glaucoma: 0.90 by the supervised model, 0.90 can be read from the tower, 0.50 is answered: "
    )
    assert f"next: {NEXT[(behind if behind and behind != SMALL else loss).name]}" in said if loss else reason in said
    assert ("which may follow from the loss before it, in " in said) == bool(behind)
    assert (f"next: read about {times} times as many images" in said) == bool(times)
    assert ("read no more" in said) == (times == 0)
    assert ("cannot be told" in said) == (not loss and reason != NONE)


NUMBERS = st.tuples(*[st.floats(-1, 1)] * 3).map(sorted)


@st.composite
def random_steps(draw):
    """Steps of any intervals, gains and losses, near and far from the limits, some not judged or without interval."""
    kinds = st.sampled_from(["wide", "narrow", "narrow", "not judged", "no interval"])
    found = []
    for name in [*dict.fromkeys(STEPS.values())][: draw(st.integers(1, 6))]:
        kind, (low, change, high) = draw(kinds), draw(NUMBERS)
        if kind == "narrow":
            low, high = (change + draw(st.sampled_from([0.005, 0.02, 0.08])) * sign for sign in (-1, 1))
        low, high = (None, None) if kind in ("not judged", "no interval") else (low, high)
        found.append(step(name, None if kind == "not judged" else change, low, high))
    return found


@given(random_steps())
@settings(max_examples=400)
def test_the_rule_over_random_intervals(found):
    """Against a second writing of it, in losses: lower and upper end of each."""
    ends = [
        (s, -s.high if s.high is not None else -1, -s.low if s.low is not None else 1)
        for s in found
        if s.change is not None
    ]
    first = next(
        (i for i, (_, low, _) in enumerate(ends) if low >= 0.05 and low > max((e[2] for e in ends[:i]), default=-1)),
        None,
    )
    finding = named(found)
    assert finding.loss == (None if first is None else ends[first][0])
    sure = [s for s, low, _ in ends[:first] if low > 0] if first is not None else []
    assert finding.behind == (sure[0] if sure else None)
    assert not (finding.behind and finding.behind.high <= -0.05 and finding.behind == finding.loss)
    excluded = all(upper < 0.05 for *_, upper in ends)
    assert (finding.reason == NONE) == (bool(ends) and first is None and excluded)
    assert (finding.times is None) == (first is not None or excluded)
    if finding.times:
        half = finding.times**0.5
        narrow = [
            replace(s, low=s.change + ((s.change if s.low is None else s.low) - s.change) / half,
                    high=s.change + ((s.change if s.high is None else s.high) - s.change) / half)
            for s, *_ in ends
        ]  # fmt: skip
        again = named(narrow)
        assert again.loss or again.reason == NONE
    gains = [s if s.change is None else replace(s, change=abs(s.change), low=abs(s.change), high=1.0) for s in found]
    assert named(gains).loss is None, "no gain is a loss"


@given(st.lists(st.floats(-0.04, 1), max_size=7), st.floats(0.05, 1), st.data())
def test_a_loss_is_found_at_every_position(others, lost, data):
    """Steps whose intervals exclude losses of 5 points or more, and gains, hide none, and none follows from them."""
    at = data.draw(st.integers(0, len(others)))
    planted = step("planted", -lost - 0.001, -lost - 0.002, -lost)
    found = [step(f"s{i}", change, change - 0.001, max(change, 0.001)) for i, change in enumerate(others)]
    finding = named([*found[:at], planted, *found[at:]])
    assert finding.loss == planted and finding.behind is None
    hidden = named([step("wide", 0.0, -1.0, 1.0), *found[:at], planted, *found[at:]])
    assert hidden.loss is None and "wide may lose as much before planted" in hidden.reason


@pytest.mark.parametrize("pair", STEPS)
@pytest.mark.parametrize("behind", [None, SMALL])
def test_a_drop_between_probes_claims_no_cause(pair, behind):
    loss = Step(STEPS[pair], *pair, 100, -0.2, -0.3, -0.1)
    finding = named([behind, loss] if behind else [loss])
    said = sentence("t", {TOWER: 0.99, REPLY: 0.5}, finding)
    probed = pair[1] in (TOWER, PROJECTOR, BEST, LAST, READ)
    drop = f"{'a' if behind else 'first'} drop of linear readability: {loss.name} (-0.20, -0.30 to -0.10)"
    assert (drop in said) == probed and ("lost " in said) == (not probed)


def test_what_is_visible_is_said_before_any_probe():
    said = sentence("t", {TOWER: 0.9, REPLY: 0.5}, named([LOSS]), visible="9 of 10 replies were not read: see them")
    assert said.startswith("t: 9 of 10 replies were not read: see them; 0.90 can be read from the tower, ")


LOST_BY_PROJECTOR, UNUSED_TOKENS = (replace(LOSS, name=name) for name in ("connection", UNUSED))


@pytest.mark.parametrize("tower", [0.3, 0.6, 0.95, 0.96, 1.0])
@pytest.mark.parametrize("found", [[SURE], [LOSS], [UNSURE], [], [LOST_BY_PROJECTOR], [UNUSED_TOKENS]])
@pytest.mark.parametrize("ceiling", [None, 0.2, 0.97, 1.0])
@pytest.mark.parametrize("place", CEILINGS)
def test_a_tower_that_may_have_lost_is_not_passed_over(tower, found, ceiling, place):
    """Without a ceiling above it the first step is not tested: no projector is tuned for a tower that may be broken."""
    scores = {TOWER: tower, REPLY: tower} | ({} if ceiling is None else {place: ceiling})
    said = sentence("t", scores, named(found))
    untested = tower <= 0.95 and (ceiling is None or ceiling < tower)
    below = "" if ceiling is None else f" as the {place} is below it"
    assert (f"not tested{below}: add `--ceiling RUN` of a " in said) == untested
    assert ("of a better supervised model than this" in said) == bool(untested and ceiling)
    projector = found in ([LOST_BY_PROJECTOR], [UNUSED_TOKENS])
    assert ("projector" in said) == (projector and not untested)
    assert (f"next: {NEXT['prior']}" in said) == (found == [LOSS])


@pytest.mark.parametrize("steps", range(1, 7))
def test_small_losses_that_sum_up_are_a_loss(steps):
    scores = {TOWER: 0.99, REPLY: 0.99 - 0.04 * steps}
    said = sentence("t", scores, named([step("mapping", -0.04, -0.045, -0.035)] * steps))
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
    assert set(NEXT) == {*STEPS.values(), UNUSED, ACTS_LIKE}


def test_tokens_that_keep_what_the_decision_lacks_are_told_apart():
    truth = np.arange(200) % 2
    lost = read_with(truth, 0.5, 0)
    places = {PROJECTOR: truth, BEST: truth, LAST: lost}
    assert not _tokens_keep(truth, places)
    kept, fading = {**places, "image.9": lost, "image.12": truth}, {**places, "image.9": truth, "image.12": lost}
    assert _tokens_keep(truth, kept) and not _tokens_keep(truth, fading), "the last layer counts, in numbers"
    groups = list(map(str, range(200)))
    for own, name in ((places, "comprehension"), (kept, UNUSED), (fading, "comprehension")):
        assert [s.name for s in steps(truth, own, groups, 2)][1:] == ["comprehension", name], "no loss, and a loss"
