"""Reading of weights files without running code in them, with errors that state what a wrong file is."""

from __future__ import annotations

import re
import zipfile
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.weight_values import HUGE, refuse_changed
from lmod_train.core.zipped import sha256_and_damage
from lmod_train.models.vision.published_weights import not_a_file

WRAPPERS = ("model", "teacher", "state_dict", "model_state_dict")
"""Keys under which training programs store the weights; the first one present is used. Of DINOv2's teacher and student
the teacher is the one to use."""

NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Types of weights."""

COUNTS = (torch.int64, torch.bool)
"""Types of counters, indices and masks, which are stored beside weights."""

AGAIN = "fetch the file again and compare its size and sha256 with those at its origin"


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """Content of a weights file.

    Attributes:
        path: The file.
        tensors: Name -> tensor as in the file; never empty.
        arguments: Command-line arguments of the program that wrote the file; empty if it has none.
        sha256: SHA-256 of the file.
        lmod_version: Version of lmod_train whose `fit` wrote the file; empty for a file of another program.
        notes: What else the file holds: other weights beside these, such as their moving average.
    """

    path: Path
    tensors: dict[str, Tensor]
    arguments: Mapping[str, Any]
    sha256: str
    lmod_version: str = ""
    notes: tuple[str, ...] = ()


def read_weights(path: str | Path) -> WeightsFile:
    """Return the content of a ``.safetensors`` or PyTorch file; of the latter only tensors and plain values are loaded.

    The only other class allowed is `argparse.Namespace`, in which the programs of RETFound and MAE store their
    arguments.

    Raises:
        WeightsNotFound: The file does not exist, is empty, text, truncated or damaged (wrong check sums), or asks for
            another class or function; or it has no named tensors, or one that is not dense, not floating-point or not
            finite, or a `weight` matrix of zeros only or with values above `lmod_train.core.weight_values.HUGE`.
    """
    path = Path(path)
    if not path.is_file():
        raise not_a_file(path)
    _refuse_text(path)
    digest, damage = sha256_and_damage(path)
    if damage:
        raise WeightsNotFound("weights", str(path), f"damaged: {damage}", AGAIN)
    refuse_changed(path, digest)
    payload = _safetensors(path) if path.suffix == ".safetensors" else _pickled(path)
    arguments: object = payload.get("args") if isinstance(payload, dict) else None
    tensors, place = _unwrapped(path, payload)
    _refuse_numbers(path, tensors)
    version = str(payload.get("lmod_version", "")) if isinstance(payload, dict) else ""
    given = vars(arguments) if isinstance(arguments, Namespace) else {}
    return WeightsFile(path, tensors, given, digest, version, _beside(payload, place))


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(length)


def _refuse_text(path: Path) -> None:
    start = _start(path, 512)
    if not start:
        raise WeightsNotFound("weights", str(path), "the file is empty", AGAIN)
    if start.startswith(b"version https://git-lfs"):
        cure = "run `git lfs pull` in the repository it comes from, or fetch the file itself"
        raise WeightsNotFound("weights", str(path), "a Git LFS pointer, not the weights themselves", cure)
    if start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        cure = "log in at its origin, accept the conditions, and fetch it again"
        raise WeightsNotFound("weights", str(path), "a web page, as after a refused download", cure)
    if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in start):
        raise WeightsNotFound("weights", str(path), f"a text file that begins with {start[:40].decode()!r}", AGAIN)


def _safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except Exception as error:  # damaged bytes can make the reader raise anything
        raise WeightsNotFound("weights", str(path), f"not a complete safetensors file ({error})", AGAIN) from error


def _pickled(path: Path) -> Any:
    zipped = zipfile.is_zipfile(path)
    try:
        with torch.serialization.safe_globals([Namespace]):
            return torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipped
            )  # pages come in as they are used
    except Exception as error:  # a damaged pickle can make the unpickler raise anything
        found = re.search(r"GLOBAL (\S+)", str(error))
        if found:
            what = f"a pickle that asks for {found[1].rstrip('.')}, which weights do not need; it was not loaded"
            cure = "do not open it with other programs either; fetch weights from their authors, or as safetensors"
        elif not zipped and _start(path, 2) == b"PK":
            what, cure = "truncated: the table of contents at its end is missing", AGAIN
        else:
            what, cure = f"not a complete PyTorch file ({_shortened(error)})", AGAIN
        raise WeightsNotFound("weights", str(path), what, cure) from error


def _shortened(error: Exception) -> str:
    """Return the message of an error without PyTorch's advice to load unsafely."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if "weights_only" not in line and "https://" not in line]
    return f"{type(error).__name__}: {(kept or ['unreadable'])[0][:120]}"


