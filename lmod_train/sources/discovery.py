"""Find the sources that lie below a folder, by their own markers, whatever the folders are called."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import lmod_train.sources
from lmod_train.errors import BadArgument
from lmod_train.sources.base import Source
from lmod_train.sources.clutter import entries


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder that was looked through and left out, and why."""

    folder: Path
    why: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found, in order of folders, and what was skipped; no sources where nothing is recognised."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]


def source_classes() -> dict[str, type[Source]]:
    """Return every source class of this package by name, found by walking its files: a new file is a new source.

    Example:
        >>> [name for name in source_classes() if name in ("eye_diseases", "refuge")]
        ['eye_diseases', 'refuge']
    """
    found: dict[str, type[Source]] = {}
    for module in pkgutil.iter_modules(lmod_train.sources.__path__):
        loaded = import_module(f"lmod_train.sources.{module.name}")
        for _, cls in inspect.getmembers(loaded, inspect.isclass):
            if issubclass(cls, Source) and not inspect.isabstract(cls) and cls.__module__ == loaded.__name__:
                found[cls.name] = cls
    return dict(sorted(found.items()))


def discover(raw: Path, depth: int = 4, wanted: Sequence[Source] | None = None) -> Discovery:
    """Return the sources in `raw` or below it; a folder that is one is not searched further.

    Args:
        raw: Folder to search.
        depth: Levels below `raw` to look at, from 0.
        wanted: Sources with their options, of which those found are returned in their place; None looks for every
            class of this package with its defaults.

    Raises:
        BadArgument: `raw` is not a folder or `depth` is negative.
    """
    raw = Path(raw)
    if not raw.is_dir():
        raise BadArgument("raw", str(raw), "an existing folder", "`python -m lmod_train phantom --out RAW` draws one")
    if depth < 0:
        raise BadArgument("depth", depth, "0 or more levels", "leave it out for 4")
    sources: dict[str, Source] = {}
    skipped: list[Skipped] = []
    known = {s.name: s for s in wanted} if wanted is not None else {n: c() for n, c in source_classes().items()}
    others = {name: cls() for name, cls in source_classes().items() if name not in known}
    _search(raw, depth, known | others, sources, skipped)
    unasked = sorted(others.keys() & sources.keys())
    skipped += [Skipped(sources.pop(n).root, f"{n}, which is not among the sources asked for") for n in unasked]
    return Discovery(tuple(sources.values()), tuple(skipped))


def _search(
    folder: Path, depth: int, known: dict[str, Source], sources: dict[str, Source], skipped: list[Skipped]
) -> bool:
    """Search one branch, adding to `sources` and `skipped`; return whether anything in it was recognised."""
    if (folder / "manifest.json").is_file() and (folder / "records").is_dir():
        skipped.append(Skipped(folder, "a curated folder, not a raw one"))  # its images lie in folders of classes too
        return True  # already told
    try:
        name = next((name for name, source in known.items() if source.found_in(folder)), None)
        below = [p for p in entries(folder) if p.is_dir()] if name is None and depth > 0 else []
    except PermissionError as error:
        skipped.append(Skipped(folder, f"cannot be read: {error.strerror}"))
        return True  # already told
    if name in sources:
        skipped.append(Skipped(folder, f"another copy of {name}, which is read from {sources[name].root}"))
        return True
    if name is not None:
        sources[name] = known[name].at(folder)
        return True
    told: list[Skipped] = []
    recognised = [_search(p, depth - 1, known, sources, told) for p in below]
    if any(recognised):
        skipped += told
    else:
        skipped.append(Skipped(folder, "no known source recognised in it"))  # one line a branch, not one a folder
    return any(recognised)
