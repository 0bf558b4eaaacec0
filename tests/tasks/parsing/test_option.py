"""Labelled replies to single-choice questions; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import random

import pytest

from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from tests.tasks.parsing.options import OPTIONS, labelled
from tests.tasks.parsing.test_reading import mutated

FOUR = ("optic disc", "macula", "superior arcade", "periphery")


def outcome(text: str, choices: tuple[str, ...] = FOUR, cut: bool = False) -> str:
    """Return the letter of the option that is read, or the reason why there is none."""
    answer = read(Reply("id", text, "length" if cut else "stop"), parse_option, choices)
    assert isinstance(answer, str | Unparsed)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else LETTERS[choices.index(answer)]


def measured(split: str) -> tuple[list[tuple[str, str, str]], int, int, int]:
    """Return the wrong readings of a half, and the numbers of its answers, of read replies and of right ones."""
    rows = [(row, outcome(row.reply, OPTIONS[row.asked], row.outcome == "truncated")) for row in labelled()]
    rows = [(row, found) for row, found in rows if row.split == split]
    read_ = [(row, found) for row, found in rows if not found.startswith("?")]
    wrong = [(row.reply, row.answer or row.outcome, found) for row, found in read_ if found != row.answer]
    return wrong, sum(bool(row.answer) for row, _ in rows), len(read_), len(read_) - len(wrong)


def test_there_are_enough_labelled_replies_in_both_languages() -> None:
    rows = labelled()
    assert len(rows) == len({(row.asked, row.reply) for row in rows}) >= 300
    assert len([row for row in rows if any("\u4e00" <= c <= "\u9fff" for c in row.reply)]) >= 60
    assert all(bool(row.answer) != bool(row.outcome) for row in rows)
    assert min(sum(row.split == split for row in rows) for split in ("develop", "held_out")) >= 150


def test_labelled_replies_are_read_and_not_misread() -> None:
    wrong, answers, _, right = measured("develop")
    assert wrong == [("retina and optic nerve", "none", "E")]  # the second structure is no option
    assert right == answers


def test_held_out_replies_are_read() -> None:
    wrong, answers, found, right = measured("held_out")
    assert len(wrong) <= 1 and found >= 142 and right >= 142 and answers == 144


def test_the_reasons_of_replies_without_an_answer() -> None:
    rows = [row for row in labelled() if row.split == "develop" and row.outcome not in ("", "none")]
    others = [row.reply for row in rows if outcome(row.reply, OPTIONS[row.asked], row.outcome == "truncated")
              != f"?{row.outcome}"]  # fmt: skip
    assert others == ["可能是A，也可能是B"]


def survive(count: int, seed: int) -> None:
    """Read so many mutated replies; an exception, an answer that is no option, or a parser error ends it."""
    chance = random.Random(seed)
    rows = labelled()
    for _ in range(count):
        row = chance.choice(rows)
        found = outcome(mutated(row.reply, chance), OPTIONS[row.asked], chance.random() < 0.5)
        assert found != "?parser_error"


def test_mutated_replies_never_raise() -> None:
    survive(250, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_mutated_replies_never_raise(seed: int) -> None:
    survive(10_000, seed)
