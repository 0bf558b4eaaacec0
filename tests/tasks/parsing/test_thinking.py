"""Thinking blocks are removed, and unclosed ones reported."""

from __future__ import annotations

from lmod_train.tasks.parsing.visible import strip_thinking, visible_spans
from tests.tabled import tabled


@tabled(
    ("text", "left", "closed"),
    [
        ("GLAUCOMA", "GLAUCOMA", True),
        ("<think>normal, or not?</think>GLAUCOMA", "GLAUCOMA", True),
        ("<think>first it looks normal", "", False),
        ("<think>a</think><think>b</think>NORMAL", "NORMAL", True),
    ],
)
def test_thinking_is_removed(text: str, left: str, closed: bool):
    visible, ended = strip_thinking(text)
    assert (visible.strip(), ended) == (left, closed)


def test_visible_spans_are_those_of_the_visible_text():
    for text in ("a<think>b</think>c", "b</think>c", "<think>b", "", "<think>a</think>b<think>c</think>d"):
        spans, closed = visible_spans(text)
        assert ("".join(text[start:end] for start, end in spans), closed) == strip_thinking(text)
