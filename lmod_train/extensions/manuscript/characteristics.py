"""The table of characteristics: patients, eyes, images, age, sex, classes by split and source, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial

import numpy as np

from lmod_train.core.tables import Cell, Heads, Table, table
from lmod_train.extensions.manuscript.cohort import Photograph, by_owner, named_sources, patients_in
from lmod_train.report.contents import texts
from lmod_train.tasks.display_names import task_name

_TEXTS = texts(__file__)

FEWEST, MARK = 5, "ᵃ"
"""Patients of a cell below which a reader may recognise one, and what marks it."""

SPLITS = {"train": "training", "val": "validation", "test": "test"}

Value = Callable[[Sequence[Photograph]], str | None]
"""The cell of a row for the images of a column."""


def characteristics(
    name: str,
    images: Sequence[Photograph],
    asked: Set[str],
    classes: Mapping[str, Sequence[str]],
    bare: Set[str],
    is_whole: bool,
    questions: Mapping[str, str],
) -> Table:
    """Return the table, a block of rows for all sources and for each.

    Args:
        name: Name of its files.
        images: All images of the curated folder, or of the runs where it is gone.
        asked: Names of the images that a run was asked about.
        classes: Task -> its classes.
        bare: Sources that state no patients.
        is_whole: Whether `images` are those of the curated folder.
        questions: Task -> words of the user's own question.
    """
    present = {image.split for image in images}
    columns: dict[str, Sequence[Photograph]] = {}
    if is_whole:
        columns = {SPLITS[s]: [i for i in images if i.split == s] for s in SPLITS if s in present} | {"all": images}
    columns["asked"] = [image for image in images if image.name in asked]
    sources = list(named_sources(images))
    rows: list[Sequence[Cell]] = []
    for block in [_ALL, *sources] if len(sources) > 1 else sources:
        own = [[image for image in some if block in (_ALL, image.source)] for some in columns.values()]
        rows += [[block, *[""] * len(own)]] if len(sources) > 1 else []
        found = (
            [label, *map(value, own)] for label, value in _rows([i for some in own for i in some], classes, questions)
        )
        rows += filter(_says, found)
    few = sum(MARK in str(cell) for row in rows for cell in row)
    notes = [_TEXTS["note"], _TEXTS["bare"].format(", ".join(sorted(bare))) if bare & set(sources) else ""]
    notes += [_TEXTS["few"].format(mark=MARK, n=few, fewest=FEWEST)] if few else []
    heads: Heads = ["characteristic", *columns]
    return table(name, heads, rows, _TEXTS["title"], " ".join(filter(None, notes)))


_ALL = "All sources"


def _says(row: Sequence[Cell]) -> bool:
    """Return whether a row has another cell than shares of 0 and missing values."""
    return any(cell is not None and not str(cell).startswith("0 (") for cell in row[1:])


def _rows(
    images: Sequence[Photograph], classes: Mapping[str, Sequence[str]], questions: Mapping[str, str]
) -> Iterator[tuple[str, Value]]:
    """Yield label and cells of the rows of a block."""
    yield "Patients", _patients
    yield "Images of no stated patient", lambda some: _share([i for i in some if not i.patient], some)
    yield "Eyes", lambda some: str(len(eyes)) if (eyes := {i.eye for i in some} - {""}) or not some else None
    yield "Images of unknown eye", lambda some: _share([i for i in some if not i.eye], some)
    yield "Images", lambda some: _share(some, some)
    yield "Age, median (quartiles)", _ages
    yield "Age not stated", partial(_persons, lambda own: not _stated(own, "age"))
    for value in sorted({str(image.person.sex) for image in images if image.person.sex}):
        yield f"Sex {value}", partial(_persons, partial(_is_of_sex, value))
    yield "Sex stated in two ways", partial(_persons, lambda own: len(_stated(own, "sex")) > 1)
    yield "Sex not stated", partial(_persons, lambda own: not _stated(own, "sex"))
    for task in dict.fromkeys(task for image in images for task in image.labels):
        name = task_name(task, questions.get(task, ""))
        for one in classes.get(task, ()):
            yield f"{name}: {one}", partial(_of_class, task, one)
        yield f"{name}: not asked", partial(_of_class, task, None)


def _is_of_sex(sex: str, images: Sequence[Photograph]) -> bool:
    return _stated(images, "sex") == {sex}


def _of_class(task: str, one: str | None, images: Sequence[Photograph]) -> str:
    """Return the images of a class of a task; those that it does not ask about, of None."""
    return _share([image for image in images if image.labels.get(task) == one], images)


def _stated(images: Sequence[Photograph], name: str) -> set[object]:
    return {value for image in images if (value := getattr(image.person, name)) not in (None, "")}


def _ages(images: Sequence[Photograph]) -> str | None:
    """Return the median age at the first image of each patient that states one, with quartiles."""
    known = ([float(str(age)) for age in _stated(own, "age")] for own in by_owner(images).values())
    ages = [min(own) for own in known if own]
    if not ages:
        return None
    low, middle, high = np.percentile(ages, (25, 50, 75))
    return f"{middle:.0f} ({low:.0f}-{high:.0f})"


def _persons(holds: Callable[[Sequence[Photograph]], bool], images: Sequence[Photograph]) -> str:
    """Return number and share of the patients of whose images something holds."""
    owned = by_owner(images)
    n = sum(map(holds, owned.values()))
    return f"{_few(n)}{_percent(n, len(owned))}"


def _share(some: Sequence[Photograph], images: Sequence[Photograph]) -> str:
    """Return number and share of images, and the number of their patients, if any is stated."""
    share = _percent(len(some), len(images)) if some is not images else ""
    return f"{len(some)}{share} / {_patients(some) or '-'}"


def _patients(images: Sequence[Photograph]) -> str | None:
    """Return the number of stated patients; None if there are images and none states one."""
    stated = len(patients_in(images))
    return _few(stated) if stated or not images else None


def _percent(n: int, of: int) -> str:
    return f" ({100 * n / of:.0f} %)" if of else " (-)"


def _few(n: int) -> str:
    return f"{n}{MARK}" if 0 < n < FEWEST else str(n)
