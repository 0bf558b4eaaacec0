"""Accuracy over labelled replies to every task, handwritten in the style of many models.

`replies.jsonl` holds one reply a line: what was asked, the reply, and the answer that it gives or the outcome it has:
a reason, or ``unparsed`` where it does not matter which.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lmod_train.core.types import Unparsed, status_of
from tests.tasks.parsing.asked import parse

REPLIES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text("utf-8").splitlines()
]
DENYING = {"NON-GLAUCOMA", "FALSE"}


@cache
def as_labelled(number: int) -> tuple[Any, str]:
    """Return what is read of a labelled reply, which several tests ask for."""
    return outcome(REPLIES[number])


def outcome(row: dict[str, Any]) -> tuple[Any, str]:
    """Return the answer that is read (None for none) and the reason why there is none ("" for an answer)."""
    read = parse(row["ask"], row["reply"], row.get("finish", "stop"))
    if isinstance(read, Unparsed):
        return None, "unparsed" if row.get("outcome") == "unparsed" and status_of(read) == "unparsed" else read.reason
    return ({str(k): v for k, v in read.items()} if isinstance(read, dict) else read), ""


def is_right(row: dict[str, Any], read: tuple[Any, str]) -> bool:
    answer, reason = read
    wanted = row.get("answer")
    if isinstance(wanted, dict) and isinstance(answer, dict):  # a foreign type may be read in any words
        return wanted.keys() == answer.keys() and all(wanted[k] in ("*", answer[k]) for k in wanted)
    return answer == wanted and reason == row.get("outcome", "")


def test_every_task_has_enough_replies_in_both_languages() -> None:
    chinese = [row for row in REPLIES if any("\u4e00" <= c <= "\u9fff" for c in row["reply"])]
    kinds = Counter(row["ask"].split()[0] for row in REPLIES)
    assert len(REPLIES) >= 1000
    assert len(chinese) >= 100
    assert min(kinds.values()) >= 15, kinds


def test_accuracy_is_at_least_98_percent() -> None:
    wrong = [
        (row["ask"], row["reply"], *as_labelled(number))
        for number, row in enumerate(REPLIES)
        if not is_right(row, as_labelled(number))
    ]
    assert len(wrong) <= 0.02 * len(REPLIES), wrong


def test_no_reply_without_a_disease_is_read_as_one() -> None:
    silent = [n for n, row in enumerate(REPLIES) if "outcome" in row or str(row["answer"]) in DENYING]
    invented = [REPLIES[n] for n in silent if as_labelled(n)[0] not in (None, REPLIES[n].get("answer"))]
    assert len(silent) >= 250
    assert invented == []


DASHES = [*map(chr, range(0x2010, 0x2016)), "\u2212", "\uff0d", "\ufe63", "\u2043"]
WITH_A_DASH = [n for n, row in enumerate(REPLIES) if "-" in row["reply"] and "(-)" not in row["reply"]]


def with_dash(number: int, dash: str) -> dict[str, Any]:
    return REPLIES[number] | {"reply": REPLIES[number]["reply"].replace("-", dash)}


def test_every_dash_is_read_alike() -> None:
    """Every second reply with one dash, each dash in turn; the slow test has every reply with each."""
    assert len(WITH_A_DASH) > 500
    for place, n in enumerate(WITH_A_DASH[::2]):
        assert outcome(with_dash(n, DASHES[place % len(DASHES)])) == as_labelled(n), REPLIES[n]


@pytest.mark.slow
@pytest.mark.parametrize("dash", DASHES)
def test_every_dash_is_read_alike_in_every_reply(dash: str) -> None:
    for n in WITH_A_DASH:
        assert outcome(with_dash(n, dash)) == as_labelled(n), REPLIES[n]


WIDE = {ord(c): chr(ord(c) + 0xFEE0) for c in map(chr, range(0x21, 0x7F)) if c not in "<>\\$`~#*_|{}&;/"}


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_full_width_letters_are_read(step: int) -> None:
    plain = [n for n, row in enumerate(REPLIES) if not set(row["reply"]) & set("<>\\$`~#*_|{}&")][::step]
    assert len(plain) > 250
    for n in plain:
        row = REPLIES[n]
        assert outcome(row | {"reply": row["reply"].translate(WIDE)}) == as_labelled(n), row
