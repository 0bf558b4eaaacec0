"""Links: whether those that lead out of a folder are followed, which only the user of this process may say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmod_train.core.errors import LeavesFolder

FOLLOW = "LMOD_FOLLOW_LINKS"
"""Environment variable that allows links out of a folder: 1. Worker processes inherit it; no configuration sets it."""


@contextmanager
def links_followed(follow: bool) -> Iterator[None]:
    """Allow links out of a folder in this block, also in processes that it starts; nothing changes if not `follow`."""
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
    target = path.resolve()
    if not target.is_relative_to(root.resolve()):
        raise LeavesFolder(path, f"a link leads out of the folder {root}, to {target}", link=True)
