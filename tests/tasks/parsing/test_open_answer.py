"""Answers to open questions: all words of a reply, unless it only declines."""

from __future__ import annotations

from typing import Any

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.refusal import read_open
from tests.tabled import tabled


def outcome(text: str, finish: Any = "stop", error: str = "") -> str:
    answer = read_open(Reply("a", text, finish, error))
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else answer


@tabled(
    ("text", "finish", "error", "wanted"),
    [
        ("", "stop", "", "?empty"), ("<think>hm", "length", "", "?truncated"),
        ("Pale disc and", "length", "", "Pale disc and"), ("黄斑水肿" * 10, "stop", "", "?repetition"),
        ("", "content_filter", "", "?refused"), ("Pale disc", "refusal", "", "?refused"),
        ("Pale disc", "error", "timed out", "?failed"),
    ],
)  # fmt: skip
def test_endings(text: str, finish: str, error: str, wanted: str) -> None:
    assert outcome(text, finish, error) == wanted
