"""Arrays from untrusted ``.npz`` and ``.mat`` files and pickles, read without executing anything in them.

Used by sources for demographics and by curation for pixels.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from lmod_train.core.raw import open_file, open_zip, read_bytes

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


# Safe reading of pickled arrays, which creates only plain data.
MOST_ARRAY_BYTES = 100 * 2**20
"""Maximum bytes of an array."""

MOST_INSTRUCTIONS = 3_000_000
"""Maximum instructions in a pickle; a value takes one to three."""

MOST_VALUES = 1_000_000
"""Maximum values in a pickle, each counted as often as it is referenced, as nested references grow exponentially."""

_TYPE = re.compile(r"[<>=|]?([biufc]\d{1,2}|\?|[SU]\d{1,6})")


class ArrayProblem(ValueError):
    """An array cannot be read; the message names what was found and what was expected."""


def unpickled(file: BinaryIO) -> npt.NDArray[Any]:
    """Return the array, or the plain object as an array, of the pickle at the current position.

    Supports arrays of numbers, texts and plain objects in all formats written by numpy.

    Raises:
        ArrayProblem: The pickle is damaged, names anything that is not data, contains an array whose bytes do not fit
            its type and shape, or more than `MOST_VALUES` values.
    """
    try:
        value = _Plain().of(_Reader(file).load())
        if isinstance(value, np.ndarray) and value.shape == () and value.dtype == object:
            value = value.item()
        return np.asarray(value)
    except ArrayProblem:
        raise
    except Exception as error:  # damaged pickles raise any exception
        raise ArrayProblem(f"damaged pickle ({type(error).__name__}: {error})") from error


class _Made:
    """Placeholder of a numpy object while the pickle is read; only stores its arguments and state."""

    __slots__ = ("given", "state")

    def __init__(self, *given: Any) -> None:
        self.given, self.state = given, cast(Any, None)

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Type(_Made):
    """Placeholder of a ``numpy.dtype``; `real` returns the type, if it is one of numbers or texts."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Name of the type in the pickle."""
        return str(self.given[0]) if self.given else ""

    def real(self) -> np.dtype[Any]:
        if _TYPE.fullmatch(self.name) is None:
            raise ArrayProblem(f"an array of type {self.name[:20]!r}, expected numbers or texts")
        order = str(self.state[1]) if isinstance(self.state, tuple) and len(self.state) > 1 else "|"
        made = np.dtype(self.name)
        return made.newbyteorder(order) if order in ("<", ">") else made  # type: ignore[arg-type]


class _Array(_Made):
    """Placeholder of an array made by ``_reconstruct``; its state has shape, type, order and content."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[int, ...], _Type, bool, Any]:
        if not isinstance(self.state, tuple) or len(self.state) != 5 or not isinstance(self.state[2], _Type):
            raise ArrayProblem("an array without shape and type")
        _, shape, kind, fortran, content = self.state
        return _shape(shape), kind, bool(fortran), content


class _Buffered(_Made):
    """Placeholder of an array made by ``_frombuffer`` (protocol 5)."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[int, ...], _Type, bool, Any]:
        if len(self.given) < 4 or not isinstance(self.given[1], _Type):
            raise ArrayProblem("an array without shape and type")
        content, kind, shape, order = self.given[:4]
        return _shape(shape), kind, order == "F", content


class _Scalar(_Made):
    """Placeholder of a number or text of numpy."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[int, ...], _Type, bool, Any]:
        if len(self.given) != 2 or not isinstance(self.given[0], _Type):
            raise ArrayProblem("a number without a type")
        return (), self.given[0], False, self.given[1]


def _shape(shape: Any) -> tuple[int, ...]:
    whole = isinstance(shape, tuple) and len(shape) <= 32 and all(type(n) is int and 0 <= n < 2**40 for n in shape)
    if not whole:
        raise ArrayProblem(f"an array of shape {str(shape)[:40]}")
    return cast(tuple[int, ...], shape)


class _Maker:
    """Calls a function instead of the one named in the pickle; has no state that a pickle could change."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *given: Any) -> Any:
        return self._make(*given)

    def __setstate__(self, state: Any) -> None:
        raise ArrayProblem("its pickle changes a function")


