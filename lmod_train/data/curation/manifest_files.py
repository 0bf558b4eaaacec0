"""The manifest of a curated folder: everything that was set, counted, dropped and found, without times."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.csv_files import read_csv, write_csv
from lmod_train.core.types import Dropped, Sample, class_path
from lmod_train.data.curation.inputs import licence_of, relative
from lmod_train.data.curation.prepare import Prepared
from lmod_train.data.sources.base import Source
from lmod_train.tasks.base import Task
from lmod_train.tasks.settings import plain

DROP_COLUMNS = ("source", "key", "file", "step", "reason", "extent", "detail")

LONGEST_DETAIL = 4_000
"""Characters of a detail in ``dropped.csv``."""

LEAK_COLUMNS = (
    "kind",
    "orientation",
    "correlation",
    *(f"{n}_{c}" for n in ("first", "second") for c in ("source", "key", "split", "group")),
    "contradiction",
)

FILE_COLUMNS = ("source", "key", "type", "bytes", "width", "height")


def task_settings(task: Task) -> dict[str, Any]:
    """Return what decides about a task's words: class, version, language, choices, and its own `settings`.

    Raises:
        BadArgument: The task holds what no manifest can.
    """
    kind = type(task)
    return {
        "class": class_path(kind),
        "version": kind.version,
        "language": task.language,
        "choices": [str(c) for c in getattr(task, "choices", ())],
        "settings": plain(task.settings(), f"{kind.__name__}.settings()"),
    }


def source_notes(
    sources: Sequence[Source],
    done: Iterable[Prepared],
    images: Mapping[tuple[str, str], Prepared],
    samples: Iterable[Sample],
) -> dict[str, Any]:
    """Return for each source its licence, where it lay, how many samples were used and a hash over its files.

    A source that has an account of its samples (`Source.account`) has it beside; one with 16-bit greys has the bits
    that they use.

    The hash is over the sorted SHA-256s of every image and mask that could be read; of no file it is the hash of an
    empty text.

    Args:
        sources: All of them.
        done: What became of the samples.
        images: What became of the images, by source and key.
        samples: Those that are asked about.
    """
    several, kept = list(done), list(samples)
    notes = {}
    for source in sources:
        own = [p for p in several if p.source == source.name]
        account = source.account(sample for sample in kept if sample.source == source.name)
        bits = max((p.bits for p in images.values() if p.source == source.name), default=0)
        files = sorted(digest for p in images.values() if p.source == source.name for digest in p.files)
        notes[source.name] = {
            "phantom": source.is_phantom,
            "licence": licence_of(source),
            "redistributable": source.is_phantom or (source.redistributable and source.is_published()),
            "reference": source.reference,
            "modality": source.modality,
            "root": str(source.root),
            **({} if source.states_patients is None else {"states_patients": source.states_patients}),
            "samples": sum(p.dropped is None for p in own),
            "files": len(files),
            "sha256": hashlib.sha256("\n".join(files).encode()).hexdigest(),
            **({"grey_bits": bits} if bits else {}),
            **({"account": dict(account)} if account else {}),
        }
    return notes


def file_row(image: Sample, made: Prepared) -> tuple[object, ...]:
    """Return a row of ``files.csv``: what is known of the raw file of a readable image before it is opened.

    The type is the ending of the file's name, lower case, as the source writes it (jpg and jpeg are two).
    """
    kind = image.own_image.suffix.lower().removeprefix(".")
    width, height = made.size
    return image.source, image.key, kind, made.bytes, width, height


def nested(named: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Return first name -> second -> third -> how often the three are named together.

    Example:
        >>> nested([("refuge", "read", "image_unreadable")])
        {'refuge': {'read': {'image_unreadable': 1}}}
    """
    counts: dict[str, Any] = {}
    for (one, two, three), n in sorted(Counter(named).items()):
        counts.setdefault(one, {}).setdefault(two, {})[three] = n
    return counts


def extent_counts(dropped: Iterable[Dropped]) -> dict[str, dict[str, int]]:
    """Return source -> number of drops that cost a sample or file (gone), and only regions or labels of it (part).

    Example:
        >>> extent_counts([Dropped("refuge", "a", "a.jpg", "read", "image_unreadable")])
        {'refuge': {'gone': 1, 'part': 0}}
    """
    counts = Counter((d.source, d.extent) for d in dropped)
    return {source: {e: counts[source, e] for e in ("gone", "part")} for source in sorted({of for of, _ in counts})}


def write_dropped(path: Path, dropped: Iterable[Dropped], roots: Mapping[str, Path]) -> None:
    """Write ``dropped.csv``, sorted, files relative to their source's root; the header is there without any drop.

    Of a longer detail, e.g. of a huge cell, `LONGEST_DETAIL` characters stay, as ``csv`` could not read it back.
    """
    rows = (
        (d.source, d.key, relative(d.file, roots.get(d.source)), d.step, d.reason, d.extent, d.detail[:LONGEST_DETAIL])
        for d in dropped
    )
    write_csv(path, DROP_COLUMNS, sorted(rows))


def read_dropped(path: Path) -> list[Dropped]:
    """Return the drops that `write_dropped` listed, as they were but for the roots of their files."""
    return [Dropped(**row) for row in read_csv(path)]  # type: ignore[arg-type]  # a table is text, and one column two words
