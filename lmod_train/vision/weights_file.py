"""Read a file of weights without running anything in it, or say what the file is instead."""

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

from lmod_train.errors import WeightsNotFound
from lmod_train.zipped import sha256_and_damage

WRAPPERS = ("model", "teacher", "state_dict")
"""Where training programs keep the weights in a file, the first present one counts; DINOv2's teacher is the one to
use, its student is not."""

AGAIN = "fetch the file again and compare its size and sha256 with where it comes from"


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """What a file holds.

    Attributes:
        path: The file.
        tensors: Name -> tensor, as the file has them; never empty.
        arguments: Command-line arguments of the program that wrote it; empty where it tells none.
        sha256: Of the file.
    """

    path: Path
    tensors: dict[str, Tensor]
    arguments: Mapping[str, Any]
    sha256: str


def read_weights(path: str | Path) -> WeightsFile:
    """Read ``.safetensors``, or a PyTorch file with the unpickler that builds tensors and plain values only.

    The one class allowed beside is `argparse.Namespace`, a bag of values in which RETFound's program and the MAE
    program keep their arguments.

    Raises:
        WeightsNotFound: There is no such file, or it is empty, text, cut off, damaged (its check sums differ), or asks
            for any other class or function; or it holds no tensor by name, or one that is not floating-point or not
            finite, or a matrix `weight` of zeros alone.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "no such file"
        raise WeightsNotFound("weights", str(path), what, "name the file itself, e.g. RETFound_mae_natureCFP.pth")
    _refuse_text(path)
    digest, damage = sha256_and_damage(path)
    if damage:
        raise WeightsNotFound("weights", str(path), f"damaged: {damage}", AGAIN)
    payload = _safetensors(path) if path.suffix == ".safetensors" else _pickled(path)
    arguments: object = payload.get("args") if isinstance(payload, dict) else None
    tensors = _unwrapped(path, payload)
    _refuse_numbers(path, tensors)
    return WeightsFile(path, tensors, vars(arguments) if isinstance(arguments, Namespace) else {}, digest)


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(length)


def _refuse_text(path: Path) -> None:
    start = _start(path, 512)
    if not start:
        raise WeightsNotFound("weights", str(path), "the file is empty", AGAIN)
    if start.startswith(b"version https://git-lfs"):
        cure = "run `git lfs pull` where it comes from, or fetch the file itself"
        raise WeightsNotFound("weights", str(path), "a Git LFS pointer, a note that stands for the weights", cure)
    if start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        cure = "log in, accept the conditions where it comes from, and fetch it again"
        raise WeightsNotFound("weights", str(path), "a web page, as a refused download leaves one", cure)
    if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in start):
        raise WeightsNotFound("weights", str(path), f"a text that begins {start[:40].decode()!r}", AGAIN)


def _safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except Exception as error:  # whatever its bytes make the reader say, it is a file that cannot be read
        raise WeightsNotFound("weights", str(path), f"not a whole safetensors file ({error})", AGAIN) from error


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
            what = f"a pickle that asks for {found[1].rstrip('.')}, which weights do not need; it was not run"
            cure = "do not open it with other programs either; fetch weights from their authors, or as safetensors"
        elif not zipped and _start(path, 2) == b"PK":
            what, cure = "cut off: its table of contents, at its end, is missing", AGAIN
        else:
            what, cure = f"not a whole PyTorch file ({_shortened(error)})", AGAIN
        raise WeightsNotFound("weights", str(path), what, cure) from error


def _shortened(error: Exception) -> str:
    """Return what went wrong without PyTorch's advice to load unsafely."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "weights_only" not in line and "https://" not in line]
    return f"{type(error).__name__}: {(told or ['unreadable'])[0][:120]}"


def _unwrapped(path: Path, payload: Any) -> dict[str, Tensor]:
    place = next((w for w in WRAPPERS if isinstance(payload, Mapping) and isinstance(payload.get(w), Mapping)), "")
    inside = payload[place] if place else payload
    if not isinstance(inside, Mapping):
        what = f"holds a {type(inside).__name__}, not tensors by name"
        raise WeightsNotFound("weights", str(path), what, "save the model's state_dict()")
    where = f"its {place!r}" if place else "the file"
    if not inside:
        raise WeightsNotFound("weights", str(path), f"{where} holds no tensors at all", AGAIN)
    if wrong := [str(name) for name, value in inside.items() if not isinstance(value, Tensor)]:
        known = ", ".join(WRAPPERS)
        what = f"{where} holds values that are not tensors: {', '.join(wrong[:4])} (weights are looked for in {known})"
        raise WeightsNotFound("weights", str(path), what, "save the model's state_dict()")
    return {str(name): tensor for name, tensor in inside.items()}


def _refuse_numbers(path: Path, tensors: Mapping[str, Tensor]) -> None:
    whole = [name for name, tensor in tensors.items() if not tensor.is_floating_point()]
    if whole:
        what = f"{whole[0]} is {tensors[whole[0]].dtype}, not floating-point"
        raise WeightsNotFound("weights", str(path), what, "use weights that were not quantised")
    broken = [name for name, tensor in tensors.items() if not tensor.isfinite().all()]
    if broken:
        what = f"{len(broken)} of {len(tensors)} tensors hold NaN or infinity, the first is {broken[0]}"
        raise WeightsNotFound("weights", str(path), what, "use a checkpoint from before training diverged, or " + AGAIN)
    # a hole in a file is read as zeros; safetensors have no check sums that would tell
    empty = [name for name, t in tensors.items() if name.endswith(".weight") and t.ndim > 1 and not t.any()]
    if empty:
        what = f"{len(empty)} of {len(tensors)} tensors are zeros alone, the first is {empty[0]}"
        raise WeightsNotFound("weights", str(path), what, AGAIN)
