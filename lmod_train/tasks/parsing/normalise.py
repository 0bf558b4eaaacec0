"""Normalise characters that look or mean alike."""

from __future__ import annotations

import re
import unicodedata

from lmod_train.core.vocabulary import entry


def _table() -> dict[int, str]:
    table = dict.fromkeys(map(ord, entry("characters.dashes")), "-") | dict.fromkeys(
        map(ord, entry("characters.arrows")), ":"
    )
    for plain, others in (
        entry("characters.quotes") | entry("characters.brackets") | entry("characters.others")
    ).items():
        table |= dict.fromkeys(map(ord, others), plain)
    for forms in entry("characters.traditional").split():
        table |= dict.fromkeys(map(ord, forms[1:]), forms[0])
    return table


_TABLE = _table()
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_ARROW = re.compile(r"[-=]{1,2}>")


def normalise(text: str) -> str:
    """Return the text with one kind of dash, quote, bracket, blank, arrow, width and Chinese character.

    NFKC maps compatibility forms (full width, Roman numeral signs, ligatures); traditional characters of the vocabulary
    become simplified, arrows a colon. Idempotent; applied to choices and replies alike.

    Example:
        >>> normalise("ＮＯＮ‑GLAUCOMA → “Ⅳ級”"), normalise("60–69")
        ('NON-GLAUCOMA : "IV级"', '60-69')
    """
    return _ARROW.sub(":", unicodedata.normalize("NFKC", text.translate(_TABLE)).translate(_TABLE))


def in_place(text: str) -> str:
    """Return the text with the signs that look or mean alike replaced one for one, so that every position stays.

    Example:
        >>> in_place("ＮＯＮ‑GLAUCOMA；“Ⅳ級”")
        'NON-GLAUCOMA;"Ⅳ级"'
    """
    return text.translate(_TABLE).translate(_WIDE)
