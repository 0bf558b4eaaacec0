"""Accuracy over labelled replies to every task, handwritten in the style of many models.

`replies.jsonl` holds one reply a line: what was asked, the reply, and the answer that it gives or the outcome it has:
a reason, or ``unparsed`` where it does not matter which.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from lmod_train.types import Unparsed, status_of
from tests.parsing.asked import parse
from tests.tabled import tabled

REPLIES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text("utf-8").splitlines()
]
DENYING = {"NON-GLAUCOMA", "FALSE"}


def outcome(row: dict[str, Any]) -> tuple[Any, str]:
    """Return the answer that is read (None for none) and the reason why there is none ("" for an answer)."""
    read = parse(row["ask"], row["reply"], row.get("finish", "stop"))
    if isinstance(read, Unparsed):
        return None, "unparsed" if row.get("outcome") == "unparsed" and status_of(read) == "unparsed" else read.reason
    return ({str(k): v for k, v in read.items()} if isinstance(read, dict) else read), ""


def is_right(row: dict[str, Any]) -> bool:
    answer, reason = outcome(row)
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
    wrong = [(row["ask"], row["reply"], *outcome(row)) for row in REPLIES if not is_right(row)]
    assert len(wrong) <= 0.02 * len(REPLIES), wrong


def test_no_reply_without_a_disease_is_read_as_one() -> None:
    silent = [row for row in REPLIES if "outcome" in row or str(row["answer"]) in DENYING]
    invented = [row for row in silent if outcome(row)[0] not in (None, row.get("answer"))]
    assert len(silent) >= 250
    assert invented == []


@tabled("dash", [*map(chr, range(0x2010, 0x2016)), "\u2212", "\uff0d", "\ufe63", "\u2043"])
def test_every_dash_is_read_alike(dash: str) -> None:
    asked = [row for row in REPLIES if "-" in row["reply"] and "(-)" not in row["reply"]]
    assert len(asked) > 60
    for row in asked:
        assert outcome(row | {"reply": row["reply"].replace("-", dash)}) == outcome(row), row


WIDE = {ord(c): chr(ord(c) + 0xFEE0) for c in map(chr, range(0x21, 0x7F)) if c not in "<>\\$`~#*_|{}&;/"}


def test_full_width_letters_are_read() -> None:
    plain = [row for row in REPLIES if not set(row["reply"]) & set("<>\\$`~#*_|{}&")]
    assert len(plain) > 400
    for row in plain:
        assert outcome(row | {"reply": row["reply"].translate(WIDE)}) == outcome(row), row
