"""Identity of weights: the SHA-256 of a file, whose tensors are checked for impossible values in the same pass."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.files import content_sha256, remembered, sha256_of, write_text
from lmod_train.core.raw import parse_json, read_json

AT_ONCE = 1 << 22
"""Bytes per read, a multiple of the size of every type."""
SUMS = "SHA256SUMS"
"""File with the hashes of the files in its folder, as `sha256sum --check` reads it."""
HUGE = 1e15
"""Absolute value above which a matrix is damaged: a product of two such values nearly leaves the range of float32."""
MOST_HEADER = 100 * 2**20
"""Maximum bytes of a header, as in the safetensors library."""

_FLOAT32 = struct.unpack("<I", struct.pack("<f", HUGE))[0]
TYPES = {
    "F64": ("<u8", 0x7FF0 << 48, struct.unpack("<Q", struct.pack("<d", HUGE))[0]),
    "F32": ("<u4", 0x7F80 << 16, _FLOAT32),
    "BF16": ("<u2", 0x7F80, _FLOAT32 >> 16),
    "F16": ("<u2", 0x7C00, 0x7C00),
}
"""Types of weights in safetensors files: type of their bits, and bits of infinity and of `HUGE`. Without their sign,
bits are in the order of the absolute values, with NaN above infinity."""


def known_by(weights: Path | str) -> str:
    """Return the SHA-256 of a file's or folder's content; of a remote model, its name.

    Raises:
        WeightsNotFound: A tensor of a safetensors file holds NaN or infinity, or a matrix values above `HUGE`; or the
            file was changed, see `refuse_changed`.
    """
    if not (isinstance(weights, Path) and weights.exists()):
        return str(weights)
    if weights.suffix != ".safetensors":
        digest = content_sha256(weights)
        refuse_changed(weights, digest)
        return digest
    found = _remembered(weights)
    refuse_changed(weights, found["sha256"])
    if wrong := found["wrong"]:
        what = (
            f"{len(wrong)} of {found['tensors']} tensors hold NaN, infinity or values above {HUGE:g}, e.g. {wrong[0]}"
        )
        cure = (
            "fetch the file again and compare its sha256 with that at its origin; or use weights from before training "
        )
        raise WeightsNotFound("weights", str(weights), what, cure + "diverged")
    return str(found["sha256"])


def write_sha256sums(folder: Path) -> None:
    """Write `SUMS` of the safetensors files of a folder, whose format has no checksums."""
    lines = [f"{sha256_of(file)}  {file.name}\n" for file in sorted(folder.glob("*.safetensors"))]
    write_text(folder / SUMS, "".join(lines))


def refuse_changed(file: Path, sha256: str | None = None) -> None:
    """Refuse a file for which `SUMS` in its folder states another hash.

    Args:
        file: The file; one that `SUMS` does not list is not refused.
        sha256: Its SHA-256; None to compute it where it is needed.

    Raises:
        WeightsNotFound: The hashes differ.
    """
    listed = file.parent / SUMS
    text = listed.read_text(encoding="utf-8", errors="replace") if listed.is_file() else ""
    stated = re.search(rf"^([0-9a-fA-F]{{64}}) [ *]{re.escape(file.name)}$", text, re.M)
    if stated and stated[1].lower() != (sha256 or sha256_of(file)):
        what = f"damaged or changed: its SHA-256 is not the one that {listed} states"
        cure = f"copy it from an undamaged copy, or make it again; remove {listed} if you changed the file yourself"
        raise WeightsNotFound("weights", str(file), what, cure)


def zero_matrices(weights: Path | str) -> list[str]:
    """Return the names of weight matrices of a safetensors file that contain only zeros, as holes of a file do."""
    is_file = isinstance(weights, Path) and weights.suffix == ".safetensors" and weights.is_file()
    return list(_remembered(Path(weights))["zero"]) if is_file else []


def _remembered(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = remembered(file, "tensors", _read_through)
    return found


def _read_through(path: Path) -> dict[str, Any]:
    """Return SHA-256 and number of tensors of a safetensors file, and the names of wrong ones and of zero matrices."""
    digest, wrong, zero = hashlib.sha256(), [], []
    with path.open("rb") as stream:
        start, entries = tensors_of(stream)
        digest.update(start)
        for name, about in entries:
            kind, infinite, huge = TYPES.get(about["dtype"], ("", 0, 0))
            begin, end = (len(start) + offset for offset in about["data_offsets"])
            _feed(stream, begin - stream.tell(), digest.update)
            largest = _largest(stream, end - begin, kind, digest.update)
            is_matrix = name.endswith("weight") and len(about["shape"]) > 1 and math.prod(about["shape"]) > 0
            if kind and (largest >= infinite or (is_matrix and largest > huge)):
                wrong.append(name)
            elif kind and is_matrix and not largest:
                zero.append(name)
        _feed(stream, path.stat().st_size - stream.tell(), digest.update)
    return {"sha256": digest.hexdigest(), "tensors": len(entries), "wrong": wrong, "zero": zero}


def checkpoint_json(file: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a checkpoint holds; that of an index names the file of each tensor.

    Raises:
        WeightsNotFound: It holds another value or is damaged, or see `read_json`.
    """
    try:
        read = read_json(file)
        if not isinstance(read, dict):
            raise ValueError("it holds no object")
        places = read.get("weight_map", None if file.name.endswith(".index.json") else {})
        if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
            raise ValueError("its weight_map does not name a file a tensor")
        return read
    except (OSError, ValueError) as error:
        what = f"expected a JSON file of a checkpoint; it cannot be read ({error})"
        raise WeightsNotFound("weights", str(file), what, "copy the checkpoint again, whole") from error


def tensors_of(stream: IO[bytes]) -> tuple[bytes, list[tuple[str, dict[str, Any]]]]:
    """Return the start of a safetensors file up to its first tensor, and each one's name and description in its order.

    There are no tensors of a header that cannot be read.
    """
    start = stream.read(8)
    header = stream.read(min(int.from_bytes(start, "little"), MOST_HEADER))
    try:
        listed = parse_json(header.decode())
        named = [(name, about) for name, about in listed.items() if name != "__metadata__"]
        for _, about in named:
            begin, end = about["data_offsets"]
            sizes = (begin, end, *about["shape"])
            if not (isinstance(about["dtype"], str) and all(isinstance(n, int) and 0 <= n < 2**63 for n in sizes)):
                raise TypeError("a tensor without a type, or of no size")
        return start + header, sorted(named, key=lambda item: item[1]["data_offsets"])
    except (ValueError, AttributeError, KeyError, TypeError):
        return start + header, []


def _feed(stream: IO[bytes], length: int, update: Callable[[bytes], None]) -> None:
    while length > 0 and (piece := stream.read(min(length, AT_ONCE))):
        update(piece)
        length -= len(piece)


def _largest(stream: IO[bytes], length: int, kind: str, update: Callable[[bytes], None]) -> int:
    """Hash a tensor and return the bits of its largest absolute value; 0 for other types than weights."""
    if not kind:
        _feed(stream, length, update)
        return 0
    size, largest = int(kind[-1]), 0
    while length > 0 and (piece := stream.read(min(length, AT_ONCE))):
        update(piece)
        length -= len(piece)
        bits = np.frombuffer(piece[: len(piece) // size * size], kind)
        largest = max(largest, int((bits & ((1 << (8 * size - 1)) - 1)).max(initial=0)))
    return largest
