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
    first process of a run on several devices holds it for all of them. Nested blocks of one process share the lock.

    Args:
        folder: The folder to write to.
        option: Option that names the folder on the command line, e.g. ``--run``.
        wait: Seconds to wait for another process that holds it.

    Raises:
        FolderBusy: Another process holds the lock, and still does after `wait` seconds.
        BadArgument: `folder` is a file.
    """
    place = folder.resolve()
    if place in _held or not is_first():
        yield
        return
    made = _made(place, folder, option)
    _held[place] = _acquire_within(wait, place / NAME, folder, option, fcntl.LOCK_EX)
    try:
        yield
    finally:
        (place / NAME).unlink(missing_ok=True)  # before closing, so that no process locks a removed file
        os.close(_held.pop(place))
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
    place = folder.resolve()
    _made(place, folder, option)
    held = _acquire_within(wait, place / NAME, folder, option, fcntl.LOCK_SH)
    _shared.append(held)
    try:
        yield
    finally:
        os.close(held)  # the file stays, as others may hold it
        _shared.remove(held)


def _made(place: Path, folder: Path, option: str) -> bool:
    """Create a folder if it is missing, and return whether it was."""
    if place.exists() and not place.is_dir():
        raise BadArgument(option, str(folder), "a folder; this is a file", f"name another path: `{option} DIR`")
    made = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
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
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                os.close(file)
                raise FolderBusy(option, folder, _holder(path)) from None
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
        return os.path.samestat(os.fstat(file), path.stat())
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


def _holder(path: Path) -> Mapping[str, Any]:
    """Return the holder of a lock from its file, empty if it has not been written yet."""
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
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
