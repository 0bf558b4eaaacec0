"""Names of the files of tables and figures."""

from __future__ import annotations

from urllib.parse import quote


def file_name(name: str) -> str:
    """Return a name as one part of a path on every system, percent-encoded where necessary.

    Example:
        >>> file_name("confusion-four_way"), file_name("../a b")
        ('confusion-four_way', '%2E%2E%2Fa%20b')
    """
    plain = quote(name, safe="")
    return plain.replace(".", "%2E") if plain.startswith(".") else plain
