"""Set right a slip in the label or the word of the requested format: "DISAESE: Diabetic Retinopahty"."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmod_train.parsing.forms import plain
from lmod_train.parsing.nearest import nearest, slips

_FIELD = re.compile(
    r"(?:^|(?<=\n))\W{0,4}(?:(?P<label>[a-z]{5,12})[\"']?\s?[:=]\s{0,3}[\"']?)?(?P<value>[a-z][a-z \-]{3,38}[a-z])"
    r"(?=[\"']?\s{0,3}(?:[;.,\n]|$))",
    re.IGNORECASE,
)
_LABELS = {label: label for label in ("disease", "diagnosis", "answer", "condition")} | {"diseases": "disease"}
_REGION = re.compile(r"(?<![a-z])(?P<word>[a-z]{5,8})(?=[\s_](?:ids?|no|number)?\s?[:#]?\s?[0-9])", re.IGNORECASE)
_TYPE = re.compile(r"(?<![a-z])(?P<word>[a-z]{3,5})(?=\s?[:=])", re.IGNORECASE)


def respelled(text: str, meant: Mapping[str, str]) -> str:
    """Return the text with a label and a value that slip from known ones written as "answer: value".

    Args:
        text: A reply in which no answer was found.
        meant: Lower-case spelling -> the choice it stands for.

    Example:
        >>> respelled("DISAESE: Catarct; Explanation: haze", {"cataract": "cataract", "glaucoma": "glaucoma"})
        'answer: cataract; Explanation: haze'
        >>> respelled("Colour: red", {"cataract": "cataract"})
        'Colour: red'
    """
    return _FIELD.sub(lambda field: _right(field, meant), text)


def _right(field: re.Match[str], meant: Mapping[str, str]) -> str:
    label, word = (field["label"] or "").casefold(), plain(field["value"])
    if label and not (label in _LABELS or nearest(label, _LABELS)):
        return field[0]
    choice = meant.get(word) or nearest(word, meant)
    return f"answer: {choice}" if choice and (label or word not in meant) else field[0]


def relabelled(text: str) -> str:
    """Return the text with slips in the labels "Region ID" and "Type" set right.

    Example:
        >>> relabelled("Regoin ID: 1; Tpye: iris")
        'region ID: 1; type: iris'
    """
    text = _REGION.sub(lambda m: _of_slip(m[0], "region"), text)
    return _TYPE.sub(lambda m: _of_slip(m[0], "type"), text)


def _of_slip(word: str, label: str) -> str:
    return label if slips(word.casefold(), label) == 1 else word
