"""Normalisation of file names and flags, which copies of a dataset spell differently."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

YES_NO: Mapping[str, str] = {"1": "yes", "1.0": "yes", "true": "yes", "0": "no", "0.0": "no", "false": "no"}
"""Label by flag of a table, stripped and in lower case; spreadsheets write 1 as 1.0 or TRUE."""


def plain_name(name: str) -> str:
    """Return the name of a file or folder in lower case and NFC, percent-decoded and stripped of blanks.

    Example:
        >>> plain_name("REFUGE%2DTest400"), plain_name(" Images ")
        ('refuge-test400', 'images')
    """
    return composed(unquote(name).strip().casefold())


def composed(name: str) -> str:
    r"""Return a name in Unicode's normal form NFC; macOS stores letters and their accents apart.

    Example:
        >>> composed("Joa\u0303o") == "Jo\xe3o"
        True
    """
    return unicodedata.normalize("NFC", name)


def plain_stem(file: str | Path) -> str:
    """Return the name of a file without folders and ending, in lower case and NFC, to pair files and rows.

    Example:
        >>> plain_stem("Images/IMG_1.JPG")
        'img_1'
    """
    return composed(Path(file).stem.casefold())
