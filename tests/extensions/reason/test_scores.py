"""Planted explainers: what is specific is found, what is not is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lmod_train.extensions.reason.claims import Claim, is_true
from lmod_train.extensions.reason.scores import Explained, Explanations, explanations, held_against_facts
from tests.extensions.reason.explainers import (
    TRUTHS,
    Explainer,
    eye,
    one_in_five,
    other_eye,
    random,
    replies,
    textbook,
    truthful,
)


def found(several: list[Explained]) -> list[Explanations]:
    return list(explanations(several, held_against_facts(several)))


@pytest.mark.parametrize("explainer", [truthful, textbook, random, other_eye, one_in_five])
def test_intervals_hold_the_planted_share(explainer: Explainer) -> None:
    """The value of 600 patients, in 40 draws of 60 (`scripts/benchmarks/explanations.py` has more)."""
    planted = [one.specific.value or 0.0 for one in found(replies(explainer, 600, 99))]
    held = [
        one.specific.low is not None and one.specific.low - 1e-9 <= value <= (one.specific.high or 0.0) + 1e-9
        for seed in range(20)
        for one, value in zip(found(replies(explainer, 60, seed)), planted, strict=True)
    ]
    assert np.mean(held) >= 0.85


def test_a_truthful_explainer_reaches_the_most_and_is_of_this_eye() -> None:
    for one in found(replies(truthful, 60, 0)):
        assert one.true.value == 1
        assert one.specific.value == pytest.approx(one.most.value, abs=0.05)
        assert one.of_possible == pytest.approx(1)
        assert one.verdict == "of this eye"


def test_what_is_not_of_this_eye_is_never_called_so() -> None:
    verdicts = [
        one.verdict for e in (textbook, random, other_eye) for s in range(8) for one in found(replies(e, 60, s))
    ]
    assert np.mean([verdict == "of this eye" for verdict in verdicts]) <= 0.04
    assert all(one.verdict == "of any such eye" for one in found(replies(textbook, 60, 0)))
    assert all((one.true.value or 0) > 0.5 for one in found(replies(textbook, 60, 0)))  # it is true all the same


def test_a_fact_that_decides_the_answer_is_exchanged_within_the_answer() -> None:
    """A large cup is true of every glaucoma and of no other eye: right, and nothing of this eye."""
    several = [
        replace(one, claims=(Claim("cup", "large", denied=one.truth != TRUTHS[0]),)) for one in replies(truthful, 30, 1)
    ]
    for one in found(several):
        assert one.true.value == 1
        assert one.claims == 0
        assert one.unspecific == 30
        assert one.verdict == "cannot be told"


def test_reversed_negation_is_seen() -> None:
    several = replies(truthful, 40, 2)
    reversed_ = [replace(r, claims=tuple(replace(c, denied=True) for c in r.claims)) for r in several]
    for one in found(reversed_):
        assert one.true.value == 0
        assert (one.specific.high or 0) < 0


def test_too_few_patients_are_not_exchanged_and_one_patient_is_one() -> None:
    few = [r for r in replies(truthful, 4, 3) if r.truth == TRUTHS[0]]
    (one,) = found(few)
    assert (one.claims, one.specific.n, one.verdict) == (0, 0, "cannot be told")
    assert one.true.n == 8
    twice = [replace(r, id=f"{r.id}/{k}", patient="same") for r in few for k in range(3)]
    (one,) = found(twice)
    assert one.claims == 0


def test_exchanged_is_the_mean_over_other_patients_by_hand() -> None:
    several = replies(random, 12, 4)
    held = held_against_facts(several)
    for i, one in enumerate(several):
        others = [r for r in several if r.truth == one.truth and r.patient != one.patient]
        for claim in held[i].claims:
            truths = [is_true(claim.claim, other.facts) for other in others]
            decided = [true for true in truths if true is not None]
            assert claim.exchanged == (pytest.approx(np.mean(decided)) if claim.true is not None else None)
    assert sum(own.received for own in held) == pytest.approx(0)


def test_right_answers_by_their_reasons_sum_to_one() -> None:
    several = replies(random, 20, 5)
    mixed = [replace(r, claims=() if i % 4 == 0 else r.claims) for i, r in enumerate(several)]
    mixed = [replace(r, given="" if i % 5 == 0 else r.given) for i, r in enumerate(mixed)]
    for one in found(mixed):
        kinds = (one.all_true, one.one_false, one.none)
        assert sum(score.value or 0 for score in kinds) == pytest.approx(1)
        assert {score.n for score in kinds} == {16}
        assert one.checkable.n == 20


def test_the_needed_number_tells() -> None:
    (one, _) = found(replies(one_in_five, 20, 7))
    assert one.verdict == "cannot be told"
    assert one.needed is None or one.needed > one.patients


def test_claims_that_facts_do_not_decide_are_counted_apart() -> None:
    facts = eye(np.random.default_rng(0), TRUTHS[0])
    claims = (Claim("notch", "present"), Claim("intraocular pressure", "unseen"))
    several = [Explained(str(i), "s", "x", "x", str(i), facts, claims) for i in range(6)]
    (one,) = found(several)
    assert (one.undecided, one.unseen, one.true.n) == (6, 6, 0)
    assert one.checkable.value == 0


def test_the_sentence_pairs_shares_of_the_same_claims() -> None:
    """Claims behind a rare wrong answer are not exchanged: they are counted, and in neither share of the sentence."""
    several = replies(truthful, 30, 0)
    odd = [replace(one, given="GLAUCOMA") for one in several if one.truth == "NON-GLAUCOMA"][:2]
    wrong = tuple(replace(claim, low=0.99, high=0.99) for claim in odd[0].claims[:1])
    odd = [replace(one, claims=wrong) for one in odd]
    kept = [one for one in several if one.id not in {o.id for o in odd}]
    told = {one.truth: one for one in explanations([*kept, *odd], held_against_facts([*kept, *odd]))}["NON-GLAUCOMA"]
    assert told.alone == 2 and told.true.n == told.claims + told.unspecific + 2
    assert told.matched == pytest.approx(told.specific.value + told.exchanged.value)
    assert told.matched == pytest.approx(1.0) and told.true.value < 1
