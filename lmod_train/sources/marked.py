"""Find the folder that really holds a dataset, below the one the user named: archives unzip into doubled folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lmod_train.sources.clutter import entries


def marked_folder(root: Path, is_marked: Callable[[Path], bool], levels: int = 3) -> Path | None:
    """Return `root` or the nearest folder below it that bears a dataset's marker, None where none does.

    Folders of one level come in order of names, and a whole level before the next. Links to folders are followed, as
    there are only few levels.

    Args:
        root: Where to begin; a folder that is not there holds nothing.
        is_marked: Whether a folder bears the marker.
        levels: How deep to look below `root`, from 0.

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
