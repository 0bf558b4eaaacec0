"""Equivalent characters become one, and nothing else changes."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.tasks.parsing.normalise import in_place, normalise
from tests.tabled import tabled


@tabled("code", [*range(0x2010, 0x2016), 0x2212, 0xFF0D, 0xFE63, 0x2043])
def test_every_dash_is_a_hyphen(code: int) -> None:
    assert normalise(f"NON{chr(code)}GLAUCOMA") == "NON-GLAUCOMA"


@tabled(
    ("written", "plain"),
    [
        ("“GLAUCOMA”", '"GLAUCOMA"'),
        ("‘no’", "'no'"),
        ("「是」", '"是"'),
        ("X → no", "X : no"),
        ("X ⇒ no", "X : no"),
        ("X -> no", "X : no"),
        ("X => no", "X : no"),
        ("ＦＡＬＳＥ；０", "FALSE;0"),
        ("（－）", "(-)"),
        ("Ⅳ", "IV"),
        ("ⅳ", "iv"),
        ("60～69", "60~69"),
        ("½", "1/2"),
        ("a\u00a0b", "a b"),
        ("ﬁnding", "finding"),
        ("｛｝［］｜＜＞", "{}[]|<>"),
        ("", ""),
    ],
)
def test_signs(written: str, plain: str) -> None:
    assert normalise(written) == plain


@given(st.text())
def test_normalising_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_ascii_text_without_arrows_is_unchanged(text: str) -> None:
    text = text.replace(">", "").replace("`", "")
    assert normalise(text) == text == unicodedata.normalize("NFKC", text)


def test_in_place_keeps_every_position():
    text = "ＮＯＮ‑GLAUCOMA；Ⅳ級“x”→ﬁ"
    assert len(in_place(text)) == len(text)
    assert in_place(text) == 'NON-GLAUCOMA;Ⅳ级"x":ﬁ'
