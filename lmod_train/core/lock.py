"""Locks of run folders and curated folders, so that only one process writes to a folder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument, FolderBusy
from lmod_train.core.files import clear_parts, flush, make_folder, naming, open_own, part_of, remove
from lmod_train.core.links import refuse_links, rooted
from lmod_train.core.raw import read_json

NAME = ".lock"
"""File in the folder that is locked and describes its holder. A killed process leaves the file, but not the lock."""

SILENT = 2.0
"""Seconds after which a process that waits for another prints so."""

RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""Variables set by launchers, which are 0 or not set in the first process of a run on several devices."""

_BUSY = (errno.EAGAIN, errno.EACCES)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)

_held: dict[Path, int] = {}
"""Folder -> file descriptor of its lock, for locks held by this process alone."""

_shared: list[int] = []
"""File descriptors of the locks that this process shares with others."""


@contextmanager
def locked(folder: Path, option: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder in the block; a missing folder is created, and removed if it stays empty.

    The lock is one of the kernel (``flock``, which NFS forwards to its server), and freed if the process is killed. The
    first process of a run on several devices holds it for all of them. Nested blocks of one process share the lock. In
    the block no write follows a link inside the folder (`lmod_train.core.links`).

    Args:
        folder: The folder to write to.
        option: Option that names the folder on the command line, e.g. ``--run``.
        wait: Seconds to wait for another process that holds it.

    Raises:
        FolderBusy: Another process holds the lock, and still does after `wait` seconds.
        LinkInFolder: The file of the lock is a link, or the folder is one inside another that is written to.
        BadArgument: `folder` is a file.
    """
    refuse_links(folder)
    place = folder.resolve()
    with rooted(folder):
        if place in _held or not is_first():
            yield
            return
        with _sole(place, folder, option, wait):
            yield


@contextmanager
def _sole(place: Path, folder: Path, option: str, wait: float) -> Iterator[None]:
    """Hold the lock of the folder at `place` in the block, as its only holder."""
    made = _made(place, folder, option)
    try:
        _held[place] = _acquire_within(wait, place / NAME, folder, option, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if _is(_held[place], place / NAME):  # a new folder may have taken the place of the locked one
                (place / NAME).unlink(missing_ok=True)  # before closing, so that no process locks a removed file
            os.close(_held.pop(place))
    finally:
        if made:
            with suppress(OSError):  # not empty
                place.rmdir()


@contextmanager
def shared(folder: Path, option: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder in the block, together with other processes that share it, as `locked` does alone.

    Args:
        folder: The folder to write to; created if it is missing.
        option: Option that names the folder on the command line, e.g. ``--run``.
        wait: Seconds to wait for a process that holds the lock alone.

    Raises:
        FolderBusy: Another process holds the lock alone, and still does after `wait` seconds.
        BadArgument: `folder` is a file.
    """
    if not is_first():
        yield
        return
    refuse_links(folder)
    place = folder.resolve()
    with rooted(folder):
        _made(place, folder, option)
        held = _acquire_within(wait, place / NAME, folder, option, fcntl.LOCK_SH)
        _shared.append(held)
        try:
            yield
        finally:
            os.close(held)  # the file stays, as others may hold it
            _shared.remove(held)


@contextmanager
def new_folder(folder: Path, option: str) -> Iterator[Path]:
    """Yield a temporary folder, which takes the place of a new or empty one if the block succeeds.

    `folder` is locked in the block, and stays as it is until everything is written and flushed to disk. What killed
    processes left of it is removed.

    Args:
        folder: The folder to write; a link to an empty folder is kept.
        option: Option that names it on the command line.

    Raises:
        BadArgument: `folder` is a file, or contains files.
        FolderBusy: Another process writes to it.
    """
    place = folder.resolve()
    refuse_filled(folder, option)
    with locked(folder, option):
        refuse_filled(folder, option)  # another process may have written it since
        clear_parts(place)
        part = part_of(place)
        try:
            with naming(place):
                part.mkdir()
                yield part
                flush(part)
                _take_place(part, place, folder, option)
        finally:
            remove(part)


def refuse_filled(folder: Path, option: str) -> None:
    """Refuse a folder that contains files, or is a file.

    Raises:
        BadArgument: It does, or is.
    """
    if folder.exists() and not (folder.is_dir() and is_empty(folder)):
        raise BadArgument(option, str(folder), "a new or empty folder", f"name another folder with `{option} DIR`")


def _take_place(part: Path, place: Path, folder: Path, option: str) -> None:
    """Rename a folder to that of an empty, locked one; the lock moves along, as a folder only replaces an empty one."""
    with suppress(OSError):  # the file system has no hard links
        os.link(place / NAME, part / NAME)
    (place / NAME).unlink()
    try:
        part.replace(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise _busy(option, folder, place / NAME) from None  # another process locked it in between


def _made(place: Path, folder: Path, option: str) -> bool:
    """Create a folder if it is missing, and return whether it was."""
    if place.exists() and not place.is_dir():
        raise BadArgument(option, str(folder), "a folder; this is a file", f"name another path: `{option} DIR`")
    made = not place.exists()
    make_folder(place)
    return made


def is_first() -> bool:
    """Return whether this process is the first of a run on several devices, or the only one."""
    return all(os.environ.get(name, "0") in ("", "0") for name in RANKS)


def is_empty(folder: Path) -> bool:
    """Return whether a folder contains no files except its lock."""
    return all(entry.name == NAME for entry in folder.iterdir())


def _acquire_within(wait: float, path: Path, folder: Path, option: str, kind: int) -> int:
    """Return what `_acquire` does, as soon as the lock is free within `wait` seconds; a longer wait is printed."""
    start, announced = time.monotonic(), False
    while True:
        try:
            return _acquire(path, folder, option, kind)
        except FolderBusy as error:
            waited = time.monotonic() - start
            if waited >= wait:
                raise
            if waited >= SILENT and not announced:
                sys.stderr.write(f"{str(error).splitlines()[0]} Waiting up to {wait:.0f} s for it.\n")
                announced = True
            time.sleep(0.2)


def _acquire(path: Path, folder: Path, option: str, kind: int) -> int:
    """Return the descriptor of the open, locked file; `kind` is that of ``flock``, exclusive or shared."""
    while True:
        try:
            file = open_own(path, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:  # its previous holder has removed the empty folder
            make_folder(path.parent)
            continue
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                os.close(file)
                raise _busy(option, folder, path) from None
            if error.errno not in _NO_LOCKS:
                os.close(file)
                raise
            warnings.warn(
                f"{folder}: its file system has no locks; make sure that only one process writes to it", stacklevel=3
            )
        if _is(file, path):
            _sign(file)
            return file
        os.close(file)  # its previous holder removed it between opening and locking


def _is(file: int, path: Path) -> bool:
    """Return whether an open file still exists at this path."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    """Write the holder of the lock to its file."""
    command = shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]])
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": command}
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps(holder).encode(), 0)
    os.fsync(file)


def _busy(option: str, folder: Path, path: Path) -> FolderBusy:
    """Return the error for a lock that is held; it says when the lock may be removed."""
    holder = _holder(path)
    unless = ""
    if holder and holder.get("host") != socket.gethostname():
        unless = "if that machine is off or out of reach"
    elif holder and not _runs(holder.get("pid")):
        unless = "that process is not found here; if none of its workers, or of another container, writes to the folder"
    return FolderBusy(option, folder, holder, unless)


def _runs(process: object) -> bool:
    try:
        os.kill(int(str(process)), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # of another user
        pass
    return True


def _holder(path: Path) -> Mapping[str, Any]:
    """Return the holder of a lock from its file, empty if it has not been written yet."""
    try:
        holder = read_json(path)
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _let_go() -> None:
    """Close the locks in a forked child, so that a worker does not hold them after its parent has ended."""
    while _held:
        os.close(_held.popitem()[1])
    while _shared:
        os.close(_shared.pop())


os.register_at_fork(after_in_child=_let_go)
