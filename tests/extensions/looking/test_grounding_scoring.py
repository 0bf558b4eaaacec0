"""Changes of answers by what is shown, from replies of models whose looking is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lmod_train.extensions.looking.scores import (
    AGAIN,
    AS_IS,
    BLANK,
    ELSEWHERE,
    EVIDENCE,
    OTHER,
    REDRAWN,
    SAME,
    asked_of,
    findings,
    grounding_scores,
    margin_of,
)
from lmod_train.scoring.comparison import paired_difference
from tests.scoring.make import item

YES, NO = "GLAUCOMA", "NON-GLAUCOMA"
GONE, LIKE = f"{EVIDENCE}.mean", f"{ELSEWHERE}.mean"
SHOWN = (AS_IS, AGAIN, GONE, LIKE, SAME, OTHER, BLANK, REDRAWN)


def asked(at, truth, shown, answer, **facts):
    """The item of a question; the truth of another image shown is the other answer."""
    own = {YES: NO, NO: YES}[truth] if shown in (OTHER, REDRAWN) else truth
    return item(f"t/s/{at:04d}/{shown}", answer, own, (YES, NO), **{"group": f"p{at}", "variant": shown, **facts})


def replied(model, n=200, shown=SHOWN, **facts):
    """Items of n images, half with glaucoma, as a model answers them."""
    truths = [(at, YES if at % 2 else NO) for at in range(n)]
    return [asked(at, truth, name, model(at, truth, name), **facts) for at, truth in truths for name in shown]


def words(at, truth, shown):
    return YES


def border(at, truth, shown):
    """A border of its own for each eye; another patient's is another one."""
    return (YES, NO)[(at // 2 + (shown in (OTHER, SAME, BLANK))) % 2]


def disc(at, truth, shown):
    if shown in (GONE, BLANK):
        return NO
    return {YES: NO, NO: YES}[truth] if shown in (OTHER, REDRAWN) else truth


def random_words(seed):
    rng = np.random.default_rng(seed)
    return lambda at, truth, shown: (YES, NO)[int(rng.integers(2))]


def test_what_changes_when_shown_twice_is_no_change():
    """A model of which a fifth of the answers is noise: the floor is taken off every change."""

    def model(at, truth, shown):
        noisy = shown in (AGAIN, GONE, LIKE, OTHER) and at // 2 % 5 == 0
        return {YES: NO, NO: YES}[truth] if noisy else truth

    (found, _) = findings("t", replied(model, 400))
    assert found.floor.value == pytest.approx(0.2)
    assert [found.changes[name].value for name in (GONE, LIKE, OTHER)] == pytest.approx([0, 0, 0])
    assert found.changes[BLANK].value == pytest.approx(-0.2)


def test_changes_are_the_paired_differences_by_patient():
    rng = np.random.default_rng(0)
    again, other = rng.random(60) < 0.1, rng.random(60) < 0.4
    items = []
    for at in range(60):
        answers = {AS_IS: YES, AGAIN: NO if again[at] else YES, OTHER: NO if other[at] else YES}
        items += [asked(at, YES, name, answer, group=f"p{at // 2}") for name, answer in answers.items()]
    (found,) = findings("t", items)
    expected = paired_difference("", other.astype(float), again.astype(float), [f"p{at // 2}" for at in range(60)])
    effect = found.changes[OTHER]
    assert (effect.value, effect.low, effect.high) == (expected.value, expected.low, expected.high)
    assert found.follow.value == pytest.approx(other.mean())


def test_the_grounded_share_is_of_right_answers():
    """Ten right, of which four need the evidence, three change elsewhere too; the wrong ones do not count."""
    items = []
    for at in range(14):
        right = at < 10
        first = YES if right else NO
        other = {YES: NO, NO: YES}[first]
        gone, like = (other if at < 7 else first), (other if at < 3 else first)
        items += [asked(at, YES, name, a) for name, a in {AS_IS: first, AGAIN: first, GONE: gone, LIKE: like}.items()]
    (found,) = findings("t", items)
    assert (found.grounded["mean"].n, found.grounded["mean"].value) == (10, pytest.approx(0.4))
    assert found.specific["mean"].value == pytest.approx(4 / 14)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_ways_of_asking_are_paired_within_themselves_and_how_answers_depend_on_them_is_seen(share):
    tags = {"wording": "1"}
    flip = {YES: NO, NO: YES}

    def reworded(one):
        at = int(one.id.split("/")[2])
        answer = flip[one.answer] if at // 2 < 20 * share else one.answer
        return replace(one, id=f"{one.id}/wording-1", tags=tags, answer=answer)

    plain = replied(disc, 40)
    both = asked_of([*map(reworded, plain), *plain])
    assert len(both) == 80 and [set(a.shown) - set(SHOWN) for a in both[:2]] == [{"wording-1"}, set()]
    assert all(set(SHOWN) <= set(a.shown) for a in both)
    for found in findings("t", [*plain, *map(reworded, plain)]):
        assert (found.changes["wording-1"].n, found.changes["wording-1"].value) == (20, pytest.approx(share))


def test_questions_of_one_image_stay_apart():
    items = [
        replace(i, id=i.id.replace(i.variant, f"scar-{i.variant}"), variant=f"scar-{i.variant}")
        for i in replied(disc, 6)
    ]
    both = asked_of([*items, *replied(disc, 6)])
    assert len(both) == 12 and all(len({i.variant.count("scar") for i in a.shown.values()}) == 1 for a in both)


def test_the_margin_is_of_probabilities():
    logs = {YES: math.log(0.7) - 9, NO: math.log(0.1) - 9}
    assert margin_of(item("a", YES, YES, likelihoods=logs), YES) == pytest.approx(0.75)
    assert margin_of(item("a", YES, YES, likelihoods={YES: 0.0}), YES) is None
    assert margin_of(item("a", YES, YES), YES) is None


def test_margins_change_before_answers_do():
    """A model that becomes less sure without the evidence, and answers the same."""

    def sure(shown):
        p = 0.6 if shown == GONE else 0.9
        return {YES: math.log(p), NO: math.log(1 - p)}

    items = [replace(i, likelihoods=sure(i.variant)) for i in replied(lambda *_: YES, 60)]
    found = next(f for f in findings("t", items) if f.truth == YES)
    assert found.changes[GONE].value == 0 and found.margins[GONE].value == pytest.approx(0.6)
    assert found.margins[LIKE].value == 0
    assert not findings("t", replied(words, 10))[0].margins


def test_scores_are_those_of_the_findings():
    items = replied(disc)
    scores = {(s.subset, s.metric): s for s in grounding_scores("t", items)}
    found = {f.truth: f for f in findings("t", items)}
    assert scores[f"shown={GONE};truth={YES}", "specific_effect"].value == found[YES].specific["mean"].value == 1
    assert (
        scores[f"shown={OTHER};truth={NO}", "follow"].value == 1 and scores[f"shown={SAME};truth={NO}", "stay"].n == 100
    )
    assert grounding_scores("t", []) == [] and findings("t", []) == []
