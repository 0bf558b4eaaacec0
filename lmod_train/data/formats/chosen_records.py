"""What is exported: records of a curated folder, read as they are needed, with the licence each source came under."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lmod_train.core.artifacts.leaving import FOREIGN, open_sources, source_of
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import record_of, rows_of
from lmod_train.core.errors import BadArgument, LmodError, did_you_mean
from lmod_train.core.escaping import for_markdown
from lmod_train.core.types import Record
from lmod_train.core.vocabulary.phantoms import DRAWN
from lmod_train.tasks.trust import Trust

SPLITS = ("train", "val", "test")


_Key = tuple[str, str, str]


class NotRedistributable(LmodError):
    """A source whose licence does not let its images or labels be passed on."""

    def __init__(self, licences: Mapping[str, str], others: Sequence[str]) -> None:
        named = "; ".join(f"{source} ({licence})" for source, licence in sorted(licences.items()))
        instead = f"`--sources {','.join(others)}` exports the others only, and " if others else ""
        super().__init__(
            f"export: not to be passed on under its licence, nor the questions made of it: {named}.\n"
            f"Next: {instead}`--for_own_use` exports for this machine alone and writes a NOTICE that says so."
        )


@dataclass(frozen=True, slots=True)
class Licence:
    """What the manifest states about a source."""

    source: str
    licence: str
    redistributable: bool
    reference: str
    phantom: bool = False


@dataclass(frozen=True)
class Selection:
    """Records of a curated folder: those of some tasks, one split or all, some sources or all.

    Attributes:
        curated: The curated folder; image paths of the records are relative to it.
        counts: (task, split, source) -> number of records, nothing empty; tasks in name order.
        licences: Of every source that has a record or an image here, by name.
        progress: Show a bar while the records go by.
        trust: Whose classes may be imported where records name them.
    """

    curated: Path
    counts: Mapping[tuple[str, str, str], int]
    licences: tuple[Licence, ...]
    progress: bool = False
    trust: Trust = field(default_factory=Trust)
    _kept: frozenset[tuple[str, str, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kept", frozenset(self.counts))

    def __len__(self) -> int:
        """Number of records."""
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Record]:
        """Yield the records in the order of their files; each pass reads them anew, a few hundred at a time."""
        with tqdm(total=len(self), desc="export", unit="record", disable=not self.progress) as bar:
            for row in rows_of(self.curated / "records"):
                if (row["task"], row["split"], row["source"]) in self._kept:
                    yield record_of(row)
                    bar.update()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks that have a record here."""
        return tuple(dict.fromkeys(task for task, _, _ in self.counts))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that have a record here: train, val, test."""
        return tuple(s for s in SPLITS if s in {split for _, split, _ in self.counts})


def select(
    curated: Path,
    tasks: Sequence[str] = (),
    split: str = "all",
    sources: Sequence[str] = (),
    *,
    for_own_use: bool = False,
    progress: bool = False,
    trust: Sequence[str] = (),
) -> Selection:
    """Choose what to export, and refuse what must not be passed on.

    Args:
        curated: Folder that `curate` or `import` wrote.
        tasks: Names; empty for every task.
        split: train, val, test or all.
        sources: Names; empty for every source.
        for_own_use: Let through what must not be passed on.
        progress: Show a bar while the records go by.
        trust: Modules whose task classes may be imported.

    Raises:
        ArtifactError: The folder is not curated, or a record file is damaged.
        BadArgument: A name is unknown there, or nothing is left.
        NotRedistributable: A source must not be passed on; one that the manifest does not describe counts as such.
    """
    manifest = read_manifest(curated)
    stated = {**manifest.get("sources", {}), FOREIGN: manifest.get(FOREIGN) or {}}
    everything, shown = _counted(curated)
    for option, named, place in (("--tasks", tasks, 0), ("--sources", sources, 2)):
        known = sorted({key[place] for key in everything})
        unknown = sorted(set(named) - set(known))
        if unknown:
            cure = did_you_mean(option, unknown, known, "name others, or none")
            raise BadArgument(option, ",".join(unknown), f"names among {', '.join(known)}", cure)
    counts = {
        (task, part, source): n
        for (task, part, source), n in sorted(everything.items())
        if (not tasks or task in tasks) and split in ("all", part) and (not sources or source in sources)
    }
    if not counts:
        found = dict(Counter(part for _, part, _ in everything))
        expected = f"a split with records of the chosen tasks and sources (splits there: {', '.join(found) or 'none'})"
        raise BadArgument("--split", split, expected, "`--split all`, or curate with more samples")
    involved = {source for key in counts for source in shown[key]}
    may_leave = open_sources(manifest)
    licences = tuple(_licence(source, stated.get(source, {}), source in may_leave) for source in sorted(involved))
    closed = {one.source: one.licence for one in licences if not one.redistributable}
    if closed and not for_own_use:
        touched = {source for key in counts if shown[key] & set(closed) for source in (key[2],)}
        raise NotRedistributable(closed, sorted({source for _, _, source in counts} - touched))
    return Selection(curated, counts, licences, progress, Trust(tuple(trust), curated))


def _counted(curated: Path) -> tuple[Counter[_Key], dict[_Key, set[str]]]:
    """Return how many records there are of each task, split and source, and whose licences they touch.

    A probe may show the image of another source, or a photograph that is not an eye: its licence counts as well.
    """
    counts: Counter[_Key] = Counter()
    touched: defaultdict[_Key, set[str]] = defaultdict(set)
    for row in rows_of(curated / "records", ["task", "split", "source", "image", "image_plain"]):
        key = row["task"], row["split"], row["source"]
        counts[key] += 1
        touched[key].add(row["source"])
        touched[key].update(filter(None, map(source_of, (*row["image"], *row["image_plain"]))))
    return counts, touched


def _licence(source: str, stated: Mapping[str, Any], may_leave: bool) -> Licence:
    text = stated.get("licence") or "licence not stated in the manifest"
    return Licence(source, text, may_leave, stated.get("reference") or "", stated.get("phantom") is True)


def licence_table(licences: Iterable[Licence]) -> str:
    """Return the sources and their licences as a Markdown table.

    Example:
        >>> print(licence_table([Licence("refuge", "CC BY 4.0", True, "https://refuge.grand-challenge.org")]))
        | source | licence | may be passed on | reference |
        | --- | --- | --- | --- |
        | refuge | CC BY 4.0 | yes | https://refuge.grand-challenge.org |
    """
    lines = ["| source | licence | may be passed on | reference |", "| --- | --- | --- | --- |"]
    for one in licences:
        name = f"{one.source} (phantoms: {DRAWN})" if one.phantom else one.source
        cells = (name, one.licence, "yes" if one.redistributable else "no", one.reference)
        lines.append("| " + " | ".join(for_markdown(" ".join(cell.split())) for cell in cells) + " |")
    return "\n".join(lines)
