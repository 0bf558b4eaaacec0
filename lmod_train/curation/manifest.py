"""What a curated folder says about itself: everything that was set, counted, dropped and found; no clock in it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.artifacts import SCHEMA_VERSION, whole
from lmod_train.curation.inputs import relative
from lmod_train.curation.prepare import Prepared
from lmod_train.curation.versions import versions
from lmod_train.sources.base import Source
from lmod_train.tasks.base import Task
from lmod_train.types import Dropped

DROP_COLUMNS = ("source", "key", "file", "step", "reason", "detail")
LEAK_COLUMNS = (
    "kind",
    "distance",
    *(f"{n}_{c}" for n in ("first", "second") for c in ("source", "key", "split", "group")),
)


def task_settings(task: Task) -> dict[str, Any]:
    """Return what decides about a task's words: class, version, language, choices, all attributes JSON can hold."""
    kind = type(task)
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "version": kind.version,
        "language": task.language,
        "choices": [str(c) for c in getattr(task, "choices", ())],
        "attributes": {k: plain for k, v in sorted(vars(task).items()) if (plain := _plain(v)) is not None},
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON reads it back; None where JSON cannot hold it."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return None


def header(settings: Mapping[str, Any], listing: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same for earlier work to count."""
    return {
        "schema_version": SCHEMA_VERSION,
        "settings": dict(settings),
        "inputs": dict(listing),
        "versions": versions(),
    }


def source_notes(sources: Sequence[Source], done: Iterable[Prepared]) -> dict[str, Any]:
    """Return for each source its licence, where it lay, how many samples were used and a hash over its files.

    The hash is over the sorted SHA-256s of every image and mask that could be read; of no file it is the hash of an
    empty text.
    """
    several = list(done)
    notes = {}
    for source in sources:
        own = [p for p in several if p.source == source.name]
        files = sorted(digest for p in own for digest in p.files)
        notes[source.name] = {
            "licence": source.licence,
            "redistributable": source.redistributable,
            "reference": source.reference,
            "modality": source.modality,
            "root": str(source.root),
            "samples": sum(p.dropped is None for p in own),
            "files": len(files),
            "sha256": hashlib.sha256("\n".join(files).encode()).hexdigest(),
        }
    return notes


def drop_counts(dropped: Iterable[Dropped]) -> dict[str, Any]:
    """Return source -> step -> reason -> number.

    Example:
        >>> drop_counts([Dropped("refuge", "a", "a.jpg", "read", "image_unreadable")])
        {'refuge': {'read': {'image_unreadable': 1}}}
    """
    return _nested(Counter((d.source, d.step, d.reason) for d in dropped))


def box_counts(done: Iterable[Prepared]) -> dict[str, Any]:
    """Return source -> structure -> reason -> number of boxes left out."""
    return _nested(Counter((p.source, structure, reason) for p in done for structure, reason in p.lost))


def _nested(counts: Mapping[tuple[str, str, str], int]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (one, two, three), n in sorted(counts.items()):
        nested.setdefault(one, {}).setdefault(two, {})[three] = n
    return nested


def write_dropped(path: Path, dropped: Iterable[Dropped], roots: Mapping[str, Path]) -> None:
    """Write ``dropped.csv``, sorted, files relative to their source's root; the header is there without any drop."""
    rows = [{c: getattr(d, c) for c in DROP_COLUMNS} | {"file": relative(d.file, roots.get(d.source))} for d in dropped]
    write_table(path, DROP_COLUMNS, sorted(rows, key=lambda r: tuple(r.values())))


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a CSV file, whole or not at all."""
    with whole(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
