"""Parse the confidence that a reply states."""

from __future__ import annotations

import re

from lmod_train.parsing.normalise import normalise

_LABEL = (
    r"(?:(?:(?<![a-z])(?:my\s)?(?:level\sof\s|overall\s|self-rated\s)?(?:confidence|certainty)"
    r"(?:\s(?:level|score|rating|value|percentage))?(?:\s\([^()\n]{1,20}\))?(?![a-z]))|置信度|置信水平|信心(?:水平|指数|程度)?|把握(?:程度)?|确信度|可信度)"
)
_FIELD = re.compile(
    rf"(?:^|(?<=[\n;,.。(|{{\"'\s]))(?:with\s(?:an?\s)?)?{_LABEL}[\"'\])]{{0,3}}"
    r"\s{0,3}(?:[:=]|\s-\s|(?<=[a-z])\s(?:is|of|at|in)(?![a-z])|[是为约]|\n)\s{0,3}"
    r"(?P<value>[^\n;,。]{0,60}?)(?=[\n;,。}|]|\.(?:\s|$)|$)",
    re.IGNORECASE,
)


def without_confidence(text: str) -> str:
    r"""Return the text with stated confidences replaced by a line break, so that no option is read in them.

    Example:
        >>> without_confidence("Confidence: 60%; Answer: C")
        '\n; Answer: C'
    """
    return _FIELD.sub("\n", text)


_NUMBER = re.compile(r"(?<![\w.])(?P<n>[0-9]{1,3}(?:\.[0-9]{1,4})?|\.[0-9]{1,4})\s?(?P<percent>%|percent)?")


def parse_confidence(text: str, language: str = "en") -> float | None:
    """Return the confidence that a reply states, from 0 to 1; None without a readable one.

    Example:
        >>> parse_confidence("Answer: B; Confidence: 80%")
        0.8
    """
    for field in _FIELD.finditer(normalise(text)):
        if found := _NUMBER.search(field["value"]):
            value = float(found["n"])
            share = value if not found["percent"] and value <= 1 and "." in found["n"] else value / 100
            return min(1.0, share)
    return None
