"""Verdicts on statements, in English and Chinese; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import random

import pytest

from tests.tasks.parsing.bilingual import labelled, measured, outcome, precision_and_recall
from tests.tasks.parsing.test_reading import mutated


def test_there_are_enough_labelled_replies_half_of_them_chinese() -> None:
    rows = labelled()
    assert len(rows) == len({(row.asked, row.reply) for row in rows}) >= 300
    assert sum(any("\u4e00" <= c <= "\u9fff" for c in row.reply) for row in rows) >= len(rows) / 2
    assert all(bool(row.answer) != bool(row.outcome) for row in rows)
    assert min(sum(row.split == half for row in rows) for half in ("develop", "held_out")) >= 150


@pytest.mark.parametrize("half", ["develop", "held_out"])
def test_labelled_replies_are_read_as_labelled(half: str) -> None:
    wrong, total = measured(half)
    assert [(row.asked, found) for row, found in wrong if not found.startswith("?")] == []
    assert len(wrong) <= 0.02 * total, wrong
    read, right, answers = precision_and_recall(half)
    assert read == right == answers


def test_mutated_replies_never_raise() -> None:
    chance = random.Random(0)
    for _ in range(250):
        row = chance.choice(labelled())
        assert outcome(row.asked, mutated(row.reply, chance)) != "?parser_error"
