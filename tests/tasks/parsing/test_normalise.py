"""Equivalent characters become one, and nothing else changes."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.tasks.parsing.normalise import normalise


@given(st.text())
def test_normalising_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_ascii_text_without_arrows_is_unchanged(text: str) -> None:
    text = text.replace(">", "").replace("`", "")
    assert normalise(text) == text == unicodedata.normalize("NFKC", text)
