"""Correct spelling in the label or the value of the requested format: "DISAESE: Diabetic Retinopahty"."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmod_train.parsing.forms import plain
from lmod_train.parsing.nearest import edit_distance, nearest

_FIELD = re.compile(
    r"(?:^|(?<=\n))\W{0,4}(?:(?P<label>[a-z]{5,12})[\"']?\s?[:=]\s{0,3}[\"']?)?(?P<value>[a-z][a-z \-]{3,38}[a-z])"
    r"(?=[\"']?\s{0,3}(?:[;.,\n]|$))",
    re.IGNORECASE,
)
_LABELS = {label: label for label in ("disease", "diagnosis", "answer", "condition")} | {"diseases": "disease"}
_REGION = re.compile(r"(?<![a-z])(?P<word>[a-z]{5,8})(?=[\s_](?:ids?|no|number)?\s?[:#]?\s?[0-9])", re.IGNORECASE)
_TYPE = re.compile(r"(?<![a-z])(?P<word>[a-z]{3,5})(?=\s?[:=])", re.IGNORECASE)


def correct_spelling(text: str, meant: Mapping[str, str]) -> str:
    """Return the text with misspelt labels and values written as "answer: choice".

    Args:
        text: A reply in which no answer was found.
        meant: Lower-case spelling -> choice.

    Example:
        >>> correct_spelling("DISAESE: Catarct; Explanation: haze", {"cataract": "cataract", "glaucoma": "glaucoma"})
        'answer: cataract; Explanation: haze'
        >>> correct_spelling("Colour: red", {"cataract": "cataract"})
        'Colour: red'
    """
    return _FIELD.sub(lambda field: _corrected(field, meant), text)


def _corrected(field: re.Match[str], meant: Mapping[str, str]) -> str:
    label, word = (field["label"] or "").casefold(), plain(field["value"])
    if label and not (label in _LABELS or nearest(label, _LABELS)):
        return field[0]
    choice = meant.get(word) or nearest(word, meant)
    if choice and word.startswith("non") != choice.casefold().startswith("non"):
        return field[0]  # "new glaucoma"
    return f"answer: {choice}" if choice and (label or word not in meant) else field[0]


def correct_labels(text: str) -> str:
    """Return the text with misspelt labels "Region ID" and "Type" corrected.

    Example:
        >>> correct_labels("Regoin ID: 1; Tpye: iris")
        'region ID: 1; type: iris'
    """
    text = _REGION.sub(lambda m: _of_slip(m[0], "region"), text)
    return _TYPE.sub(lambda m: _of_slip(m[0], "type"), text)


def _of_slip(word: str, label: str) -> str:
    return label if edit_distance(word.casefold(), label) == 1 else word
