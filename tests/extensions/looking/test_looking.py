"""Verdicts on models whose looking is known: told, or nothing is."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lmod_train.core.types import Unparsed
from lmod_train.extensions.looking import scores as looking
from lmod_train.extensions.looking.scores import (
    AGAIN,
    AS_IS,
    BLANK,
    ELSEWHERE,
    EVIDENCE,
    OTHER,
    REDRAWN,
    SAME,
    enough,
    findings,
    judged,
    said,
)
from tests.extensions.looking.test_grounding_scoring import (
    GONE,
    LIKE,
    NO,
    SHOWN,
    YES,
    asked,
    border,
    disc,
    random_words,
    replied,
    words,
)
from tests.scoring.make import item


def verdicts(items):
    return {one.finding.truth: one.verdict for one in judged(findings("t", items))}


def test_planted_models_are_told_or_nothing_is():
    assert verdicts(replied(words)) == dict.fromkeys((YES, NO), "does not look")
    assert verdicts(replied(border)) == dict.fromkeys((YES, NO), "looks, not at the evidence")
    assert verdicts(replied(disc)) == {YES: "looks at the evidence", NO: "cannot be told"}
    for seed in range(5):
        assert set(verdicts(replied(random_words(seed))).values()) <= {"cannot be told", "does not look"}


def test_staying_at_the_default_is_no_verdict():
    """A model that reads the disc and answers NON-GLAUCOMA without one: removal cannot show it for NON-GLAUCOMA."""
    one = next(o for o in judged(findings("t", replied(disc))) if o.finding.truth == NO)
    assert one.finding.given == {NO: 1.0} and NO in one.why and one.finding.specific["mean"].value == 0


@pytest.mark.parametrize("constant", (YES, NO))
@pytest.mark.parametrize("share", (0.06, 0.1, 0.25, 0.5, 0.75, 0.9))
@pytest.mark.parametrize("n", (60, 200, 600))
def test_reading_the_evidence_in_some_eyes_is_never_told_as_looking_elsewhere(constant, share, n):
    """The disc of a share of the eyes, or always the same answer: neither truth is told to be read from elsewhere."""

    def model(at, truth, shown):
        return disc(at, truth, shown) if (at // 2 * 37) % 100 < 100 * share else constant

    told = verdicts(replied(model, n))
    assert "looks, not at the evidence" not in told.values(), told
    if n * share >= 50:
        assert told[YES] == "looks at the evidence" and told[NO] == "cannot be told"


@pytest.mark.parametrize("default", ("1", "2", "3"))
def test_reading_the_evidence_alone_is_never_told_as_looking_elsewhere(default):
    """Whatever is answered to each truth, wrongly too: the answer follows the evidence, or is the same without it."""
    truths = ("1", "2", "3")
    for answers in itertools.product(truths, repeat=3):
        answer = dict(zip(truths, answers, strict=True))
        items = []
        for at in range(150):
            own, other = truths[at % 3], truths[(at + 1 + at // 3 % 2) % 3]
            shown = {AS_IS: own, AGAIN: own, LIKE: own, SAME: own, OTHER: other, GONE: ""}
            items += [
                item(
                    f"t/s/{at:04d}/{name}", answer.get(seen, default), seen or own, truths, group=f"p{at}", variant=name
                )
                for name, seen in shown.items()
            ]
        told = verdicts(items)
        assert "looks, not at the evidence" not in told.values(), (answers, default, told)
        at_it = {truth for truth, verdict in told.items() if verdict == "looks at the evidence"}
        right = {truth for truth in truths if answer[truth] == truth != default}
        assert at_it == (right if len(set(answers)) > 1 else set()), (answers, default, told)


@pytest.mark.parametrize("images", (1, 2, 5, 100))
def test_one_image_shown_to_many_is_one_look(images):
    """A model that reads the disc of all eyes but of a few, which are shown as the other answer of a hundred eyes."""

    def model(at, truth, shown):
        return YES if shown == OTHER and at % images == 0 else disc(at, truth, shown)

    shown = [i for i in replied(model, 200) if i.truth == YES or i.variant == OTHER]
    items = [replace(i, image=f"n{int(i.id.split('/')[2]) % images}") if i.variant == OTHER else i for i in shown]
    found = next(f for f in findings("t", items) if f.truth == YES)
    alone = [replace(i, image="") for i in items]
    by_patient = next(f for f in findings("t", alone) if f.truth == YES)
    assert found.changes[OTHER].value == by_patient.changes[OTHER].value
    if images < 3:
        assert found.changes[OTHER].low is None and found.follow.low is None
        assert judged([found])[0].verdict != "does not look"
    else:
        assert found.changes[OTHER].low <= by_patient.changes[OTHER].low
        assert found.changes[OTHER].high >= by_patient.changes[OTHER].high


def test_the_mirrored_default_is_the_other_answer():
    def model(at, truth, shown):
        return YES if shown in (GONE, BLANK) else disc(at, truth, shown)

    assert verdicts(replied(model)) == {NO: "looks at the evidence", YES: "cannot be told"}


def test_few_images_are_no_verdict_and_the_effect_that_they_would_show_is_told():
    found = judged(findings("t", replied(border, n=40)))
    assert {one.verdict for one in found} == {"cannot be told"}
    assert all(0.05 < one.detectable < 0.5 for one in found)
    assert enough(found[0].finding.changes[OTHER], 0.1) == 4 * found[0].finding.n


def test_a_verdict_holds_for_every_fill():
    """The second fill leaves the answer: what is seen with the first alone is not told."""
    blur = (f"{EVIDENCE}.blur", f"{ELSEWHERE}.blur")

    def model(at, truth, shown):
        return truth if shown in blur else disc(at, truth, shown)

    told = next(o for o in judged(findings("t", replied(model, shown=(*SHOWN, *blur)))) if o.finding.truth == YES)
    assert (told.verdict, told.why) == ("cannot be told", "the intervals are too wide")
    assert verdicts(replied(lambda a, t, s: disc(a, t, s.replace("blur", "mean")), shown=(*SHOWN, *blur)))[YES] == (
        "looks at the evidence"
    )


def test_without_removals_looking_is_not_told_further():
    swaps = (AS_IS, AGAIN, SAME, OTHER, BLANK)
    found = judged(findings("t", replied(border, shown=swaps)))
    assert (
        {one.verdict for one in found} == {"cannot be told"}
        and "masks or boxes" in found[0].why
        and found[0].detectable is None
    )
    assert verdicts(replied(words, shown=swaps)) == dict.fromkeys((YES, NO), "does not look")
    lacking = judged(findings("t", replied(border, shown=(*swaps, GONE))))
    assert {one.verdict for one in lacking} == {"cannot be told"} and "like place" in lacking[0].why
    once = judged(findings("t", replied(border, shown=[name for name in SHOWN if name != AGAIN])))
    assert {one.verdict for one in once} == {"cannot be told"} and "two answers about the same" in once[0].why
    alone = judged(findings("t", replied(words, shown=(AS_IS, AGAIN))))
    assert {one.verdict for one in alone} == {"cannot be told"} and "other patient" in alone[0].why


def test_a_change_between_two_unread_replies_is_hidden_and_counts_against_a_verdict():
    refused = replied(lambda at, truth, shown: Unparsed("refused", f"reply {at} {shown}"))
    found = judged(findings("t", refused))
    assert {one.verdict for one in found} == {"cannot be told"} and "both are refused" in found[0].why
    mixed = replied(lambda at, truth, shown: Unparsed("refused") if shown == OTHER else truth)
    assert findings("t", mixed)[0].changes[OTHER].value == 1
    assert said(refused[0]) == "(refused)"
    for share, verdict in ((0.01, "does not look"), (0.1, "cannot be told")):
        few = replied(lambda at, t, s, k=share: Unparsed("no_match") if at % 200 < 200 * k else YES, 800)
        assert verdicts(few) == dict.fromkeys((YES, NO), verdict), share


def test_holm_over_tasks_needs_more_of_each():
    """A change whose interval ends just below 5 points is told of one task, and not of one among ten."""
    n = next(n for n in range(60, 120, 2) if verdicts(replied(words, 2 * n))[YES] == "does not look")
    alone = findings("t", replied(words, 2 * n))
    assert judged(alone)[0].verdict == "does not look"
    many = [replace(one, task=f"t{number}") for number in range(10) for one in alone]
    assert {one.verdict for one in judged(many)} == {"cannot be told"}
    enough_of_each = findings("t", replied(words, 6 * n))
    assert judged([replace(f, task=f"t{k}") for k in range(10) for f in enough_of_each])[0].verdict == "does not look"


def test_a_change_of_five_points_is_rarely_told_as_none():
    """At the edge, where a wrong verdict is likeliest, at most one in twenty."""
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(60):
        changed = rng.random(100) < 0.05
        items = [
            asked(at, YES, n, a)
            for at in range(100)
            for n, a in ((AS_IS, YES), (AGAIN, YES), (OTHER, NO if changed[at] else YES))
        ]
        wrong += judged(findings("t", items))[0].verdict == "does not look"
    assert wrong <= 3
    assert looking.SMALL == 0.05


def sharpness(at, truth, shown):
    """Reads how sharp an image is, which goes along with the truth here: another image has its own sharpness."""
    return NO if shown in (GONE, BLANK) else border(at, truth, shown)


def fallback(at, truth, shown):
    """Reads the border's colour, and answers NON-GLAUCOMA where no disc is seen."""
    return NO if shown in (GONE, BLANK) else (YES, NO)[(at // 2 + (shown in (OTHER, SAME))) % 2]


def fills(at, truth, shown):
    """Answers YES but where something was filled at the disc."""
    return NO if shown == GONE else YES


@pytest.mark.parametrize("n", [200, 480, 1000])
@pytest.mark.parametrize("model", [sharpness, fallback, fills])
def test_what_changes_with_the_removal_and_does_not_follow_is_never_told_as_looking_at_the_evidence(model, n):
    told = verdicts(replied(model, n))
    assert told[YES] == "reacts to the removal, does not follow it", told
    assert told[NO] != "looks at the evidence", told


@pytest.mark.parametrize("share", [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_reader_that_gives_an_answer_seldom_is_not_told_not_to_follow(share, mirrored):
    """It answers by the disc in a share of the eyes only, so that another image of the answer changes it as often."""
    mine, default = (NO, YES) if mirrored else (YES, NO)
    rng = np.random.default_rng(0)
    reads = {(at, other): rng.random() < share for at in range(300) for other in (False, True, 2)}

    def model(at, truth, shown):
        if shown in (GONE, BLANK):
            return default
        own = {YES: NO, NO: YES}[truth] if shown in (OTHER, REDRAWN) else truth
        place = True if shown == OTHER else 2 if shown == SAME else False
        return mine if own == mine and reads[at, place] else default

    told = verdicts(replied(model, 300))
    assert told[mine] in ("cannot be told", "looks at the evidence")
    assert told[default] == "cannot be told"


def test_who_needs_a_disc_and_reads_the_answer_elsewhere_is_not_told_where_phantoms_are_redrawn():
    def gate(at, truth, shown):  # the patient is recognised, and the disc only needs to be there
        if shown in (GONE, BLANK):
            return NO
        return {YES: NO, NO: YES}[truth] if shown == OTHER else truth

    (yes, no) = judged(findings("t", replied(gate, 300)))
    assert (yes.verdict, no.verdict) == ("cannot be told", "cannot be told")
    assert "redrawn" in yes.why
    without = tuple(name for name in SHOWN if name != REDRAWN)
    assert verdicts(replied(gate, 300, without))[YES] == "looks at the evidence"  # what the page says it cannot tell


def test_the_answer_read_twice_is_not_told_as_read_elsewhere_where_phantoms_are_redrawn():
    def twice(at, truth, shown):  # by the disc, and without it by who the patient is
        return {YES: NO, NO: YES}[truth] if shown in (OTHER, REDRAWN) else truth

    assert set(verdicts(replied(twice, 300)).values()) == {"cannot be told"}
    assert "followed" in judged(findings("t", replied(twice, 300)))[0].why


def test_looks_with_a_grounded_share_of_zero_is_no_verdict():
    """Removal turns wrong answers alone: those that are right need no evidence."""

    def model(at, truth, shown):
        own = {YES: NO, NO: YES}[truth] if shown in (OTHER, REDRAWN) else truth
        wrong = own == NO and at // 2 % 3 == 0
        if shown in (GONE, BLANK):
            return NO
        return YES if own == YES or wrong else NO

    assert verdicts(replied(model, 600))[NO] == "cannot be told"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_reader_of_the_disc_is_told_also_with_noise(noise, seed):
    rng = np.random.default_rng(seed)

    def model(at, truth, shown):
        return (YES, NO)[int(rng.integers(2))] if rng.random() < noise else disc(at, truth, shown)

    assert verdicts(replied(model, 200 if not noise else 480))[YES] == "looks at the evidence"


def test_an_effect_of_less_than_five_points_is_not_use_of_the_evidence():
    """The specific effect is shown to be above 0, and is below the margin."""

    def model(at, truth, shown):
        return (
            disc(at, truth, shown) if at // 2 % 25 == 0 else truth if shown not in (OTHER,) else disc(at, truth, shown)
        )

    (found, _) = [one.finding for one in judged(findings("t", replied(model, 4000)))]
    assert 0 < found.specific["mean"].low < found.specific["mean"].high < 0.06
    assert verdicts(replied(model, 4000))[YES] != "looks at the evidence"


def test_a_constant_answer_is_no_recall():
    for constant in (YES, NO):
        found = findings("t", replied(lambda at, t, s, c=constant: c))
        assert all(f.recall.value == 0 and f.recall.low < 0 < f.recall.high for f in found)
    (yes, no) = findings("t", replied(disc))
    assert yes.recall.value == no.recall.value == 1 and yes.recall.n == 100


def test_holm_counts_the_true_answers():
    """What is told of one truth alone is not told of it among ten truths of one task."""
    n = next(n for n in range(60, 140, 2) if verdicts(replied(words, 2 * n))[YES] == "does not look")
    (alone,) = [f for f in findings("t", replied(words, 2 * n)) if f.truth == YES]
    assert judged([alone])[0].verdict == "does not look"
    many = [replace(alone, truth=str(k)) for k in range(10)]
    assert {one.verdict for one in judged(many)} == {"cannot be told"}
