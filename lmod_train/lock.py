"""One process a folder: who writes into a run or a curated folder holds its lock, and a second process is told who."""

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

from lmod_train.errors import BadArgument, FolderBusy

NAME = ".lock"
"""File in the folder that is locked; it says who holds the lock. A kill leaves the file, but not the lock."""

RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""What launchers set: all are 0, or not set, in the first process of a run on several devices."""

_BUSY = (errno.EAGAIN, errno.EACCES)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)

_held: dict[Path, int] = {}
"""Folder -> open file of its lock, of this process."""


@contextmanager
def locked(folder: Path, option: str) -> Iterator[None]:
    """Hold the lock of a folder for the block; the folder is made where it is missing, and removed if it stays empty.

    The lock is the kernel's (``flock``, which NFS passes on to its server): a process that is killed frees it. The
    first process of a run on several devices holds it for all of them. A block within a block of the same folder, in
    one process, shares the lock.

    Args:
        folder: What is written into.
        option: What names the folder on the command line, e.g. ``--run``.

    Raises:
        FolderBusy: Another process holds the lock.
        BadArgument: `folder` is a file.
    """
    place = folder.resolve()
    if place in _held or not is_first():
        yield
        return
    if place.exists() and not place.is_dir():
        raise BadArgument(option, str(folder), "a folder, and this is a file", f"name another: `{option} DIR`")
    made = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    _held[place] = _acquire(place / NAME, folder, option)
    try:
        yield
    finally:
        (place / NAME).unlink(missing_ok=True)  # before it is closed, so that nobody locks a file that is going away
        os.close(_held.pop(place))
        if made:
            with suppress(OSError):  # not empty: the block has written something
                place.rmdir()


def is_first() -> bool:
    """Return whether this process is the first of a run on several devices, or the only one."""
    return all(os.environ.get(name, "0") in ("", "0") for name in RANKS)


def is_empty(folder: Path) -> bool:
    """Return whether a folder holds nothing but its lock."""
    return all(entry.name == NAME for entry in folder.iterdir())


def _acquire(path: Path, folder: Path, option: str) -> int:
    """Return the open, locked file."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                os.close(file)
                raise FolderBusy(option, folder, _holder(path)) from None
            if error.errno not in _NO_LOCKS:
                os.close(file)
                raise
            warnings.warn(
                f"{folder}: its filesystem has no locks; see to it that one process writes there", stacklevel=3
            )
        if _is(file, path):
            _sign(file)
            return file
        os.close(file)  # who held it before has removed it between our opening and our locking it


def _is(file: int, path: Path) -> bool:
    """Return whether an open file is still the one of this path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    """Write who holds the lock."""
    command = shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]])
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": command}
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps(holder).encode(), 0)
    os.fsync(file)


def _holder(path: Path) -> Mapping[str, Any]:
    """Return what the holder has written, nothing where it has not come to that yet."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _let_go() -> None:
    """Close the locks in a forked child: a worker that outlives its parent would go on holding them."""
    while _held:
        os.close(_held.popitem()[1])


os.register_at_fork(after_in_child=_let_go)
