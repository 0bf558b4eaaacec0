"""Symbolic links in folders that may come from someone else: no write follows one, and no reading leaves unasked.

The folder that the user named, and what lies above it, may be links: the user made them. What lies below it is checked:
before each write (`refuse_links`), before an image of a curated folder is read (`check_link`), and before raw data are
(`check_links_below`); the user may allow links in what is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmod_train.core.errors import LeavesFolder, LinkInFolder

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


def check_link(root: Path, path: Path) -> None:
    """Check that a path below a folder lies in it when all links are followed; `root` may be a link itself.

    Raises:
        LeavesFolder: It does not, and links are not allowed (`links_followed`).
    """
    if os.environ.get(FOLLOW) == "1":
        return
    try:
        target = path.resolve()
    except RuntimeError:  # a link to itself leads nowhere
        return
    if not target.is_relative_to(root.resolve()):
        raise LeavesFolder(path, f"a link leads out of the folder {root}, to {target}", link=True)


def check_links_below(folder: Path) -> None:
    """Check every link below a folder, at any depth, as `check_link` does; hidden ones too, in the order of names.

    Raises:
        LeavesFolder: One leads out of the folder, and links are not allowed.
    """
    if os.environ.get(FOLLOW) == "1":
        return
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted((*folders, *files)):
            if (path := Path(place, name)).is_symlink():
                check_link(folder, path)
