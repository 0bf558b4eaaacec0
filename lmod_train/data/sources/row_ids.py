"""Ids of the rows of a table as keys of samples, and the error of a row that gives no sample."""

from __future__ import annotations

import re

from lmod_train.data.sources.spellings import shown

LONGEST_ID = 150
"""Characters, and bytes in UTF-8, of an id."""

_ID = re.compile(r"[\w.\- ]+(?:/[\w.\- ]+)*")


class BadRow(ValueError):
    """A row that gives no sample; carries the reason and the detail of its line in dropped.csv."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def id_of(value: object) -> str:
    """Return the id of a row as a key.

    Raises:
        BadRow: It is no text or whole number that can be part of a path.
    """
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if text is None or text == "":
        raise BadRow("no id", shown(value))
    usable = isinstance(text, str) and len(text) <= LONGEST_ID and _ID.fullmatch(text) is not None
    if not usable or not isinstance(text, str) or len(text.encode()) > LONGEST_ID or _misleads(text):
        raise BadRow("unusable id", f"{shown(value)}, expected letters, digits, dots, hyphens and underscores")
    return text


def _misleads(key: str) -> bool:
    parts = key.split("/")
    return any(part.strip(". ") != part for part in parts) or parts[-1].endswith(".marked")