def _encoded(text: str, coding: str) -> bytes:
    if coding not in ("latin1", "latin-1"):
        raise ArrayProblem(f"its pickle encodes as {coding[:20]!r}")
    return text.encode("latin-1")


_CORES = ("numpy.core", "numpy._core")

_KNOWN: dict[tuple[str, str], _Maker] = {
    ("numpy", "ndarray"): _Maker(_Made),
    ("numpy", "dtype"): _Maker(_Type),
    ("_codecs", "encode"): _Maker(_encoded),
    ("__builtin__", "bytes"): _Maker(lambda: b""),  # empty bytes in the oldest protocol
    **{(f"{core}.multiarray", "_reconstruct"): _Maker(_Array) for core in _CORES},
    **{(f"{core}.multiarray", "scalar"): _Maker(_Scalar) for core in _CORES},
    **{(f"{core}.numeric", "_frombuffer"): _Maker(_Buffered) for core in _CORES},
}
"""All names that occur in pickled arrays."""


class _Counted(dict[int, Any]):
    """Dispatch table of instructions that permits `MOST_INSTRUCTIONS` look-ups."""

    left = MOST_INSTRUCTIONS

    def __getitem__(self, instruction: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ArrayProblem(f"more than {MOST_INSTRUCTIONS:,} instructions in its pickle")
        return super().__getitem__(instruction)


_InPython: Any = pickle._Unpickler  # type: ignore[attr-defined, unused-ignore]


class _Reader(_InPython):  # type: ignore[misc]
    """Python's unpickler in Python, as a pickle of ten bytes can make the one in C allocate all memory (its memo)."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        at = file.tell()
        self._left = file.seek(0, 2) - at
        file.seek(at)
        self.dispatch = _Counted(_InPython.dispatch)
        self.dispatch[pickle.BYTEARRAY8[0]] = _Reader._load_bytearray8

    def find_class(self, module: str, name: str) -> Any:
        """Return the placeholder for a part of an array; any other name raises an error before it is looked up."""
        if (module, name) not in _KNOWN:
            raise ArrayProblem(f"its pickle names {module[:40]}.{name[:40]}, which is not data and is not read")
        return _KNOWN[module, name]

    def _load_bytearray8(self) -> None:
        size = int.from_bytes(self.read(8), "little")
        if size > self._left:  # Python's own would allocate the memory first
            raise ArrayProblem("its pickle claims more bytes than it has")
        self.append(bytearray(self.read(size)))


class _Plain:
    """Converts placeholders to plain values, and counts them."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def of(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ArrayProblem(f"more than {MOST_VALUES:,} values")
        if isinstance(value, dict):
            return {self.of(key): self.of(own) for key, own in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.of(own) for own in value)
        if isinstance(value, _Scalar):
            return self._array(*value.parts()).item()
        if isinstance(value, _Array | _Buffered):
            return self._array(*value.parts())
        if isinstance(value, int) and value.bit_length() > 64:
            raise ArrayProblem(f"a whole number of {value.bit_length():,} bits")
        if value is None or isinstance(value, int | float | complex | str | bytes | bytearray):
            return value
        raise ArrayProblem(f"its pickle holds a {type(value).__name__}")

    def _array(self, shape: tuple[int, ...], kind: _Type, fortran: bool, content: Any) -> npt.NDArray[Any]:
        if isinstance(content, list) and kind.name.lstrip("|") in ("O", "O8"):
            return self._objects(shape, content, fortran)
        dtype, data = kind.real(), bytes(content) if isinstance(content, bytes | bytearray) else b""
        if math.prod(shape) * dtype.itemsize != len(data) or len(data) > MOST_ARRAY_BYTES:
            raise ArrayProblem(f"an array of {dtype} in the shape {shape} with {len(data):,} bytes")
        return np.ndarray(shape, dtype, data, order="F" if fortran else "C").copy(order="K")

    def _objects(self, shape: tuple[int, ...], content: list[Any], fortran: bool) -> npt.NDArray[Any]:
        if math.prod(shape) != len(content):
            raise ArrayProblem(f"an array of objects in the shape {shape} with {len(content):,} of them")
        flat = np.empty(len(content), dtype=object)
        for place, value in enumerate(content):
            flat[place] = self.of(value)
        return flat.reshape(shape, order="F" if fortran else "C")
