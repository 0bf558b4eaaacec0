"""Search for the sources below a folder, by their files and not by the names of the folders."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import lmod_train.data.sources
from lmod_train.core.errors import BadArgument
from lmod_train.core.extension import extensions, leave_out, loaded, named
from lmod_train.core.links import check_link
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.clutter import entries


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder that was searched and not used, with the reason."""

    folder: Path
    why: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """The sources that were found, in order of folders (empty for none), and the folders that were skipped."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]


def source_classes() -> dict[str, type[Source]]:
    """Return every source class of this package and of extensions by name; a new file is found without registration.

    Example:
        >>> [name for name in source_classes() if name in ("eye_diseases", "refuge")]
        ['eye_diseases', 'refuge']
    """
    ours = pkgutil.walk_packages(lmod_train.data.sources.__path__, "lmod_train.data.sources.")
    found = {cls.name: cls for module in ours for cls in _sources_in(named(module.name))}
    owners = dict.fromkeys(found, "the main path")
    for one in extensions():
        for cls in (cls for module in loaded(one.sources) for cls in _sources_in(module)):
            if (owner := owners.setdefault(cls.name, one.name)) == one.name:
                found[cls.name] = cls
            else:
                leave_out(one, "sources", cls.name, owner)
    return dict(sorted(found.items()))


def _sources_in(module: ModuleType) -> Iterator[type[Source]]:
    for _, cls in inspect.getmembers(module, inspect.isclass):
        if issubclass(cls, Source) and not inspect.isabstract(cls) and cls.__module__ == module.__name__:
            yield cls


def discover(raw: Path, depth: int = 4, wanted: Sequence[Source] | None = None) -> Discovery:
    """Return the sources in `raw` or below it; the folder of a source is not searched further.

    Args:
        raw: Folder to search.
        depth: Number of levels below `raw` to search, from 0.
        wanted: Sources to look for, with their options; None looks for every class of this package with its defaults.

    Raises:
        LeavesFolder: A link below `raw` leads to a source elsewhere, and links are not allowed.
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
    unwanted = sorted(others.keys() & sources.keys())
    skipped += [Skipped(sources.pop(n).root, f"{n}, which is not among the configured sources") for n in unwanted]
    for source in sources.values():
        check_link(raw, source.root)
    return Discovery(tuple(sources.values()), tuple(skipped))


def _search(
    folder: Path, depth: int, known: dict[str, Source], sources: dict[str, Source], skipped: list[Skipped]
) -> bool:
    """Search one branch, adding to `sources` and `skipped`; return whether anything in it was recognised."""
    if (folder / "manifest.json").is_file() and (folder / "records").is_dir():
        skipped.append(Skipped(folder, "a curated folder, not a raw one"))  # its folders may look like a source
        return True  # already in `skipped`
    try:
        name = next((name for name, source in known.items() if source.found_in(folder)), None)
        below = [p for p in entries(folder) if p.is_dir()] if name is None and depth > 0 else []
    except PermissionError as error:
        skipped.append(Skipped(folder, f"cannot be read: {error.strerror}"))
        return True  # already in `skipped`
    if name in sources:
        skipped.append(Skipped(folder, f"another copy of {name}, which is read from {sources[name].root}"))
        return True
    if name is not None:
        sources[name] = known[name].at(folder)
        return True
    skipped_below: list[Skipped] = []
    recognised = [_search(p, depth - 1, known, sources, skipped_below) for p in below]
    if any(recognised):
        skipped += skipped_below
    else:
        skipped.append(Skipped(folder, "no known source recognised in it"))  # one entry per branch, not per folder
    return any(recognised)
