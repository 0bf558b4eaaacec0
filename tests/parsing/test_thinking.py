"""Thinking is taken out before an answer is looked for, and a thought without an end is told apart."""

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
def test_only_what_is_said_aloud_is_left(text: str, left: str, closed: bool):
    said, ended = strip_thinking(text)
    assert (said.strip(), ended) == (left, closed)
