"""Structured replies: slots of every layout, both answers in each, and changes that leave an answer as it is."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

import pytest

from tests.tasks.parsing import structured
from tests.tasks.parsing.neutral import CHANGES
from tests.tasks.parsing.test_blind import ATTACKS, BLIND, agrees, found, is_unread
from tests.tasks.parsing.test_replies import REPLIES

Pair = tuple[str, str, str, str]
WORDS = {"conditions": ("TRUE", "FALSE"), "glaucoma": ("GLAUCOMA", "NON-GLAUCOMA")}


@cache
def pairs_of_answers() -> list[Pair]:
    return list(structured.pairs())


def swapped(pairs: Sequence[Pair]) -> tuple[Counter[str], list[tuple[str, str]]]:
    """Return how many replies of each side are read, and the pairs of which one is read as the other."""
    counts: Counter[str] = Counter()
    flips = []
    for ask, _, first, second in pairs:
        reads = [found({"ask": ask, "reply": text}) for text in (first, second)]
        wanted = WORDS.get(ask.split()[0])
        counts["first"] += reads[0] == wanted[0] if wanted else not is_unread(reads[0])
        counts["second"] += reads[1] == wanted[1] if wanted else not is_unread(reads[1])
        crossed = (reads[0] == wanted[1] or reads[1] == wanted[0]) if wanted else reads[0] == reads[1]
        if crossed and not all(map(is_unread, reads)):
            flips.append((first, second))
    return counts, flips


def check(pairs: Sequence[Pair]) -> None:
    counts, flips = swapped(pairs)
    assert flips == []
    assert min(counts["first"], counts["second"]) >= 0.97 * len(pairs)
    assert abs(counts["first"] - counts["second"]) <= 0.01 * len(pairs)


def test_an_answer_and_its_opposite_are_read_alike_in_every_layout() -> None:
    """Of each layout the first pair, the last one and one between; the slow test has all."""
    by_layout: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs_of_answers():
        by_layout[pair[1]].append(pair)
    assert len(by_layout) > 120
    check([several[i * (len(several) - 1) // 2] for several in by_layout.values() for i in range(3)])


@pytest.mark.slow
def test_all_pairs_of_answers() -> None:
    assert len(pairs_of_answers()) > 20_000
    check(pairs_of_answers())


def changed(
    rows: Sequence[dict[str, object]], every: int = 1
) -> tuple[int, list[tuple[str, str]], list[tuple[str, str]]]:
    """Return how many neutral changes there are, those that change the answer, and those that leave none.

    A change is made of one in `every` rows, of each row another one.
    """
    count, other, unread = 0, [], []
    for number, row in enumerate(rows):
        for place, (name, change) in enumerate(CHANGES.items()):
            text = change(str(row["reply"])) if (number + place) % every == 0 else None
            if text is None:
                continue
            count += 1
            read = found(row | {"reply": text})
            if not agrees(read, row["read"]):
                (unread if is_unread(read) else other).append((name, text))
    return count, other, unread


def rightly_read(rows: Sequence[dict[str, object]], seed: int) -> Iterator[dict[str, object]]:
    """Yield the replies that are rightly read, in an order of their own."""
    answered = [row for row in rows if "answer" in row and row.get("finish", "stop") == "stop"]
    random.Random(seed).shuffle(answered)
    return (row | {"read": read} for row in answered if agrees(read := found(row), row["answer"]))


def options_apart(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the replies but those to options, whose label in this file is the text of the option."""
    return [row for row in rows if not str(row["ask"]).startswith("option")]


def test_neutral_changes_do_not_change_an_answer() -> None:
    rows = islice(rightly_read([*BLIND, *ATTACKS, *options_apart(REPLIES)], seed=3), 150)
    count, other, unread = changed(list(rows), every=3)
    assert count > 800
    assert other == []
    assert len(unread) <= 0.01 * count, unread


@pytest.mark.slow
def test_sixty_thousand_neutral_changes() -> None:
    rows = islice(rightly_read([*BLIND, *options_apart(REPLIES)], seed=2), 3_200)
    count, other, unread = changed(list(rows))
    assert count > 60_000
    assert len(other) <= 3, other
    assert len(unread) <= 0.005 * count
