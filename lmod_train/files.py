"""Files as bytes: written whole or not at all, and known by their content."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

STALE = 24 * 3600.0
"""Seconds after which a file that is still being written is taken for a killed process's."""

LARGE = 64 * 2**20
"""Bytes from which the hash of a file is remembered; smaller ones are read again in less than a tenth of a second."""

SETTLED = 2.0
"""Seconds since its last change after which a file is remembered: a clock may be too coarse to tell two changes."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let what the system refuses in the block name the file: a full disk, for one, does not say which it was."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` for a file or folder, which appears under `path` only when the block succeeds.

    A killed process leaves nothing half-written under `path`. For what can be made again; `write_durably` survives a
    power failure too. A folder takes the place of an empty one only.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with naming(path):
            yield part
            part.replace(path)
    finally:
        remove(part)


@contextmanager
def write_durably(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` as `write_beside` does, and wait until all is on the disk before it is renamed."""
    with write_beside(path) as part:
        yield part
        flush(part)


def flush(written: Path) -> None:
    """Wait until a file, or every file of a folder, is on the disk."""
    for file in sorted(written.rglob("*")) if written.is_dir() else [written]:
        if file.is_file():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
    flush_names(written if written.is_dir() else written.parent)


def flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; some file systems know no such thing."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one; of a link the link alone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def clear_parts(path: Path) -> None:
    """Remove what killed processes have left half-written of `path`; for whoever alone may write there."""
    sweep(path.parent, f".{glob.escape(path.name)}.*.part", older=0)


def sweep(folder: Path, pattern: str = ".*.part", older: float = STALE) -> None:
    """Remove what killed processes have left half-written below a folder.

    Args:
        folder: Where to look.
        pattern: Of the names, as `Path.glob` takes it.
        older: Seconds since the last change; what is younger may be another process's, which is still writing.
    """
    for left in folder.glob(pattern):
        with suppress(FileNotFoundError):  # another process has just finished it, or swept
            if time.time() - left.stat().st_mtime >= older:
                remove(left)


def write_through(file: TextIO, text: str) -> None:
    """Write to an open file and wait until it is on the disk.

    Raises:
        OSError: The disk refuses, e.g. as it is full; the error names the file.
    """
    with naming(Path(file.name)):
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sha256_of(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; a large one that has not changed is not read again.

    A file is taken for unchanged where place, size, inode and the times of its last change (of content, and of the
    entry, which no program can set back) are as they were. What is known lies in the user's cache folder.
    """
    if path.stat().st_size < LARGE:
        return sha256_of(path)
    place, state, known = str(path.resolve()), _state(path), _known()
    if known.get(place, [None])[:-1] == state:
        return str(known[place][-1])
    digest = sha256_of(path)
    if time.time() - max(state[2:]) / 1e9 > SETTLED and _state(path) == state:
        _remember(known | {place: [*state, digest]})
    return digest


def _state(path: Path) -> list[int]:
    """Return size, inode and the times of the last change, in nanoseconds; not that of the last reading."""
    about = path.stat()
    return [about.st_size, about.st_ino, about.st_mtime_ns, about.st_ctime_ns]


def content_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; of a folder, that of the names and hashes of all files in it.

    Raises:
        FileNotFoundError: There is neither.
    """
    if not path.is_dir():
        return remembered_sha256(path)
    files = sorted((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
    listed = [f"{remembered_sha256(file)}  {name}" for name, file in files]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def known_by(weights: Path | str) -> str:
    """Return the SHA-256 of a file's or folder's content; what is not on this machine is known by its name."""
    return content_sha256(weights) if isinstance(weights, Path) and weights.exists() else str(weights)


def _memory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lmod_train" / "sha256.json"


def _known() -> dict[str, list[object]]:
    try:
        known = json.loads(_memory().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # none yet, damaged, or no home
        return {}
    return {k: v for k, v in known.items() if isinstance(v, list)} if isinstance(known, dict) else {}


def _remember(known: dict[str, list[object]]) -> None:
    """Write what is known; a home that cannot be written to costs time, and nothing else."""
    with suppress(OSError, RuntimeError), write_durably(_memory()) as beside:
        beside.write_text(json.dumps(known), encoding="utf-8")
