"""Arrays out of ``.npz`` and ``.mat`` files from strangers: nothing in such a file is ever executed.

Level 0 beside the types: sources read demographics with it, curation reads pixels.
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

from lmod_train.raw import open_file, open_zip, read_bytes
from lmod_train.unpickling import MOST_ARRAY_BYTES, ArrayProblem, unpickled

__all__ = ["ArrayProblem", "array_names", "pickled_names", "read_array"]


def read_array(path: Path, names: Sequence[str], *, pickled: bool = False) -> npt.NDArray[Any]:
    """Return one array of an ``.npz`` or ``.mat`` file.

    Only the array asked for is read. With `pickled`, an array of Python objects is read by `unpickled`, so that no code
    of the file runs; a 0-d array of one object gives that object as an array.

    Args:
        path: The file; its ending decides how it is read.
        names: Names under which the array may be found; the first present one counts.
        pickled: The user's word that pickled arrays of this file may be read.

    Raises:
        ArrayProblem: The file is damaged, has none of the names, holds a pickle that may not be read, or an array of
            more than `MOST_ARRAY_BYTES` or of another size than it states.
    """
    if path.suffix.lower() == ".mat":
        return _of_mat(path, names)
    with _archive(path) as archive:
        held = {name.removesuffix(".npy"): name for name in archive.namelist()}
        name = _present(names, held)
        with archive.open(held[name]) as member:
            return _of_npy(member, archive.getinfo(held[name]).file_size, name, pickled)


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an ``.npz`` file, sorted, without reading any.

    Raises:
        ArrayProblem: The file is damaged.
    """
    with _archive(path) as archive:
        return sorted(name.removesuffix(".npy") for name in archive.namelist())


def pickled_names(path: Path, names: Sequence[str]) -> list[str]:
    """Return which of the named arrays of an ``.npz`` file hold pickled objects, by their headers alone.

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
        raise ArrayProblem(f"no array named {' or '.join(names)}; it holds {', '.join(sorted(held)[:20]) or 'none'}")
    return name


def _header(member: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(member)
    return header


def _of_npy(member: Any, size: int, name: str, pickled: bool) -> npt.NDArray[Any]:
    """Return the array of one member, whose archive states how many bytes it has."""
    if size > MOST_ARRAY_BYTES:
        raise ArrayProblem(f"array {name}: {size:,} bytes, and at most {MOST_ARRAY_BYTES:,} are read")
    file = io.BytesIO(member.read(size))
    try:
        shape, fortran, dtype = _header(file)
        if not dtype.hasobject:
            return _plain_array(file.getbuffer()[file.tell() :], shape, fortran, dtype)
    except (ValueError, TypeError, SyntaxError, RecursionError) as error:
        raise ArrayProblem(f"array {name}: damaged ({error})") from error
    if not pickled:
        raise ArrayProblem(f"array {name}: holds pickled objects, which are read only where you allow it")
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
            raise ArrayProblem(f"array {name}: {kind} of shape {shape}, expected numbers in a sensible shape")
        array: npt.NDArray[Any] = loadmat(io.BytesIO(data), variable_names=[name])[name]
        return array
    except ArrayProblem:
        raise
    except Exception as error:  # scipy raises whatever the bytes of a damaged file happen to mean
        raise ArrayProblem(f"not a readable mat file ({type(error).__name__}: {error})") from error


def _check_inflated(data: bytes) -> None:
    """Refuse a MATLAB 5 file that is unpacked to more than `MOST_ARRAY_BYTES`."""
    order = "little" if data[126:128] == b"IM" else "big"
    at, left = 128, MOST_ARRAY_BYTES
    while at + 8 <= len(data) and data[126:128] in (b"IM", b"MI"):
        kind, size = (int.from_bytes(data[at + n : at + n + 4], order) for n in (0, 4))  # type: ignore[arg-type]
        if kind == 15:  # packed by zlib
            left -= _inflated(data[at + 8 : at + 8 + size], left)
        if left <= 0:
            raise ArrayProblem(f"unpacked it has more than {MOST_ARRAY_BYTES:,} bytes")
        at += 8 + size


def _inflated(packed: bytes, most: int) -> int:
    """Return the unpacked size of data, counted up to `most`."""
    unpacking, size = zlib.decompressobj(), 0
    while size < most and not unpacking.eof:
        piece = unpacking.decompress(packed, 2**20)
        packed = unpacking.unconsumed_tail
        if not piece:
            break
        size += len(piece)
    return size
