"""Search for the folder of a dataset below the folder that the user named; archives often unpack into nested ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lmod_train.data.sources.clutter import entries


def marked_folder(root: Path, is_marked: Callable[[Path], bool], levels: int = 3) -> Path | None:
    """Return `root` or the nearest folder below it that contains the dataset; None if there is none.

    The search is breadth-first, in order of names. Links to folders are followed, as the depth is limited.

    Args:
        root: Folder to start from; it may be missing.
        is_marked: Function that returns whether a folder is that of the dataset.
        levels: Number of levels below `root` to search, from 0.

    Example:
        >>> marked_folder(Path("nowhere"), lambda folder: True, levels=0) is None
        True
    """
    level = [root] if root.is_dir() else []
    for _ in range(levels + 1):
        found = next((folder for folder in level if is_marked(folder)), None)
        if found is not None:
            return found
        level = [below for folder in level for below in entries(folder) if below.is_dir()]
    return None
