"""Subsets of the items, each with its own scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lmod_train.scoring.items import Item

AGE_GROUPS = ((0, 18), (18, 40), (40, 60), (60, None))
"""Years, lower end included: 18-40, 40-60 and 60+ of LMOD's Table 7, and a group for children."""


def age_group(age: float | None) -> str:
    """Return the age group, empty for an unknown age.

    Example:
        >>> age_group(39.5), age_group(40), age_group(60), age_group(None)
        ('18-40', '40-60', '60+', '')
    """
    for low, high in AGE_GROUPS:
        if age is not None and age >= low and (high is None or age < high):
            return f"{low}+" if high is None else f"{low}-{high}"
    return ""


MOST_BOXES = 6
"""Number of boxes from which images are in one subset."""


def box_count(item: Item) -> str:
    """Return how many numbered boxes an image has, from `MOST_BOXES` on as ``6+``; empty for other questions.

    Example:
        >>> box_count(Item("a", "answered", {}, {1: "disc", 2: "cup"})), box_count(Item("a", "answered", "x", "x"))
        ('2', '')
    """
    count = len(item.truth) if isinstance(item.truth, Mapping) else 0
    return f"{MOST_BOXES}+" if count >= MOST_BOXES else str(count or "")


NO_SUBSETS = frozenset({"planted", "implied", "eye_condition"})
"""Tags that hold the words of one question instead of the name of a group, or hundreds of groups."""

Keys = Mapping[str, Callable[[Item], str]]
"""Name of a key -> function that returns its value for an item, empty if unknown."""

SUBSETS: Keys = {
    "modality": lambda item: item.modality,
    "source": lambda item: item.source,
    "split": lambda item: item.split,
    "language": lambda item: item.language,
    "sex": lambda item: item.patient.sex or "",
    "age": lambda item: age_group(item.patient.age),
    "boxes": box_count,
}
"""Keys of the subsets in ``scores.csv``, besides tags."""

SUBGROUPS: Keys = {
    "age": SUBSETS["age"],
    "sex": SUBSETS["sex"],
    "laterality": lambda item: item.patient.laterality or "",
    "camera": lambda item: item.patient.camera or "",
    "quality": lambda item: item.patient.quality or "",
    "source": SUBSETS["source"],
}
"""Keys by which models are compared between patients and images."""


def subsets_of(items: Sequence[Item], own: Keys | None = None) -> dict[str, list[Item]]:
    """Return ``all``, and ``key=value`` for each key with more than one value.

    Items without a value of a key are in no subset of that key. Without items there is no subset. A combination of
    modalities is a value of its own.

    Args:
        items: In any order.
        own: Additional keys of the task, such as the condition; these, and tags, give subsets even with a single value.

    Example:
        >>> pair = [Item("a", "answered", "x", "x", modality="CFP"), Item("b", "answered", "x", "x", modality="OCT")]
        >>> list(subsets_of(pair))
        ['all', 'modality=CFP', 'modality=OCT']
    """
    subsets = {"all": list(items)} if items else {}
    always = {**(own or {}), **_tag_keys(items)}
    for key, value_of in (*always.items(), *SUBSETS.items()):
        values = sorted({value_of(item) for item in items} - {""})
        if len(values) > 1 or key in always:
            subsets |= {f"{key}={value}": [i for i in items if value_of(i) == value] for value in values}
    return subsets


def _tag_keys(items: Sequence[Item]) -> Keys:
    """Return the keys of all tags that name groups."""
    return {
        key: partial(_tag, key)
        for key in sorted({key for item in items for key in item.tags} - {*SUBSETS, *NO_SUBSETS})
    }


def _tag(key: str, item: Item) -> str:
    """Return an item's value of a tag as a subset's name holds it, where ``;`` and ``=`` have a meaning."""
    return item.tags.get(key, "").replace(";", "%3B").replace("=", "%3D")


KIND, GRADE = "perturbation", "grade"
"""Tags of a question about a perturbed image."""


Cell = tuple[str, int]
"""Kind and grade of a perturbation."""


def cell_name(kind: str, grade: int) -> str:
    """Return the subset of a kind and grade.

    Example:
        >>> cell_name("blur", 3)
        'perturbation=blur;grade=3'
    """
    return f"{KIND}={kind};{GRADE}={grade}"


def cell_of(subset: str) -> Cell | None:
    """Return kind and grade of a subset; None if it is another subset.

    Example:
        >>> cell_of("perturbation=blur;grade=3"), cell_of("perturbation=blur")
        (('blur', 3), None)
    """
    found = re.fullmatch(rf"{KIND}=([a-z]+);{GRADE}=(\d)", subset)
    return (found[1], int(found[2])) if found else None
