"""Keys of images become paths below ``images/<source>/``: which of them can."""

from __future__ import annotations

import re

from lmod_train.core.perturbations import KINDS
from lmod_train.core.removal import FILLS
from lmod_train.core.types import Dropped, Sample
from lmod_train.core.vocabulary.phantoms import REDRAWN

_REMOVALS = rf"(evidence|elsewhere)-({'|'.join(FILLS)})-.*"

_RESERVED = re.compile(rf"\.(marked|mean|{REDRAWN}|({'|'.join(KINDS)})-[0-9]|{_REMOVALS})$")
"""Endings that curation gives to the changed copies of an image."""

LONGEST_NAME = 200
"""Bytes of a part of a key: file systems take 255, and an ending is added."""


def unusable_key(sample: Sample) -> Dropped | None:
    """Return the line for a sample whose key, or that of one of its images, cannot be a path; None where all can."""
    for key in sample.image_keys:
        problem = key_problem(key)
        if problem is not None:
            return Dropped.of(sample, "read", *problem)
    return None


def key_problem(key: str) -> tuple[str, str] | None:
    """Return reason and detail why a key cannot be the path of an image, None where it can.

    Example:
        >>> key_problem("train/g0001"), key_problem("../g0001")[0]
        (None, 'key_unusable')
    """
    if not is_utf8(key):
        return "not_utf8", f"{key!a} is not UTF-8; name the file in UTF-8"
    parts = key.split("/")
    if any(p in ("", ".", "..") for p in parts) or any(c in key for c in "\\\0") or _RESERVED.search(parts[-1]):
        return "key_unusable", "keys become paths: no empty, dot or backslash part, no ending .marked or e.g. .blur-3"
    if max(len(part.encode()) for part in parts) > LONGEST_NAME or len(key.encode()) > 4 * LONGEST_NAME:
        return "key_unusable", f"keys become paths: at most {LONGEST_NAME} bytes a part"
    return None


def is_utf8(text: str) -> bool:
    """Return whether UTF-8 can hold a text; names of files may be other bytes, which Python reads as half letters."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
