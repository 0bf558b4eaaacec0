"""Write tensors to safetensors files of limited size, with one file in memory at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

SHARD = 4 * 2**30
"""Maximum size of a file in bytes; a larger single tensor gets a file of its own."""


def write_shards(tensors: Iterable[tuple[str, Tensor]], folder: Path, limit: int = SHARD) -> None:
    """Write tensors in the given order, with an index if there is more than one file.

    Args:
        tensors: Pairs of name and tensor; read while they are written.
        folder: Existing folder to write to.
        limit: Maximum size of a file in bytes.
    """
    written: list[tuple[Path, list[str]]] = []
    total = 0
    for batch in _batches(tensors, limit):
        file = folder / f"{len(written)}.part.safetensors"
        save_file(batch, file, metadata={"format": "pt"})
        written.append((file, list(batch)))
        total += sum(map(_size, batch.values()))
        batch.clear()  # before the next file's tensors are read
    places: dict[str, str] = {}
    for i, (file, names) in enumerate(written, 1):
        one = "model.safetensors"
        name = one if len(written) == 1 else f"model-{i:05d}-of-{len(written):05d}.safetensors"
        file.rename(folder / name)
        places |= dict.fromkeys(names, name)
    if len(written) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")


def _batches(tensors: Iterable[tuple[str, Tensor]], limit: int) -> Iterator[dict[str, Tensor]]:
    batch: dict[str, Tensor] = {}
    for name, tensor in tensors:
        if batch and sum(map(_size, batch.values())) + _size(tensor) > limit:
            yield batch
            batch = {}
        batch[name] = tensor.contiguous()
    if batch:
        yield batch


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
