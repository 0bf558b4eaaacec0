"""Checksums of a checkpoint folder: that every shard is complete, undamaged, and of this checkpoint.

PyTorch writes a CRC-32 of everything in a ``.pt`` file and in each piece of a ``.distcp`` file, but never compares it.
`SUMS` holds hashes of the directories of these files, which hold the checksums, and of the small files that have none.
It is written without reading the shards, and binds them to one another: a shard of another checkpoint is found too.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import write_text
from lmod_train.core.raw import read_json
from lmod_train.core.zipped import damage_in, directory
from lmod_train.models.strategies.vetting import UntrustedCheckpoint, storage

SUMS = "sums.json"
"""File of a checkpoint folder: name of each other file -> hash of all that has no checksum in it."""


def write_sums(folder: Path) -> None:
    """Write `SUMS` of a complete folder."""
    sums = {name: _sum(parts()) for name, parts in _files(folder)}
    write_text(folder / SUMS, json.dumps(sums, indent=1))


def damage_of(folder: Path) -> str:
    """Return what is wrong with a checkpoint folder; empty if every file is complete and the one that was written."""
    try:
        stated = dict(read_json(folder / SUMS))
    except (OSError, ValueError, TypeError):
        return f"{SUMS} is missing or damaged"
    for name, parts in _files(folder):
        if _sum(parts()) != stated.pop(name, ""):
            return f"{name} is truncated, damaged, or of another checkpoint"
        if lost := next(filter(None, (damage_in(p) for p in parts() if zipfile.is_zipfile(p))), ""):
            return f"{name}: {lost}"
    return f"{next(iter(stated))} is missing" if stated else ""


def _files(folder: Path) -> Iterator[tuple[str, Callable[[], Iterator[IO[bytes]]]]]:
    """Yield name and parts of each file, those of FSDP2 last: the file that lists their pieces is then checked."""
    files = (f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file() and f.name != SUMS)
    pieces: dict[str, list[tuple[int, int]]] | None = None
    for name in sorted(files, key=lambda name: (name.endswith(".distcp"), name)):
        if name.endswith(".distcp") and pieces is None:
            pieces = _pieces(folder)
        yield name, partial(_parts, folder / name, (pieces or {}).get(name, []))


def _sum(parts: Iterator[IO[bytes]]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(directory(part))
    return digest.hexdigest()


def _parts(file: Path, pieces: list[tuple[int, int]]) -> Iterator[IO[bytes]]:
    """Yield the pieces of a file, or the file itself if it has none."""
    with file.open("rb") as stream:
        if not pieces:
            yield stream
        for offset, length in sorted(pieces):
            stream.seek(offset)
            yield io.BytesIO(stream.read(length))


def _pieces(folder: Path) -> dict[str, list[tuple[int, int]]]:
    """Return file name -> offset and length of its pieces, of an FSDP2 checkpoint; empty if they cannot be read."""
    found: dict[str, list[tuple[int, int]]] = {}
    with suppress(ArtifactError, UntrustedCheckpoint):  # the file that lists them then has another hash, or is refused
        for _, info in storage(folder):
            found.setdefault(info.relative_path, []).append((info.offset, info.length))
    return found
