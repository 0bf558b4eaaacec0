"""Symbolic links in folders that may come from someone else: no write follows one, and no reading leaves unasked.

The folder that the user named, and what lies above it, may be links: the user made them. What lies below it is checked:
before each write (`refuse_links`), before a file is read (`check_link`), and before raw data are (`check_links_below`);
the user may allow links in what is read. Pipes, sockets and devices, which an archive can hold, are refused in the
first two cases: opening one can wait forever. In raw data they are listed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmod_train.core.errors import ArtifactError, LeavesFolder, LinkInFolder, NoFile

FOLLOW = "LMOD_FOLLOW_LINKS"
"""Environment variable that allows reading behind links: 1. Worker processes inherit it; no configuration sets it."""

_roots: list[Path] = []
"""Folders that this process writes to, each as it was named and with its links resolved; forked workers have them."""


@contextmanager
def rooted(folder: Path) -> Iterator[None]:
    """Let writes below a folder follow no link in the block; `lmod_train.core.lock` does so for what it locks."""
    own = [folder.absolute(), folder.resolve()]
    _roots.extend(own)
    try:
        yield
    finally:
        for one in own:
            _roots.remove(one)


def refuse_links(path: Path) -> None:
    """Refuse a path with a symbolic link below the outermost folder that is written to; it need not exist.

    Args:
        path: A file or folder to write, or the folder that contains it.

    Raises:
        LinkInFolder: A part of the path below such a folder is a link.
    """
    place = path.absolute()
    above = [one for one in _roots if place.is_relative_to(one)]
    if not above:
        return
    here = top = min(above, key=lambda one: len(one.parts))
    for part in place.relative_to(top).parts:
        here /= part
        if here.is_symlink():
            raise LinkInFolder(here, here.readlink(), top)


@contextmanager
def links_followed(follow: bool) -> Iterator[None]:
    """Allow reading behind links in this block, also in processes that it starts; nothing changes if not `follow`."""
    before = os.environ.get(FOLLOW)
    if follow:
        os.environ[FOLLOW] = "1"
    try:
        yield
    finally:
        if follow and before is None:
            del os.environ[FOLLOW]


def follows() -> bool:
    """Return whether the user allows reading behind links."""
    return os.environ.get(FOLLOW) == "1"


def check_link(root: Path, path: Path) -> None:
    """Check that a path below a folder is a file or folder, and lies in it when all links are followed.

    Args:
        root: The folder; it may be a link itself.
        path: A path below it, which need not exist.

    Raises:
        NoFile: It is a pipe, socket or device, or a link that leads to itself.
        LeavesFolder: It lies elsewhere, and links are not allowed (`links_followed`).
    """
    refuse_special(path)
    _check_target(root, path)


def check_file(root: Path, path: Path) -> None:
    """Check a path below a folder as `check_link` does, and that it is no folder.

    Raises:
        ArtifactError: It is one.
    """
    check_link(root, path)
    if path.is_dir():
        raise ArtifactError(path, "a folder, expected a file", f"move this folder out of {path.parent}")


def _check_target(root: Path, path: Path) -> None:
    if follows():
        return
    try:
        target = path.resolve()
    except RuntimeError:  # a link to itself leads nowhere
        return
    if not target.is_relative_to(root.resolve()):
        raise LeavesFolder(path, f"a link leads out of the folder {root}, to {target}", link=True)


def check_links_below(folder: Path) -> None:
    """Check that no link below a folder, at any depth, leads out of it; hidden ones too, in the order of names.

    Raises:
        LeavesFolder: One leads out of the folder, and links are not allowed.
    """
    if follows():
        return
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted((*folders, *files)):
            if (path := Path(place, name)).is_symlink():
                _check_target(folder, path)


def check_folder(folder: Path) -> None:
    """Check everything below a folder as `check_link` does, as all of it will be read or copied.

    A snapshot in the cache of Hugging Face, ``models--NAME/snapshots/REVISION``, may link to the ``blobs`` beside it.

    Raises:
        NoFile: See `check_link`.
        LeavesFolder: See `check_link`.
    """
    place = folder.resolve()
    blobs = place.parent.parent / "blobs" if place.parent.name == "snapshots" else None
    for path in sorted(folder.rglob("*")):
        refuse_special(path)
        if blobs is None or not path.resolve().is_relative_to(blobs):
            _check_target(folder, path)


def refuse_special(path: Path) -> None:
    """Refuse what is neither a file nor a folder; a path that does not exist is let through.

    Raises:
        NoFile: It is a pipe, socket or device, or a link that leads to itself.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NoFile(path, "a link that leads to itself") from error
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NoFile(path, "a pipe, socket or device")
