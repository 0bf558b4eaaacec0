"""Headings, marks, columns and numbers govern names: generated replies (see `governed`), in every layout and place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from tests.tabled import stored, tabled
from tests.tasks.parsing.governed import Row, neutral_of, rows, swap_of
from tests.tasks.parsing.test_blind import OPPOSITE, agrees, found, is_unread

PLACED = ("list", "mark", "column")
"""Groups of replies in which the asked name is one of up to six."""


def read(row: Row) -> tuple[Any, str]:
    """Return what is read in a reply, and whether it is right, unread, invented, the opposite or another answer."""
    got = found({"ask": row.ask, "reply": row.reply})
    if is_unread(got):
        return got, "right" if row.answer is None else "unread"
    if row.answer is None or agrees(got, row.answer):
        return got, "invented" if row.answer is None else "right"
    return got, "flip" if OPPOSITE.get(str(row.answer)) == got else "other"


def groups_of(row: Row, depth: int) -> Iterator[str]:
    """Return the family of a row, and the place of the asked name with what is said of it."""
    kind = row.kind.split(".")
    yield ".".join(kind[:depth] if kind[0] in (*PLACED, "other") else kind[:1])
    if row.at and kind[0] in PLACED:
        yield f"{kind[0]}, item {row.at}"


def check(replies: Iterable[Row], depth: int) -> None:
    """Assert that replies are read as a person does, by families (so many parts of their kind) and places."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sides: dict[str, dict[str, Counter[bool]]] = defaultdict(lambda: defaultdict(Counter))
    wrong = []
    for row in replies:
        got, result = read(row)
        if result not in ("right", "unread"):
            wrong.append((result, row, got))
        for group in groups_of(row, depth):
            counts[group][result] += 1
            counts[group]["line"] += row.kind.startswith(("number_line", "prefix")) or row.kind.endswith(".line")
            sides[group][row.kind.rpartition(".")[2]][result == "right"] += 1
    assert {f"{kind}, item {at}" for kind in PLACED for at in range(1, 7)} <= set(counts)
    assert [one for one in wrong if one[0] == "flip"] == []
    for group, found_in in counts.items():
        line = found_in.pop("line")
        number = found_in.total()
        assert found_in["other"] <= 0.002 * number, (group, wrong)
        assert found_in["invented"] <= 0.003 * number, (group, wrong)
        assert found_in["unread"] <= 0.03 * line + 0.25 * (number - line), group
        shares = {side: some[True] / some.total() for side, some in sides[group].items() if "item" not in group}
        assert abs(shares.get("no", 1) - shares.get("yes", 1)) <= 0.02, (group, shares)


def check_swaps(number: int, seed: int) -> None:
    """Assert that a reply and its opposite are read as opposites, or neither."""
    rng = Random(seed)
    pairs = [[(row, *read(row)) for row in swap_of(rng)] for _ in range(number)]
    assert [pair for pair in pairs if {result for *_, result in pair} - {"right", "unread"}] == []
    assert sum(len({result for *_, result in pair}) == 2 for pair in pairs) <= 0.02 * number


def check_neutral(number: int, seed: int, most: float = 0) -> None:
    """Assert that a change that says nothing leaves an answer as it is, but for `most` of a million."""
    rng, other, lost = Random(seed), [], []
    for before, after in (neutral_of(rng) for _ in range(number)):
        (first, _), (got, _) = read(before), read(after)
        if not is_unread(first) and first != got:
            (lost if is_unread(got) else other).append((after.ask, after.reply, first, got))
    assert len(other) <= most * number / 1_000_000, other
    assert len(lost) <= 0.005 * number, lost


def test_what_governs_a_name_is_read_with_it() -> None:
    check(rows(2_400, seed=1), depth=1)


def test_opposite_replies_are_read_as_opposites() -> None:
    check_swaps(500, seed=1)


def test_changes_that_say_nothing_change_nothing() -> None:
    check_neutral(800, seed=1)


@pytest.mark.slow
def test_what_governs_a_name_is_read_with_it_in_every_layout() -> None:
    check(rows(30_000, seed=47), depth=2)


@pytest.mark.slow
def test_twenty_thousand_opposite_replies_are_read_as_opposites() -> None:
    check_swaps(20_000, seed=47)


@pytest.mark.slow
def test_sixty_thousand_changes_that_say_nothing_change_nothing() -> None:
    check_neutral(60_000, seed=47, most=200)  # measured


@tabled(("ask", "reply", "answer"), stored(__file__, "governed.BOTH_POLARITIES"))
def test_a_denial_and_its_assertion_are_read(ask: str, reply: str, answer: str | None) -> None:
    got, result = read(Row(ask, reply, answer, ""))
    assert result == "right", got
