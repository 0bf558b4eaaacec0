"""Questions become records: here a task's words meet a sample's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lmod_train.artifacts.records import record_id
from lmod_train.curation.balance import Candidate, Over, draw
from lmod_train.curation.prepare import Prepared, image_path, numbered
from lmod_train.curation.splits import Place
from lmod_train.errors import LmodError
from lmod_train.tasks.base import Task
from lmod_train.types import Dropped, Message, Question, Record, Sample, Split


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of the curated folder that goes with a question.

    Attributes:
        shown: Path of what is shown, relative to the curated folder.
        plain: Path of the same without markers.
        sha256: Of what is shown.
        scale: Curated pixels per original pixel.
        licence: Of the question's source, and of the image's where that is another.
    """

    shown: str
    plain: str
    sha256: str
    scale: float
    licence: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the task that asks, the sample it is about, and the image it shows (None: none)."""

    task: Task
    question: Question
    sample: Sample
    done: Prepared
    split: Split
    picture: Picture | None


def own_picture(sample: Sample, done: Prepared, *, marked: bool) -> Picture:
    """Return the sample's own image, plain or with its numbered boxes."""
    plain = image_path(sample.source, sample.key, marked=False)
    shown = image_path(sample.source, sample.key, marked=True) if marked else plain
    return Picture(shown, plain, done.marked if marked else done.plain, done.scale, sample.licence)


def ask_all(
    tasks: Sequence[Task], samples: Iterable[Sample], done: Mapping[Place, Prepared], splits: Mapping[Place, Split]
) -> list[Asked]:
    """Ask every task about every sample that was prepared; samples that were dropped are passed over."""
    asked = []
    for sample in samples:
        place = sample.source, sample.key
        if place in done and done[place].dropped is None:
            ready, made = numbered(sample, done[place]), done[place]
            asked += [
                Asked(t, q, ready, made, splits[place], own_picture(ready, made, marked=q.marked))
                for t in tasks
                for q in t.ask(ready)
            ]
    return asked


def draw_balanced(asked: Sequence[Asked], seed: int, over: Over) -> tuple[list[Asked], list[dict[str, Any]]]:
    """Return the questions drawn and the account of every cell; questions without a stratum all stay."""
    positions = [i for i, a in enumerate(asked) if a.question.stratum]
    candidates = [
        Candidate(
            task=a.question.task,
            language=a.question.language,
            split=a.split,
            variant=a.question.variant,
            stratum=a.question.stratum,
            source=a.sample.source,
            key=a.sample.key,
            group=a.sample.group,
            classes=_classes(a.question),
        )
        for a in (asked[i] for i in positions)
    ]
    drawn, accounts = draw(candidates, seed, over)
    out = set(positions) - {positions[i] for i in drawn}
    return [a for i, a in enumerate(asked) if i not in out], accounts


def left_out(accounts: Iterable[Mapping[str, Any]]) -> list[Dropped]:
    """Return a `Dropped` for every cell that the balance leaves out as a whole; its samples may serve other tasks."""
    found = []
    for account in (a for a in accounts if "left_out" in a):
        task, language, split, variant, source = account["cell"]
        asked = " ".join(part for part in (task, variant, language) if part)
        said = f"{asked}, {split}: {sum(account['before'].values())} questions, as {account['left_out']}"
        found.append(Dropped(source, "", "", "balance", "source_without_all_classes", said, extent="part"))
    return found


def _classes(question: Question) -> tuple[str, ...]:
    """Return the classes that a question could be of: its choices, where these are what its task balances by."""
    return question.choices if question.stratum in question.choices else ()


def records_of(asked: Iterable[Asked]) -> list[Record]:
    """Return the records, sorted by id.

    Raises:
        LmodError: Two questions have one id.
    """
    records = sorted(map(_record, asked), key=lambda r: r.id)
    for one, other in pairwise(records):
        if one.id == other.id:
            raise LmodError(
                f"task {one.task!r} asks twice under the id {one.id!r}.\nNext: give the questions different `variant`s"
            )
    return records


def _record(asked: Asked) -> Record:
    question, sample, picture = asked.question, asked.sample, asked.picture
    kind = type(asked.task)
    return Record(
        id=record_id(
            question.task,
            sample.source,
            sample.key,
            question.language if question.language != "en" else "",
            question.variant,
        ),
        task=question.task,
        task_class=f"{kind.__module__}.{kind.__qualname__}",
        task_version=kind.version,
        source=sample.source,
        key=sample.key,
        modality=sample.modality,
        image=(picture.shown,) if picture else (),
        image_plain=(picture.plain,) if picture else (),
        image_sha256=(picture.sha256,) if picture else (),
        split=asked.split,
        group=sample.group,
        language=question.language,
        messages=question.messages if picture else without_images(question.messages),
        choices=question.choices,
        answer=question.answer,
        regions=question.regions,
        scale=picture.scale if picture else 1.0,
        variant=question.variant,
        phantom=sample.phantom,
        patient=sample.patient,
        licence=picture.licence if picture else sample.licence,
    )


def without_images(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without the places of images, word for word; a message of images alone goes.

    Example:
        >>> from lmod_train.types import Part
        >>> without_images([Message("user", (Part("image"), Part("text", "Glaucoma?")))])
        (Message(role='user', parts=(Part(type='text', text='Glaucoma?'),)),)
    """
    kept = (Message(m.role, tuple(p for p in m.parts if p.type != "image")) for m in messages)
    return tuple(m for m in kept if m.parts)


def count(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return for each split the number of records, samples, groups, and records by stratum, structure, image."""
    return dict(_counts(asked))


def _counts(asked: Sequence[Asked]) -> Iterator[tuple[str, dict[str, Any]]]:
    for split in sorted({a.split for a in asked}):
        here = [a for a in asked if a.split == split]
        yield (
            split,
            {
                "records": len(here),
                "samples": len({(a.sample.source, a.sample.key) for a in here}),
                "groups": len({(a.sample.source, a.sample.group) for a in here}),
                "strata": dict(sorted(Counter(a.question.stratum for a in here if a.question.stratum).items())),
                "structures": dict(sorted(Counter(r.structure for a in here for r in a.question.regions).items())),
                "shows": dict(sorted(Counter(a.question.shows for a in here).items())),
            },
        )