def _beside(payload: Any, place: str) -> tuple[str, ...]:
    """Return a note on other weights in a file than those at `place`; none for weights without a key."""
    others = [key for key, value in payload.items() if place and key != place and _is_weights(value)]
    named = ", ".join(repr(str(key)) for key in others)
    save = f"torch.save(torch.load(FILE, weights_only=True)[{str(others[0])!r}], NEW)" if others else ""
    return (f"loaded are those of {place!r}; the file also holds {named} (to use them: {save})",) if others else ()


def _is_weights(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Tensor) for v in value.values())


def _unwrapped(path: Path, payload: Any) -> tuple[dict[str, Tensor], str]:
    """Return the named tensors of a file, and the key that they are under; empty for none."""
    place = next((w for w in WRAPPERS if isinstance(payload, Mapping) and isinstance(payload.get(w), Mapping)), "")
    inside = payload[place] if place else payload
    if not isinstance(inside, Mapping):
        what = f"contains a {type(inside).__name__}, not named tensors"
        raise WeightsNotFound("weights", str(path), what, "save the model's state_dict()")
    where = f"its {place!r}" if place else "the file"
    if not inside:
        raise WeightsNotFound("weights", str(path), f"{where} contains no tensors", AGAIN)
    if wrong := [str(name) for name, value in inside.items() if not isinstance(value, Tensor)]:
        known = ", ".join(WRAPPERS)
        what = f"{where} contains values that are not tensors: {', '.join(wrong[:4])} (keys of weights: {known})"
        raise WeightsNotFound("weights", str(path), what, "save the model's state_dict()")
    return {str(name): tensor for name, tensor in inside.items()}, place


def _refuse_numbers(path: Path, tensors: Mapping[str, Tensor]) -> None:
    other = [
        name
        for name, t in tensors.items()
        if t.dtype not in (*NUMBERS, *COUNTS) or t.layout != torch.strided or t.is_meta
    ]
    if other:
        first = tensors[other[0]]
        kind = "has no values" if first.is_meta else f"is {first.dtype} and {first.layout}"
        what = f"{other[0]} {kind}; expected are dense numbers of 16 to 64 bits with a floating point"
        raise WeightsNotFound("weights", str(path), what, "use weights that were not quantised")
    broken = [name for name, tensor in tensors.items() if tensor.is_floating_point() and not tensor.isfinite().all()]
    if broken:
        what = f"{len(broken)} of {len(tensors)} tensors contain NaN or infinity, the first is {broken[0]}"
        raise WeightsNotFound("weights", str(path), what, "use a checkpoint from before training diverged, or " + AGAIN)
    matrices = {name: t for name, t in tensors.items() if name.endswith("weight") and t.ndim > 1 and t.numel()}
    if huge := [name for name, t in matrices.items() if t.is_floating_point() and t.abs().max() > HUGE]:
        what = f"{len(huge)} of {len(tensors)} tensors contain values above {HUGE:g}, the first is {huge[0]}"
        raise WeightsNotFound("weights", str(path), what, AGAIN)
    # a hole in a sparse file is read as zeros; safetensors have no check sums to detect it
    empty = [name for name, t in matrices.items() if not t.any()]
    if empty:
        what = f"{len(empty)} of {len(tensors)} tensors contain only zeros, the first is {empty[0]}"
        raise WeightsNotFound("weights", str(path), what, AGAIN)
