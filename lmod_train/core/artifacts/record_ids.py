"""Files of record ids, one per line, as `subset` writes them."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.errors import BadArgument


def read_ids(path: Path, option: str) -> frozenset[str]:
    """Return the record ids in a file.

    Args:
        path: The file.
        option: Option that names the file, for errors.

    Raises:
        BadArgument: The file is missing or empty.
    """
    ids = path.read_text(encoding="utf-8").split() if path.is_file() else []
    if not ids:
        cure = "draw one: `python -m lmod_train subset CURATED --n 1000`"
        raise BadArgument(option, str(path), "a file of record ids, one per line", cure)
    return frozenset(ids)
