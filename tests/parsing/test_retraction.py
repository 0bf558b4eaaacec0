"""A retracted first thought is no answer and does not contradict a later one."""

from __future__ import annotations

import pytest

from lmod_train.types import Unparsed
from tests.parsing.asked import parse

THOUGHTS = (
    "I first wrote {a}, but that was wrong; the image says otherwise. {b}.",
    "At first I thought {a}; that was a mistake: {b}",
    "I initially said {a}. I correct myself: {b}",
    "My first impression was {a}, but: {b}",
    "{a} - correction, I overlooked something: {b}.",
    "{a} -> no, I misread. Corrected: {b}",
    "{a}. I stand corrected: {b}",
    "我最初认为是{a}，但仔细看后更正为：{b}。",
    "起初以为{a}，因此改为{b}。",
)
PAIRS = {
    "glaucoma": ("GLAUCOMA", "NON-GLAUCOMA"),
    "conditions drusen": ("DRUSEN TRUE", "DRUSEN FALSE"),
    "icdr": ("Stage: 2", "Stage: 3"),
}


@pytest.mark.parametrize("ask", PAIRS)
@pytest.mark.parametrize("thought", THOUGHTS)
def test_the_later_answer_counts(thought: str, ask: str) -> None:
    for first, second in (PAIRS[ask], PAIRS[ask][::-1]):
        text = thought.format(a=first, b=second)
        assert parse(ask, text) == parse(ask, second), text


def test_a_first_thought_alone_is_no_answer() -> None:
    assert isinstance(parse("glaucoma", "I initially thought of glaucoma."), Unparsed)
    assert isinstance(parse("glaucoma", "I first thought of glaucoma, but I cannot decide."), Unparsed)
