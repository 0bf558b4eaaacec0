"""The one cache of crops and features: arrays that are computed once, each in a file of its own."""

from __future__ import annotations

import io
import math
import mmap
import os
import tokenize
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lmod_train.errors import BadArgument
from lmod_train.files import sweep

Array = npt.NDArray[Any]

SUFFIX = ".npy"

BEGIN = 10
"""Bytes at the beginning of such a file: magic and version, the last two the length of what describes the array."""

UNREADABLE = (OSError, ValueError, EOFError, SyntaxError, TypeError, OverflowError, tokenize.TokenError)
"""What numpy raises for a file that is missing, cut off, or whose header is damaged."""


class Cache:
    """Arrays by name in a folder, which several processes and runs fill together.

    A file appears whole or not at all, so a killed process leaves only a part that is removed after a day. Processes do
    not wait for each other: where two keep one name, the first file stays. A file of wrong size or header is missing;
    changed numbers inside it are not noticed. The folder must be named by everything the arrays follow from.

    Args:
        folder: Made where it is missing.
        argument: Option that names the folder, for errors.
        value: Its value.
        cure: What to change where the folder cannot be used.

    Raises:
        BadArgument: The folder cannot be made.
    """

    def __init__(self, folder: Path, argument: str, value: str, cure: str) -> None:
        self.folder, self._option, self._cure = folder, (argument, value), cure
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # a complete cache is read from a read-only disk too
            sweep(folder, "**/.*.part")

    def file(self, name: str) -> Path:
        """Return the file of an array."""
        return self.folder / f"{name}{SUFFIX}"

    def read(self, name: str) -> Array | None:
        """Return an array that is mapped from its file and cannot be written to; None where no whole file is there."""
        return mapped(self.file(name))

    def keep(self, name: str, array: Array) -> None:
        """Write an array, unless a whole file of this shape and type is there already.

        Args:
            name: Of the array; a ``/`` in it makes a folder.
            array: Of any shape and type but objects.

        Raises:
            BadArgument: The folder cannot be written to, or the disk is full.
        """
        file = self.file(name)
        part = file.with_name(f".{uuid.uuid4().hex}.part")
        with self._writing():
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                with part.open("wb") as stream:
                    np.save(stream, array, allow_pickle=False)
                _link(part, file, array)
            finally:
                part.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn an error of the disk into one that names the option."""
        try:
            yield
        except OSError as error:
            expected = (
                f"a folder that can be written to, on a disk with room ({self.folder}: {error.strerror or error})"
            )
            raise BadArgument(*self._option, expected, self._cure) from error


def mapped(file: Path) -> Array | None:
    """Return the array of a file without reading it yet; None where the file is missing, cut off, or no such array."""
    try:
        with file.open("rb") as stream:
            begins = stream.read(BEGIN)
            shape, fortran, dtype = _layout(begins + stream.read(int.from_bytes(begins[-2:], "little")))
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            start = stream.tell()
        whole = len(content) == start + math.prod(shape) * dtype.itemsize
        return np.ndarray(shape, dtype, content, start, order="F" if fortran else "C") if whole else None
    except UNREADABLE:
        return None


@lru_cache(maxsize=1024)
def _layout(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order (whether the first axis changes fastest) and type of an array, from the header of its file.

    Remembered, as a folder has few different headers, and numpy takes longer to read one than to map a file.

    Raises:
        ValueError: It is no header as `Cache.keep` writes it.
    """
    stream = io.BytesIO(header)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("another version of the format")
    return np.lib.format.read_array_header_1_0(stream)


def _link(part: Path, file: Path, array: Array) -> None:
    """Give a file its name, unless a faster process has given it to the same.

    That process may have mapped its file, and would lose it to ours on a network drive: it would die at the next read.
    """
    try:
        os.link(part, file)
        return
    except FileExistsError:
        found = mapped(file)
        if found is not None and (found.shape, found.dtype) == (array.shape, array.dtype):
            return
    except OSError:  # file systems without hard links
        pass
    part.replace(file)
