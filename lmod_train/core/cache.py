"""Cache of crops and features on disk, with a file per array."""

from __future__ import annotations

import io
import math
import mmap
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, sweep, write_apart
from lmod_train.core.links import rooted

Array = npt.NDArray[Any]

SUFFIX = ".npy"

BEGIN = 10
"""Bytes of magic string, version and header length at the start of a file."""

UNREADABLE = (OSError, ValueError, EOFError, SyntaxError, TypeError, OverflowError, tokenize.TokenError)
"""Exceptions of numpy for a file that is missing or truncated, or has a damaged header."""


class Cache:
    """Arrays by name in a folder, which several processes and runs can fill concurrently.

    Files are written atomically; temporary files of killed processes are removed after a day. Processes do not wait for
    each other: if two write the same name, the first file is kept. A file of wrong size or header counts as missing;
    changed numbers in it are not detected. The name of the folder must depend on everything that determines the arrays.

    Args:
        folder: Folder of the files, created if missing.
        argument: Option that names the folder, for error messages.
        value: Value of this option.
        cure: What to change if the folder cannot be used, for error messages.
        root: Folder above it that the user named, below which no link is followed; default: `folder`.

    Raises:
        BadArgument: The folder cannot be created.
        LinkInFolder: It is a link below `root`, or lies behind one.
    """

    def __init__(self, folder: Path, argument: str, value: str, cure: str, root: Path | None = None) -> None:
        self.folder, self._option, self._cure, self._root = folder, (argument, value), cure, root or folder
        with self._writing():
            make_folder(folder)
        with suppress(OSError):  # a complete cache can be on a read-only disk
            sweep(folder, "**/.*.part")

    def file(self, name: str) -> Path:
        """Return the file of an array."""
        return self.folder / f"{name}{SUFFIX}"

    def read(self, name: str) -> Array | None:
        """Return a read-only, memory-mapped array; None if there is no complete file."""
        return mapped(self.file(name))

    def keep(self, name: str, array: Array) -> None:
        """Write an array, unless there is a complete file of this shape and type.

        Args:
            name: Name of the array; a ``/`` in it creates a subfolder.
            array: Array of any shape and any type except objects.

        Raises:
            BadArgument: The folder cannot be written to, or the disk is full.
        """
        file = self.file(name)
        with self._writing(), write_apart(file) as part:
            with part.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
            _link(part, file, array)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Convert errors of the file system to errors that name the option."""
        try:
            with rooted(self._root):
                yield
        except OSError as error:
            expected = (
                f"a folder that can be written to, on a disk with room ({self.folder}: {error.strerror or error})"
            )
            raise BadArgument(*self._option, expected, self._cure) from error


def mapped(file: Path) -> Array | None:
    """Return the memory-mapped array of a file; None if the file is missing, truncated or not an array."""
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
    """Return shape, whether the order is Fortran's, and type of an array from the header of its file.

    Cached, as a folder has few different headers, and numpy takes longer to parse one than to map a file.

    Raises:
        ValueError: The header is not one written by `Cache.keep`.
    """
    stream = io.BytesIO(header)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("another version of the format")
    return np.lib.format.read_array_header_1_0(stream)


def _link(part: Path, file: Path, array: Array) -> None:
    """Give a temporary file its name too, unless another process has written an equal array there.

    That process may have mapped its file. On a network drive, replacing it would crash the process at its next access.
    """
    try:
        file.hardlink_to(part)
        return
    except FileExistsError:
        found = mapped(file)
        if found is not None and (found.shape, found.dtype) == (array.shape, array.dtype):
            return
    except OSError:  # file systems without hard links
        pass
    part.replace(file)
