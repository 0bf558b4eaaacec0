"""Who and what was photographed: one entry per image, with its patient, eye, split and classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.records import rows_of
from lmod_train.core.types import Patient, Record, own_part
from lmod_train.report.sorted_errors import GROUNDING, PROBES

COLUMNS = ("task", "source", "key", "image", "image_plain", "split", "group", "answer", "choices", "patient")
"""Columns of a record that are read."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is counted of a record; `patient` is ``source/group``, empty if the source states no patients."""

    task: str
    source: str
    key: str
    images: tuple[str, ...]
    split: str
    patient: str
    answer: str
    choices: frozenset[str]
    person: Patient


@dataclass(slots=True)
class Photograph:
    """An image; `labels` is task -> its class, empty where the task has no classes."""

    name: str
    source: str
    split: str
    patient: str
    person: Patient
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """The patient; the image where no patient is stated."""
        return self.patient or self.name

    @property
    def eye(self) -> str:
        """Patient and side; empty if either is not stated."""
        return f"{self.patient} {self.person.laterality}" if self.patient and self.person.laterality else ""


def curated_questions(curated: Path, bare: Collection[str]) -> list[Question]:
    """Return the questions of a curated folder.

    Args:
        curated: The folder.
        bare: Sources that state no patients.

    Raises:
        ArtifactError: Its records are missing or damaged.
    """
    return _questions((row.__getitem__ for row in rows_of(curated / "records", COLUMNS)), bare)


def asked_questions(records: Iterable[Record], bare: Collection[str]) -> list[Question]:
    """Return the questions of a run, as `curated_questions` does."""
    return _questions((partial(getattr, record) for record in records), bare)


def _questions(rows: Iterable[Callable[[str], Any]], bare: Collection[str]) -> list[Question]:
    """Return the questions of records, but for those of probes, whose images were changed or replaced."""
    return [_question(get, bare) for get in rows if not get("task").endswith((PROBES, GROUNDING))]


def _question(get: Callable[[str], Any], bare: Collection[str]) -> Question:
    images, person, source = tuple(get("image_plain") or get("image")), get("patient"), get("source")
    group = f"{source}/{get('group')}" if get("group") and source not in bare else ""
    stated = person if isinstance(person, Patient) else Patient(**person)
    return Question(
        get("task"), source, get("key"), images, get("split"), group, get("answer"), frozenset(get("choices")), stated
    )


def photographs(questions: Iterable[Question]) -> list[Photograph]:
    """Return the images that are asked about, each once."""
    asked = list(questions)
    classes = classes_of(asked)
    found: dict[str, Photograph] = {}
    for one in asked:
        for name in one.images:
            image = found.setdefault(name, Photograph(name, one.source, one.split, one.patient, one.person))
            image.labels[one.task] = class_of(one) if one.task in classes else ""
    return list(found.values())


def classes_of(questions: Iterable[Question]) -> dict[str, list[str]]:
    """Return task -> its classes, of the tasks whose questions have the same choices and an answer of one of them."""
    found: dict[str, set[str]] = {}
    choices: dict[str, frozenset[str]] = {}
    without = set[str]()
    for one in questions:
        label = class_of(one)
        if not label or choices.setdefault(one.task, one.choices) != one.choices:
            without.add(one.task)
        found.setdefault(one.task, set()).add(label)
    return {task: sorted(labels) for task, labels in found.items() if task not in without}


def class_of(question: Question) -> str:
    """Return the choice that a reference reply names alone; empty if it names none.

    Example:
        >>> asked = Question("t", "s", "k", (), "test", "p", "Stage: 2", frozenset({"2", "12"}), Patient())
        >>> class_of(asked)
        '2'
    """
    own = own_part(question.answer, sorted(question.choices))
    named = [choice for choice in question.choices if own == choice or own.endswith(f": {choice}")]
    return named[0] if len(named) == 1 and not {";", "\n"} & {*own.removesuffix(named[0])} else ""  # of regions


def patients_in(images: Iterable[Photograph]) -> set[str]:
    """Return the patients that are stated."""
    return {image.patient for image in images if image.patient}


def by_owner(images: Iterable[Photograph]) -> Mapping[str, Sequence[Photograph]]:
    """Return patient, or image where none is stated -> images."""
    found: dict[str, list[Photograph]] = {}
    for image in images:
        found.setdefault(image.owner, []).append(image)
    return found


def named_sources(images: Iterable[Photograph]) -> Iterator[str]:
    """Yield the sources in alphabetical order."""
    yield from sorted({image.source for image in images})
