"""Cleaning removes markup and keeps words."""

from __future__ import annotations

from lmod_train.tasks.parsing.clean import clean
from tests.tabled import tabled


@tabled(
    ("text", "word"),
    [("**GLAUCOMA**", "GLAUCOMA"), ("`NORMAL`", "NORMAL"), ("# Stage: 4", "Stage: 4"), ("age <18", "<18")],
)
def test_markup_is_removed_and_words_stay(text: str, word: str):
    cleaned = clean(text)
    assert word in cleaned
    assert not set("*`#") & set(cleaned)
