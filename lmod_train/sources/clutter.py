"""Files that archives and desktops leave behind: never data, never worth a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmod_train.vocabulary.phantoms import NOTE

_NAMES = {"__macosx", "thumbs.db", "desktop.ini", "index.html", NOTE}
_PIXELS = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".npz", ".mat"}
_TABLES = {".csv", ".xlsx", ".xls", ".json", ".yaml", ".yml", ".txt"}


def is_clutter(path: Path) -> bool:
    """Return whether a file or folder is left over: hidden, ``__MACOSX``, ``Thumbs.db``, ``*:Zone.Identifier``, ...

    Example:
        >>> is_clutter(Path("a/._x.jpg")), is_clutter(Path("x.jpg:Zone.Identifier")), is_clutter(Path("x.jpg"))
        (True, True, False)
    """
    name = path.name.casefold()
    return name in _NAMES or name.startswith(".") or name.endswith("zone.identifier")


def entries(folder: Path) -> list[Path]:
    """Return what lies directly in a folder, clutter left out, in order of names; empty for no folder."""
    return sorted(p for p in folder.iterdir() if not is_clutter(p)) if folder.is_dir() else []


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; one with the ending of an image or table is not: a file went wrong there.

    A table's folder with something in it is one: some programs unpack ``labels.csv`` into a folder of its name.
    """
    kind = path.suffix.casefold()
    return kind not in _PIXELS and path.is_dir() and (kind not in _TABLES or bool(entries(path)))


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file at any depth, clutter left out, files of a folder before its subfolders, in order of names."""
    inside = entries(folder)
    yield from (p for p in inside if not is_folder(p))
    for sub in inside:
        if is_folder(sub) and not sub.is_symlink():  # a link may lead in a circle
            yield from files_below(sub)
