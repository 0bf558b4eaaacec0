"""Arrays out of ``.npz`` and ``.mat`` files from strangers: nothing in such a file is ever executed.

Level 0 beside the types: sources read demographics with it, curation reads pixels.
"""

from __future__ import annotations

import io
import pickle
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

_RECONSTRUCTS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("_codecs", "encode"),
}
"""All a pickled array of numbers, texts, lists or dicts needs; a pickle that names anything else is refused."""


class ArrayProblem(ValueError):
    """An array cannot be had; the message says what was found and what was expected."""


def read_array(path: Path, names: Sequence[str], *, pickled: bool = False) -> npt.NDArray[Any]:
    """Return one array of an ``.npz`` or ``.mat`` file.

    Only the array asked for is read. With `pickled`, an array of Python objects is unpickled by a reader that can build
    numbers, texts, lists, dicts and arrays and nothing else, so that no code of the file runs; a 0-d array of one
    object gives that object as an array.

    Args:
        path: The file; its ending decides how it is read.
        names: Names under which the array may be found; the first present one counts.
        pickled: The user's word that pickled arrays of this file may be read.

    Raises:
        ArrayProblem: The file is damaged, has none of the names, or holds a pickle that may not be read.
    """
    if path.suffix.lower() == ".mat":
        return _of_mat(path, names)
    try:
        with zipfile.ZipFile(path) as archive:
            held = {name.removesuffix(".npy"): name for name in archive.namelist()}
            name = next((n for n in names if n in held), None)
            if name is None:
                raise ArrayProblem(f"no array named {' or '.join(names)}; it holds {', '.join(sorted(held)) or 'none'}")
            with archive.open(held[name]) as member:
                return _of_npy(io.BytesIO(member.read()), name, pickled)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise ArrayProblem(f"not a readable npz file ({type(error).__name__}: {error})") from error


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an ``.npz`` file, sorted, without reading any.

    Raises:
        ArrayProblem: The file is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return sorted(name.removesuffix(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError) as error:
        raise ArrayProblem(f"not a readable npz file ({type(error).__name__}: {error})") from error


def _of_npy(file: IO[bytes], name: str, pickled: bool) -> npt.NDArray[Any]:
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        if not dtype.hasobject:
            file.seek(0)
            array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except ValueError as error:
        raise ArrayProblem(f"array {name}: damaged ({error})") from error
    if not pickled:
        raise ArrayProblem(f"array {name}: holds pickled objects, which are read only where you allow it")
    try:
        whole = _Restricted(file).load()
    except ArrayProblem as error:
        raise ArrayProblem(f"array {name}: {error}") from error
    except Exception as error:  # a damaged pickle raises whatever its bytes happen to mean
        raise ArrayProblem(f"array {name}: damaged pickle ({type(error).__name__}: {error})") from error
    plain = whole.item() if isinstance(whole, np.ndarray) and whole.shape == shape == () else whole
    return np.asarray(plain)


class _Restricted(pickle.Unpickler):
    """Builds plain data and arrays; any other name in the pickle is refused before it is looked up."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _RECONSTRUCTS:
            raise ArrayProblem(f"its pickle names {module}.{name}, which is not data and is never read")
        return super().find_class(module, name)


def _of_mat(path: Path, names: Sequence[str]) -> npt.NDArray[Any]:
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    try:
        held = [name for name, _, _ in whosmat(path)]
        name = next((n for n in names if n in held), None)
        if name is None:
            raise ArrayProblem(f"no array named {' or '.join(names)}; it holds {', '.join(sorted(held)) or 'none'}")
        array: npt.NDArray[Any] = loadmat(path, variable_names=[name])[name]
        return array
    except ArrayProblem:
        raise
    except (
        MatReadError,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        NotImplementedError,
        zlib.error,
    ) as error:
        raise ArrayProblem(f"not a readable mat file ({type(error).__name__}: {error})") from error
