"""Labelled replies to single-choice questions; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import pytest

from lmod_train.parsing.option import parse_option
from lmod_train.parsing.reading import read
from lmod_train.types import Reply, Unparsed

FOUR = ("optic disc", "macula", "superior arcade", "periphery")


def outcome(text: str, choices: tuple[str, ...] = FOUR) -> str:
    answer = read(Reply("id", text), parse_option, choices)
    assert isinstance(answer, str | Unparsed)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else answer


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("B", "macula"),
        ("b", "macula"),
        ("B.", "macula"),
        ("(B)", "macula"),
        ("B)", "macula"),
        ("**B**", "macula"),
        ("Option B", "macula"),
        ("Answer: B; Confidence: 80%", "macula"),
        ("B. macula", "macula"),
        ("答案：B", "macula"),
        ("选B", "macula"),
        ("Ａ", "optic disc"),
        ("Optic disc.", "optic disc"),
        ("Answer: F", "?out_of_range"),
        ("", "?empty"),
    ],
)
def test_replies(text: str, wanted: str) -> None:
    assert outcome(text) == wanted
