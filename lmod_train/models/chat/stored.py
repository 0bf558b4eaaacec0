"""Tensors in the files of a checkpoint: names, shapes and types, with contents read on demand."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from errno import EINVAL
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.weight_values import checkpoint_json, refuse_changed
from lmod_train.core.zipped import damage

TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Names of types in safetensors files with those of torch."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor in a file.

    Attributes:
        name: Name in the file.
        shape: Sizes of its dimensions.
        dtype: Name of its type in torch, e.g. `bfloat16`, or in the file if torch has no such type.
        read: Function that returns the tensor; valid until the iteration that yielded it goes to the next file.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Tensor]


def stored_in(folder: Path) -> Iterator[Stored]:
    """Yield every tensor in a folder, one file open at a time.

    Raises:
        WeightsNotFound: There are no weights in the folder, or a file cannot be read as tensors alone.
    """
    for file in weight_files(folder):
        yield from stored_in_file(file)


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a folder, or its ``pytorch_model*.bin`` if there are none.

    Raises:
        WeightsNotFound: There are neither of them.
    """
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        cure = "fetch them, or correct the path"
        raise WeightsNotFound("folder", str(folder), "it holds no weights (*.safetensors)", cure)
    return files


def missing_shards(folder: Path) -> list[str]:
    """Return the names of files that an index in the folder lists and that are missing."""
    kinds = "*.safetensors.index.json" if any(folder.glob("*.safetensors")) else "*.index.json"
    indices = (checkpoint_json(index) for index in sorted(folder.glob(kinds)))
    return sorted({file for index in indices for file in index["weight_map"].values() if not (folder / file).is_file()})


def stored_in_file(file: Path) -> Iterator[Stored]:
    """Yield every tensor of one file.

    Raises:
        WeightsNotFound: It is damaged, or a pickle that holds more than tensors.
    """
    refuse_changed(file)
    try:
        yield from _pickled(file) if file.suffix == ".bin" else _safe(file)
    except (SafetensorError, pickle.UnpicklingError, BadZipFile, EOFError, OSError, RuntimeError) as error:
        reason = "it is truncated" if getattr(error, "errno", 0) == EINVAL else str(error).partition(".")[0][:160]
        what = f"cannot be read as tensors alone ({reason})"
        cure = "fetch the file again, and compare its size with that on its page; pickled code is never run"
        raise WeightsNotFound("file", str(file), what, cure) from error


def _pickled(file: Path) -> Iterator[Stored]:
    if lost := damage(file):
        raise BadZipFile(lost)
    loaded: dict[str, Tensor] = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    for name, tensor in loaded.items():
        dtype = str(tensor.dtype).removeprefix("torch.")
        yield Stored(name, tuple(tensor.shape), dtype, partial(loaded.__getitem__, name))


def _safe(file: Path) -> Iterator[Stored]:
    with safe_open(file, framework="pt") as opened:
        for name in opened.keys():  # noqa: SIM118  # not a dict
            about = opened.get_slice(name)
            dtype = TYPES.get(about.get_dtype(), about.get_dtype())
            yield Stored(name, tuple(about.get_shape()), dtype, partial(opened.get_tensor, name))
