"""Arrays from untrusted ``.npz`` and ``.mat`` files, read without executing anything in them.

Used by sources for demographics and by curation for pixels.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lmod_train.core.raw import open_file, open_zip, read_bytes
from lmod_train.core.unpickling import MOST_ARRAY_BYTES, ArrayProblem, unpickled

__all__ = ["ArrayProblem", "array_names", "pickled_names", "read_array"]


def read_array(path: Path, names: Sequence[str], *, pickled: bool = False) -> npt.NDArray[Any]:
    """Return one array of an ``.npz`` or ``.mat`` file.

    Only the requested array is read. With `pickled`, an array of Python objects is read by `unpickled`, which runs no
    code of the file; a 0-d array of an object returns this object as an array.

    Args:
        path: The file; its suffix determines the format.
        names: Possible names of the array, of which the first present one is used.
        pickled: Whether the user permits reading pickled arrays of this file.

    Raises:
        ArrayProblem: The file is damaged, has none of the names, contains a pickle that may not be read, or an array of
            more than `MOST_ARRAY_BYTES` or of another size than its header states.
    """
    if path.suffix.lower() == ".mat":
        return _of_mat(path, names)
    with _archive(path) as archive:
        held = {name.removesuffix(".npy"): name for name in archive.namelist()}
        name = _present(names, held)
        with archive.open(held[name]) as member:
            return _of_npy(member, archive.getinfo(held[name]).file_size, name, pickled)


def array_names(path: Path) -> list[str]:
    """Return the sorted names of the arrays in an ``.npz`` file, without reading the arrays.

    Raises:
        ArrayProblem: The file is damaged.
    """
    with _archive(path) as archive:
        return sorted(name.removesuffix(".npy") for name in archive.namelist())


def pickled_names(path: Path, names: Sequence[str]) -> list[str]:
    """Return the given names whose arrays in an ``.npz`` file are pickled objects, reading only headers.

    Raises:
        ArrayProblem: The file is damaged.
    """
    with _archive(path) as archive:
        held = [name for name in names if f"{name}.npy" in archive.namelist()]
        found = []
        for name in held:
            with archive.open(f"{name}.npy") as member:
                if _header(member)[2].hasobject:
                    found.append(name)
        return found


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_file(path) as file, open_zip(file) as archive:
            yield archive
    except ArrayProblem:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ArrayProblem(f"not a readable npz file ({type(error).__name__}: {error})") from error


def _present(names: Sequence[str], held: Sequence[str] | dict[str, str]) -> str:
    name = next((n for n in names if n in held), None)
    if name is None:
        raise ArrayProblem(f"no array named {' or '.join(names)}; it contains {', '.join(sorted(held)[:20]) or 'none'}")
    return name


def _header(member: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(member)
    return header


def _of_npy(member: Any, size: int, name: str, pickled: bool) -> npt.NDArray[Any]:
    """Return the array of one member of the archive, of the size stated there."""
    if size > MOST_ARRAY_BYTES:
        raise ArrayProblem(f"array {name}: {size:,} bytes, expected at most {MOST_ARRAY_BYTES:,}")
    file = io.BytesIO(member.read(size))
    try:
        shape, fortran, dtype = _header(file)
        if not dtype.hasobject:
            return _plain_array(file.getbuffer()[file.tell() :], shape, fortran, dtype)
    except (ValueError, TypeError, SyntaxError, RecursionError) as error:
        raise ArrayProblem(f"array {name}: damaged ({error})") from error
    if not pickled:
        raise ArrayProblem(f"array {name}: contains pickled objects, which are only read if you allow it")
    try:
        return unpickled(file)
    except ArrayProblem as error:
        raise ArrayProblem(f"array {name}: {error}") from error


def _plain_array(data: memoryview, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or claimed != len(data):
        raise ValueError(f"{claimed:,} bytes by its shape, {len(data):,} in the file")
    return np.ndarray(shape, dtype, data, order="F" if fortran else "C").copy(order="K")


_NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def _of_mat(path: Path, names: Sequence[str]) -> npt.NDArray[Any]:
    from scipy.io import loadmat, whosmat

    try:
        data = read_bytes(path, MOST_ARRAY_BYTES)
        _check_inflated(data)
        held = {name: (shape, kind) for name, shape, kind in whosmat(io.BytesIO(data))}
        name = _present(names, list(held))
        shape, kind = held[name]
        if kind not in _NUMBERS or math.prod(shape) * 8 > 8 * MOST_ARRAY_BYTES:
            raise ArrayProblem(f"array {name}: {kind} of shape {shape}, expected numbers, at most {MOST_ARRAY_BYTES:,}")
        array: npt.NDArray[Any] = loadmat(io.BytesIO(data), variable_names=[name])[name]
        return array
    except ArrayProblem:
        raise
    except Exception as error:  # scipy raises any exception for damaged files
        raise ArrayProblem(f"not a readable mat file ({type(error).__name__}: {error})") from error


def _check_inflated(data: bytes) -> None:
    """Raise an error for a MATLAB 5 file of more than `MOST_ARRAY_BYTES` when decompressed."""
    order = "little" if data[126:128] == b"IM" else "big"
    at, left = 128, MOST_ARRAY_BYTES
    while at + 8 <= len(data) and data[126:128] in (b"IM", b"MI"):
        kind, size = (int.from_bytes(data[at + n : at + n + 4], order) for n in (0, 4))  # type: ignore[arg-type]
        if kind == 15:  # compressed by zlib
            left -= _inflated(data[at + 8 : at + 8 + size], left)
        if left <= 0:
            raise ArrayProblem(f"more than {MOST_ARRAY_BYTES:,} bytes when decompressed")
        at += 8 + size


def _inflated(packed: bytes, most: int) -> int:
    """Return the decompressed size of data, counted up to `most`."""
    unpacking, size = zlib.decompressobj(), 0
    while size < most and not unpacking.eof:
        piece = unpacking.decompress(packed, 2**20)
        packed = unpacking.unconsumed_tail
        if not piece:
            break
        size += len(piece)
    return size
