"""The ways in which this package writes and removes files, and hashes of their content.

No function here follows a link inside a folder that is written to, see `lmod_train.core.links`.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from lmod_train.core.links import refuse_links, refuse_special
from lmod_train.core.raw import read_json

STALE = 24 * 3600.0
"""Seconds after which an unfinished file is considered to be of a killed process."""

LARGE = 64 * 2**20
"""Bytes from which the hash of a file is cached; smaller ones are hashed in less than a tenth of a second."""

SETTLED = 2.0
"""Seconds since its last change before a hash is cached, as the resolution of file times may be too coarse."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to system errors in the block that lack it, e.g. that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary name for a file or folder, which is renamed to `path` if the block succeeds.

    A killed process leaves no incomplete file at `path`. To be safe against power failures too, use `write_durably`. A
    folder can only replace an empty one. A link at `path` is replaced, and what it points to is not changed.

    Raises:
        LinkInFolder: A folder above `path` is a link inside a folder that is written to.
    """
    with write_apart(path) as part:
        yield part
        part.replace(path)


@contextmanager
def write_apart(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside a file or folder, and remove what the block leaves there.

    Raises:
        LinkInFolder: A folder above `path` is a link inside a folder that is written to.
    """
    make_folder(path.parent)
    part = part_of(path)
    try:
        with naming(path):
            yield part
    finally:
        remove(part)


