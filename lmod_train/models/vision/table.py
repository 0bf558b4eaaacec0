"""Rows of numbers by name that are computed once: kept in pieces in a `Cache`, by all processes of a run together."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lmod_train.core.cache import Cache, mapped

PIECES = 256  # at most, as each holds a file open

Name = TypeVar("Name", bound=Hashable)
Rows = npt.NDArray[Any]


class Table(Generic[Name]):
    """Rows by name.

    Sent to another process a table on disk is opened there, and one in memory is copied.

    Args:
        names: Of the rows, in their order.
        pieces: The rows (rows, ...), in pieces that are equally long but for the last; at least one, which may be
            empty.
        files: Where the pieces lie on disk; none for a table in memory.
        places: Row of each name in the pieces; None for their order.

    Example:
        >>> Table(["a", "b", "c"], [np.array([1, 2]), np.array([3])]).take(["c", "a", "c"])
        array([3, 1, 3])
    """

    def __init__(
        self,
        names: Sequence[Name],
        pieces: Sequence[Rows],
        files: Sequence[Path] = (),
        places: Sequence[int] | None = None,
    ) -> None:
        self._rows = dict(zip(names, range(len(names)) if places is None else places, strict=True))
        self._pieces, self._files = list(pieces), list(files)
        self._size = max(1, len(self._pieces[0]))

    def __len__(self) -> int:
        """Rows."""
        return len(self._rows)

    def __contains__(self, name: Name) -> bool:
        """Whether there is a row of this name."""
        return name in self._rows

    @property
    def names(self) -> list[Name]:
        """Names of the rows, in their order."""
        return list(self._rows)

    def take(self, names: Sequence[Name]) -> Rows:
        """Return copies of rows, (names, ...).

        Raises:
            KeyError: One of them is not in the table.
        """
        found = np.empty((len(names), *self._pieces[0].shape[1:]), self._pieces[0].dtype)
        for i, name in enumerate(names):
            piece, row = divmod(self._rows[name], self._size)
            found[i] = self._pieces[piece][row]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the other process opens for itself."""
        return {**self.__dict__, "_pieces": []} if self._files else self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open what was left out."""
        self.__dict__.update(state)
        if self._files:
            self._pieces = [_reopened(file) for file in self._files]


def _reopened(file: Path) -> Rows:
    """Map a piece that another process has found whole.

    Raises:
        FileNotFoundError: It is gone, or damaged since.
    """
    rows = mapped(file)
    if rows is None:
        raise FileNotFoundError(f"{file}: removed or damaged while it is in use; start again, and it is computed anew")
    return rows


def table(
    names: Sequence[Name],
    like: Rows,
    compute: Callable[[Sequence[Name]], Rows],
    folder: Path | None,
    size: int,
    share: tuple[int, int] = (0, 1),
) -> Table[Name]:
    """Return the table of these names, computed now or found in a folder.

    A piece is a file of its own in a `Cache`, found again by whoever comes next: a run that was stopped goes on where
    it was. Each process computes the pieces of its share, and then those that are still missing, in an order of its
    own.

    Args:
        names: Of the rows, each once. None gives an empty table, which is not written.
        like: No row (0, ...) of the shape and type that rows have.
        compute: From some names that follow on each other to their rows.
        folder: One that is named by all that the rows follow from; None for a table in the memory of this process.
        size: Rows of a piece; more, where `PIECES` of them would not hold all.
        share: (this process, of how many): 0 and 1 for one alone.

    Raises:
        BadArgument: The folder cannot be written to, or the disk is full.
    """
    size = max(size, -(-len(names) // PIECES))
    spans = [names[start : start + size] for start in range(0, len(names), size)]
    if folder is None or not spans:
        return Table(names, [compute(span) for span in spans] or [like])
    cache = cache_at(folder)
    pieces = [f"{i:03}-of-{len(spans):03}" for i in range(len(spans))]
    found = {i: _piece(cache, pieces[i], spans[i], like, compute) for i in _turns(len(spans), share)}
    return Table(names, [found[i] for i in range(len(spans))], [cache.file(piece) for piece in pieces])


def cache_at(folder: Path) -> Cache:
    """Return the cache of the pieces of a table, a folder ``CURATED/cache/NAME``.

    Raises:
        BadArgument: The folder cannot be created.
    """
    return Cache(folder, "model.init_args.cache", "disk", "set model.init_args.cache to memory", folder.parents[1])


def _piece(
    cache: Cache, piece: str, span: Sequence[Name], like: Rows, compute: Callable[[Sequence[Name]], Rows]
) -> Rows:
    """Return a piece from the cache, computed and kept there where it is missing or does not fit."""
    rows = cache.read(piece)
    if rows is None or rows.shape != (len(span), *like.shape[1:]) or rows.dtype != like.dtype:
        cache.keep(piece, compute(span))
        rows = _reopened(cache.file(piece))
    return rows


def _turns(count: int, share: tuple[int, int]) -> list[int]:
    """Return pieces in the order of one process: its own, then those of the others as they come.

    Helpers that all went from the first to the last would compute the same pieces at the same time.
    """
    rank, processes = share
    own = range(rank * count // processes, (rank + 1) * count // processes)
    others = [i for i in range(count) if i not in own]
    random.Random(rank).shuffle(others)
    return [*own, *others]
