"""Rewards: by hand, and the order that they must have."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Record
from lmod_train.extensions.reason.reward import Reward, Rewards
from lmod_train.tasks.glaucoma import Glaucoma
from tests.extensions.reason.test_targets import asked


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [asked(i) for i in range(60)]


@pytest.fixture(scope="module")
def score(records: list[Record]) -> Rewards:
    return Rewards(Glaucoma(), records)


def ratio(record: Record) -> float:
    return float(next(fact.value for fact in record.facts if fact.name == "vcdr"))


def test_parts_are_those_of_the_definition(score: Rewards, records: list[Record]) -> None:
    one = records[0]
    near = [abs(ratio(r) - round(ratio(one), 2)) <= 0.1 for r in records[2::2]]  # the same truth, other patients
    said = f"GLAUCOMA. The CDR is {ratio(one):.2f}."
    assert score(said, one) == Reward(1.0, (pytest.approx(0.5 * (1 - sum(near) / len(near))),))
    assert score("GLAUCOMA. The CDR is 0.1.", one) == Reward(1.0, (-0.5,))
    assert score("GLAUCOMA", one).total == 1
    assert score(said.replace("GLAUCOMA", "NON-GLAUCOMA"), one).total == 0
    assert score("I cannot tell. The CDR is 0.7.", one).total == 0


def test_textbook_repeated_and_undecided_claims_add_nothing(score: Rewards, records: list[Record]) -> None:
    one = records[0]
    assert score("GLAUCOMA. The cup is enlarged.", one).total == 1  # true of every glaucoma
    assert score("GLAUCOMA. There is a notch, and the pressure is high.", one).total == 1
    said = f"The CDR is {ratio(one):.2f}. "
    assert score(f"GLAUCOMA. {said}", one) == score(f"GLAUCOMA. {said * 5}", one)


def test_no_more_than_three_claims_count(score: Rewards, records: list[Record]) -> None:
    one = records[0]
    many = " ".join(f"The CDR is 0.{n}." for n in (11, 12, 13, 14, 15))
    assert score(f"GLAUCOMA. {many}", one).claims == (-0.5,) * 3


def test_truth_is_worth_more_than_another_eye_on_average(score: Rewards, records: list[Record]) -> None:
    own, other = [], []
    for i, one in enumerate(records):
        away = records[(i + 2) % len(records)]
        own.append(score(f"{one.answer}. The CDR is {ratio(one):.2f}.", one).total)
        other.append(score(f"{one.answer}. The CDR is {ratio(away):.2f}.", one).total)
    assert sum(own) > sum(other)


def test_few_other_eyes_or_none_give_the_answer_alone() -> None:
    few = [asked(i) for i in (0, 2, 4)]
    score = Rewards(Glaucoma(), few)
    assert score(f"GLAUCOMA. The CDR is {ratio(few[0]):.2f}.", few[0]).total == 1
