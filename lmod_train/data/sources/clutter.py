"""Listing of folders without the files that archives and desktops leave behind, which are never data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.data.sources.spelling import composed

_NAMES = {"__macosx", "thumbs.db", "desktop.ini", "index.html", NOTE}
_PIXELS = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".npz", ".mat"}
_TABLES = {".csv", ".xlsx", ".xls", ".json", ".yaml", ".yml", ".txt"}


def is_clutter(path: Path) -> bool:
    """Return whether a file or folder is no data: hidden, ``__MACOSX``, ``Thumbs.db``, ``*:Zone.Identifier``, ...

    Example:
        >>> is_clutter(Path("a/._x.jpg")), is_clutter(Path("x.jpg:Zone.Identifier")), is_clutter(Path("x.jpg"))
        (True, True, False)
    """
    name = path.name.casefold()
    return name in _NAMES or name.startswith(".") or name.endswith("zone.identifier")


def entries(folder: Path) -> list[Path]:
    """Return the files and folders of a folder without clutter, sorted by name; [] if it is no folder."""
    return sorted(p for p in folder.iterdir() if not is_clutter(p)) if folder.is_dir() else []


def in_any_form(root: Path, name: str) -> Path:
    """Return the path of a name below a folder, as its parts are stored there: composed (NFC) or decomposed (NFD).

    A name that does not exist in either form is returned as it is.
    """
    path = root / name
    if name.isascii() or path.exists():
        return path
    here = root
    for part in Path(name).parts:
        here /= part if (here / part).exists() else _stored(here).get(composed(part), part)
    return here if here.exists() else path


def _stored(folder: Path) -> Mapping[str, str]:
    """Return composed name -> name as stored of what is in a folder; {} if it is none."""
    return _listed(str(folder), folder.stat().st_mtime_ns) if folder.is_dir() else {}


@lru_cache(maxsize=64)
def _listed(folder: str, changed: int) -> Mapping[str, str]:
    """Return the names in a folder; `changed` is its time of change, so that a changed folder is read anew."""
    return {composed(name): name for name in (p.name for p in Path(folder).iterdir())}


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; one with the suffix of an image counts as a damaged file.

    A folder with the suffix of a table counts as a folder if it is not empty: some programs unpack ``labels.csv`` into
    a folder of this name.
    """
    kind = path.suffix.casefold()
    return kind not in _PIXELS and path.is_dir() and (kind not in _TABLES or bool(entries(path)))


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file at any depth without clutter, files of a folder before its subfolders, sorted by name."""
    inside = entries(folder)
    yield from (p for p in inside if not is_folder(p))
    for sub in inside:
        if is_folder(sub) and not sub.is_symlink():  # a link may point to a folder above
            yield from files_below(sub)


def folders_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield a folder and the folders below it, level by level, in order of names; links to folders are not followed."""
    level = [folder]
    for _ in range(depth + 1):
        yield from level
        level = [p for f in level for p in entries(f) if p.is_dir() and not p.is_symlink()]
