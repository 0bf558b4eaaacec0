"""Thinking blocks are removed, and unclosed ones reported."""

from __future__ import annotations

import pytest

from lmod_train.parsing.thinking import strip_thinking


@pytest.mark.parametrize(
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
