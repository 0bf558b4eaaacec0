"""Safe reading of pickled arrays, which creates only plain data.

A pickle is a program. This reader supports its instructions for plain data (numbers, texts, lists, dicts) and calls no
class that it names, not even those of numpy, whose constructors do not check their arguments. An array is built here
after its type, shape and bytes were checked.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

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
