"""Markup goes, words stay."""

from __future__ import annotations

import pytest

from lmod_train.parsing.clean import clean


@pytest.mark.parametrize(
    ("text", "word"),
    [("**GLAUCOMA**", "GLAUCOMA"), ("`NORMAL`", "NORMAL"), ("# Stage: 4", "Stage: 4"), ("age <18", "<18")],
)
def test_words_survive_without_their_markup(text: str, word: str):
    said = clean(text)
    assert word in said
    assert not set("*`#") & set(said)
