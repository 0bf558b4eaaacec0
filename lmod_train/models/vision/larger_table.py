"""Rows of a stored table that has all rows of another one and more, so that a part of the records needs no new table.

A run on a share of the training split, on some sources or on one fold's records then uses the features of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lmod_train.core.cache import Array, Cache, mapped
from lmod_train.models.vision.table import Name, Rows, Table

KEYS = "rows"
"""Name of the array of keys beside the pieces of a complete table."""


def keep_keys(cache: Cache, keys: Sequence[str]) -> None:
    """Write the keys of the rows of a complete table, in their order, beside its pieces.

    Raises:
        BadArgument: The folder cannot be written to, or the disk is full.
    """
    cache.keep(KEYS, np.array(keys, dtype=np.bytes_))


def larger_table(folders: Sequence[Path], names: Sequence[Name], keys: Sequence[str], like: Rows) -> Table[Name] | None:
    """Return the rows of the first complete table that has them all; None if there is none.

    Args:
        folders: Folders of tables.
        names: Names of the rows, in their order.
        keys: Key of each row, which names everything that determines it.
        like: No row (0, ...) of the shape and type that rows have.
    """
    for folder in folders:
        kept = mapped(folder / f"{KEYS}.npy")
        places = {} if kept is None else {key.decode(): i for i, key in enumerate(kept.tolist())}
        if places and all(key in places for key in keys):
            files = sorted(folder.glob("*-of-*.npy"))
            pieces = [piece for file in files if (piece := mapped(file)) is not None and _alike(piece, like)]
            if sum(map(len, pieces)) == len(places):
                return Table(names, pieces, files, [places[key] for key in keys])
    return None


def _alike(piece: Array, like: Rows) -> bool:
    return piece.shape[1:] == like.shape[1:] and piece.dtype == like.dtype