def part_of(path: Path) -> Path:
    """Return a new temporary name beside a file or folder, which `clear_parts` recognises."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 as `write_beside` does."""
    with write_beside(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def write_durably(path: Path) -> Iterator[Path]:
    """Yield a temporary name as `write_beside` does, and flush the content to disk before it is renamed."""
    with write_beside(path) as part:
        yield part
        flush(part)


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary name of a folder as `write_durably` does; it replaces `path` with all that this contains."""
    with write_durably(path) as part:
        yield part
        remove(path)


def make_folder(path: Path) -> None:
    """Create a folder and the missing ones above it.

    Raises:
        LinkInFolder: It is a link inside a folder that is written to, or lies behind one.
    """
    refuse_links(path)
    path.mkdir(parents=True, exist_ok=True)


def append_to(path: Path, newline: str | None = None, errors: str | None = None) -> TextIO:
    """Open a text file to append to, which is created with its folder if it is missing.

    Raises:
        LinkInFolder: It is a link inside a folder that is written to, or lies behind one.
        OSError: It is a link.
    """
    make_folder(path.parent)
    return open(path, "a", encoding="utf-8", newline=newline, errors=errors, opener=_open)


def write_in_place(path: Path) -> BinaryIO:
    """Open a file to write over its bytes, which are not cut off first; it is created if it is missing.

    Raises:
        LinkInFolder: It is a link inside a folder that is written to, or lies behind one.
        FileNotFoundError: Its folder does not exist.
    """
    return open(path, "wb", opener=lambda name, flags: _open(name, flags & ~os.O_TRUNC))


def open_own(path: Path, flags: int) -> int:
    """Return the descriptor of an open file that is no link, as `os.open` does.

    Raises:
        LinkInFolder: It is a link inside a folder that is written to, or lies behind one.
        NoFile: It is a pipe, socket or device, which opening could wait for.
        OSError: It is another link.
    """
    refuse_links(path)
    if not path.is_symlink():
        refuse_special(path)
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _open(name: str, flags: int) -> int:
    return open_own(Path(name), flags)


def cut(path: Path, size: int) -> None:
    """Cut off the end of a file.

    Raises:
        LinkInFolder: It is a link inside a folder that is written to, or lies behind one.
    """
    file = open_own(path, os.O_WRONLY)
    try:
        os.ftruncate(file, size)
    finally:
        os.close(file)


def move(path: Path, to: Path) -> None:
    """Rename a file or folder; a link is renamed itself.

    Raises:
        LinkInFolder: A folder above one of the two is a link inside a folder that is written to.
    """
    refuse_links(path.parent)
    refuse_links(to.parent)
    path.rename(to)


def link_or_copy(file: Path, to: Path) -> None:
    """Link a file under a second name (a hard link), or copy it where that is not possible; replaces `to`.

    Raises:
        LinkInFolder: The folder of `to` is a link inside a folder that is written to, or lies behind one.
    """
    with write_beside(to) as part:
        try:
            os.link(file, part)
        except OSError:
            shutil.copyfile(file, part)


def flush(written: Path) -> None:
    """Flush a file, or every file of a folder, to disk."""
    for file in sorted(written.rglob("*")) if written.is_dir() else [written]:
        if file.is_file():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
    flush_names(written if written.is_dir() else written.parent)


def flush_names(folder: Path) -> None:
    """Flush the entries of a folder to disk, where the file system supports it."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def remove(path: Path) -> None:
    """Remove a file or folder if it exists; of a link only the link.

    Raises:
        LinkInFolder: A folder above it is a link inside a folder that is written to.
    """
    refuse_links(path.parent)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder if it exists and is empty.

    Raises:
        LinkInFolder: A folder above it is a link inside a folder that is written to.
    """
    refuse_links(folder.parent)
    with suppress(FileNotFoundError):
        try:
            folder.rmdir()
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise


def clear_parts(path: Path) -> None:
    """Remove temporary files of `path` left by killed processes; only for its sole writer."""
    sweep(path.parent, f".{glob.escape(path.name)}.*.part", older=0)


def sweep(folder: Path, pattern: str = ".*.part", older: float = STALE) -> None:
    """Remove temporary files in a folder left by killed processes.

    Args:
        folder: The folder.
        pattern: Glob pattern of the names.
        older: Minimum seconds since the last change, as another process may still be writing newer files.

    Raises:
        LinkInFolder: There are some, and the folder is a link inside a folder that is written to, or lies behind one.
    """
    for left in folder.glob(pattern):
        with suppress(FileNotFoundError):  # another process has finished or removed it
            if time.time() - left.lstat().st_mtime >= older:
                remove(left)


def write_through(file: TextIO, text: str) -> None:
    """Write to an open file and flush it to disk.

    Raises:
        OSError: Writing failed, e.g. as the disk is full; the error names the file.
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
    """Return the SHA-256 of a file's bytes, cached for large files that have not changed, see `remembered`."""
    return str(remembered(path, "", sha256_of))


def remembered(path: Path, kind: str, read: Callable[[Path], Any]) -> Any:
    """Return what a function reads in a file, cached for large files that have not changed.

    A file is unchanged if its path, size, inode and times of the last change (of the content, and of the inode, which
    no program can set) are the same. The cache is a file in the user's cache folder.

    Args:
        path: The file.
        kind: Name of what is read; empty for the SHA-256.
        read: Function of the path; its value can be written as JSON.
    """
    if path.stat().st_size < LARGE:
        return read(path)
    place, state, known = f"{path.resolve()}{f' {kind}' if kind else ''}", state_of(path), _known()
    if known.get(place, [None])[:-1] == state:
        return known[place][-1]
    found = read(path)
    if time.time() - max(state[2:]) / 1e9 > SETTLED and state_of(path) == state:
        _remember(known | {place: [*state, found]})
    return found


def state_of(path: Path) -> list[int]:
    """Return size, inode and the times of the last change in nanoseconds."""
    about = path.stat()
    return [about.st_size, about.st_ino, about.st_mtime_ns, about.st_ctime_ns]


def content_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, or of the names and hashes of all files in a folder.

    Raises:
        FileNotFoundError: The path does not exist.
    """
    if not path.is_dir():
        return remembered_sha256(path)
    files = sorted((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
    listed = [f"{remembered_sha256(file)}  {name}" for name, file in files]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def _memory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lmod_train" / "sha256.json"


def _known() -> dict[str, list[object]]:
    try:
        known = read_json(_memory())
    except (OSError, ValueError, RuntimeError):  # no cache yet, damaged, or no home folder
        return {}
    return {k: v for k, v in known.items() if isinstance(v, list)} if isinstance(known, dict) else {}


def _remember(known: dict[str, list[object]]) -> None:
    """Write the cache; without write access, hashes are only computed again."""
    with suppress(OSError, RuntimeError), write_durably(_memory()) as beside:
        beside.write_text(json.dumps(known), encoding="utf-8")
