"""One sample, from its raw files to its curated images: what a worker process does, without pyarrow and torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lmod_train.curation.boxes import read_boxes
from lmod_train.curation.filters import BoxFilter, Loss, keep_boxes
from lmod_train.curation.images import open_image, shrink, write_image
from lmod_train.curation.leakage import perceptual_hash
from lmod_train.curation.markers import mark
from lmod_train.curation.numbering import number
from lmod_train.errors import LmodError
from lmod_train.tasks.base import Task
from lmod_train.types import Box, Dropped, Question, Region, Sample


@dataclass(frozen=True, slots=True)
class Plan:
    """What every worker must know; `cutoffs` holds for each source the measure a box must reach."""

    out: Path
    seed: int
    longest_side: int | None
    box_filter: BoxFilter
    cutoffs: Mapping[str, float]
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of one sample: one line of the journal.

    Attributes:
        source: Source of the sample.
        key: Its key.
        size: Width and height of the raw image; (0, 0) where it could not be read.
        files: SHA-256 of every raw file that could be read, the image first.
        regions: Numbered boxes kept.
        lost: Boxes left out.
        scale: Curated pixels per original pixel.
        plain: SHA-256 of the plain curated image.
        marked: SHA-256 of the marked one, empty where no task draws.
        phash: Perceptual hash.
        dropped: Why there are no curated images; None where there are.
        unmarked: Why there are images and yet no regions: a mask or outline that cannot be trusted; None otherwise.
    """

    source: str
    key: str
    size: tuple[int, int] = (0, 0)
    files: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    lost: tuple[Loss, ...] = ()
    scale: float = 1.0
    plain: str = ""
    marked: str = ""
    phash: str = ""
    dropped: Dropped | None = None
    unmarked: Dropped | None = None

    def row(self) -> dict[str, Any]:
        """Return the line as plain values."""
        return asdict(self)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Prepared:
        """Return what `row` was made of."""
        values = dict(row)
        values["size"], values["files"] = tuple(row["size"]), tuple(row["files"])
        values["regions"] = tuple(Region(r["structure"], Box(**r["box"]), r["id"]) for r in row["regions"])
        values["lost"] = tuple((structure, reason) for structure, reason in row["lost"])
        values |= {name: Dropped(**row[name]) if row[name] else None for name in ("dropped", "unmarked")}
        return cls(**values)


def image_path(source: str, key: str, *, marked: bool) -> str:
    """Return the path of a curated image relative to the curated folder.

    Example:
        >>> image_path("refuge", "train/Glaucoma/g0001", marked=True)
        'images/refuge/train/Glaucoma/g0001.marked.jpg'
    """
    return f"images/{source}/{key}{'.marked' if marked else ''}.jpg"


def numbered(sample: Sample, done: Prepared) -> Sample:
    """Return the sample as tasks see it: with size, hash and numbered regions."""
    return replace(sample, size=done.size, sha256=done.files[0], regions=done.regions)


def prepare(sample: Sample, plan: Plan) -> Prepared:
    """Read, box, filter, number, shrink, draw and write one sample; a file that cannot be used gives its reason."""
    opened = open_image(sample)
    if isinstance(opened, Dropped):
        return Prepared(sample.source, sample.key, files=_hashes([sample.image]), dropped=opened)
    files = (opened.sha256, *_hashes([m.path for m in sample.masks]))
    boxed, unmarked = read_boxes(replace(sample, size=opened.image.size, sha256=opened.sha256))
    kept, lost = keep_boxes(boxed, plan.box_filter, plan.cutoffs[sample.source])
    ready = number(kept, plan.seed)
    small, scale = shrink(opened.image, plan.longest_side)
    plain = write_image(plan.out / image_path(sample.source, sample.key, marked=False), small)
    done = Prepared(
        sample.source,
        sample.key,
        opened.image.size,
        files,
        ready.regions,
        lost,
        scale,
        plain,
        "",
        perceptual_hash(small),
        unmarked=unmarked,
    )
    if not _drawn(plan.tasks, numbered(sample, done)):
        return done
    path = plan.out / image_path(sample.source, sample.key, marked=True)
    return replace(done, marked=write_image(path, mark(small, ready.regions, scale)))


def prepare_all(samples: Sequence[Sample], plan: Plan) -> list[Prepared]:
    """Prepare several samples: one errand of a worker."""
    return [prepare(sample, plan) for sample in samples]


def measure_all(samples: Sequence[Sample], box_filter: BoxFilter) -> list[tuple[str, float]]:
    """Return source and measure of every box, for a filter that ranks them; unreadable files give none."""
    measures = []
    for sample in samples:
        opened = open_image(sample)
        if not isinstance(opened, Dropped):
            boxed, _ = read_boxes(replace(sample, size=opened.image.size))
            measures += [(sample.source, box_filter.measure(r.box, boxed.size)) for r in boxed.regions]
    return measures


def _drawn(tasks: Sequence[Task], sample: Sample) -> bool:
    questions: list[Question] = [q for task in tasks for q in task.ask(sample) if q.marked]
    for question in questions:
        if question.shows != "own":
            raise LmodError(
                f"task {question.task!r}, sample {sample.source}/{sample.key}: a marked question has "
                f"shows={question.shows!r}, but markers are drawn on the sample's own image only.\n"
                f"Next: ask with marked=False or shows='own'"
            )
        if question.regions != sample.regions:
            raise LmodError(
                f"task {question.task!r}, sample {sample.source}/{sample.key}: a marked question must be about all "
                f"numbered regions of the sample, as they are what is drawn.\nNext: ask with regions=sample.regions"
            )
    return bool(questions)


def _hashes(paths: Sequence[Path]) -> tuple[str, ...]:
    hashes = []
    for path in paths:
        if path.is_file():
            with path.open("rb") as file:
                hashes.append(hashlib.file_digest(file, "sha256").hexdigest())
    return tuple(hashes)
