"""Normalisation of file names and flags, which copies of a dataset spell differently."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

YES_NO: Mapping[str, str] = {"1": "yes", "1.0": "yes", "true": "yes", "0": "no", "0.0": "no", "false": "no"}
"""Label by flag of a table, stripped and in lower case; spreadsheets write 1 as 1.0 or TRUE."""


def plain_name(name: str) -> str:
    """Return the name of a file or folder in lower case, percent-decoded and stripped of blanks.

    Example:
        >>> plain_name("REFUGE%2DTest400"), plain_name(" Images ")
        ('refuge-test400', 'images')
    """
    return unquote(name).strip().casefold()
