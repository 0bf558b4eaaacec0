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


def plain_class(name: str) -> str:
    """Return a class name in lower case with single blanks, also for dashes and underscores.

    Example:
        >>> plain_class(" Irrigation-Aspiration"), plain_class("normal_eye")
        ('irrigation aspiration', 'normal eye')
    """
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())


def years_of(text: str) -> float | None:
    """Return an age in years, None for anything that is not a number from 0 to below 120.

    Example:
        >>> years_of("61.0"), years_of("-1"), years_of("about 60")
        (61.0, None, None)
    """
    try:
        years = float(text)
    except ValueError:
        return None
    return years if 0 <= years < 120 else None
