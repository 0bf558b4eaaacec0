"""Questions become records: here a task's words meet a sample's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lmod_train.artifacts import record_id
from lmod_train.curation.balance import Candidate, draw
from lmod_train.curation.prepare import Prepared, image_path, numbered
from lmod_train.curation.splits import Place
from lmod_train.errors import LmodError
from lmod_train.tasks.base import Task
from lmod_train.types import Question, Record, Sample, Split


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the task that asks and the sample it is about."""

    task: Task
    question: Question
    sample: Sample
    done: Prepared
    split: Split


def ask_all(
    tasks: Sequence[Task], samples: Iterable[Sample], done: Mapping[Place, Prepared], splits: Mapping[Place, Split]
) -> list[Asked]:
    """Ask every task about every sample that was prepared; samples that were dropped are passed over."""
    asked = []
    for sample in samples:
        place = sample.source, sample.key
        if place in done and done[place].dropped is None:
            ready = numbered(sample, done[place])
            asked += [Asked(t, q, ready, done[place], splits[place]) for t in tasks for q in t.ask(ready)]
    return asked


def draw_balanced(asked: Sequence[Asked], seed: int) -> tuple[list[Asked], list[dict[str, Any]]]:
    """Return the questions drawn and the account of every cell; questions without a stratum all stay."""
    positions = [i for i, a in enumerate(asked) if a.question.stratum]
    candidates = [
        Candidate(
            cell=(a.question.task, a.question.language, a.split, a.question.variant),
            stratum=a.question.stratum,
            source=a.sample.source,
            key=a.sample.key,
            group=a.sample.group,
        )
        for a in (asked[i] for i in positions)
    ]
    drawn, accounts = draw(candidates, seed)
    out = set(positions) - {positions[i] for i in drawn}
    return [a for i, a in enumerate(asked) if i not in out], accounts


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
    question, sample, done = asked.question, asked.sample, asked.done
    plain = image_path(sample.source, sample.key, marked=False)
    shown = image_path(sample.source, sample.key, marked=True) if question.marked else plain
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
        image=(shown,),
        image_plain=(plain,),
        image_sha256=(done.marked if question.marked else done.plain,),
        split=asked.split,
        group=sample.group,
        language=question.language,
        messages=question.messages,
        choices=question.choices,
        answer=question.answer,
        regions=question.regions,
        scale=done.scale,
        patient=sample.patient,
        licence=sample.licence,
    )


def count(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return for each split the number of records, samples, groups, and records by stratum and by structure."""
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
            },
        )
