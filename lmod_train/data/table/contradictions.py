"""Values of a row, or of a patient, that cannot all be true: none of them is used, as nothing says which is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.table.meanings import Column
from lmod_train.data.table.values import condition_of, findings_of

Stated = Mapping[str, tuple[Column, str, str]]
"""Name of a column -> the column, the cell and the word that it stands for, of one image."""

ONE_FACT = frozenset({"age", "sex", "laterality", "split", "modality"})
"""Meanings of which an image has one value, whatever the number of columns that state it."""

_DISEASES = {scale.name: scale.disease for scale in SCALES if "0" in scale.levels}


def claims_of(column: Column, word: str) -> dict[str, str]:
    """Return what a value says of diseases: the name of each, or ``normal``, with yes or no."""
    if column.meaning == "diagnosis":
        found = findings_of(word)
        return dict.fromkeys(found.absent, "no") | dict.fromkeys(found.present, "yes")
    if column.meaning in _DISEASES:
        return {_DISEASES[column.meaning]: "no" if word == "0" else "yes"}
    return {column.meaning: word} if condition_of(column.meaning) else {}


def in_a_row(stated: Stated) -> dict[str, str]:
    """Return column -> column that contradicts it, of the values of one image.

    Two values exclude each other if they say yes and no of one disease, if one says normal and the other a disease, or
    if they are two of what an image has one of, such as a sex.
    """
    said: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    against: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, (column, _, word) in stated.items():
        if column.meaning in ONE_FACT:
            said[column.meaning, word].append(name)
        for disease, answer in claims_of(column, word).items():
            said[disease, answer].append(name)
            against[name].append((disease, "no" if answer == "yes" else "yes"))
            if answer == "yes":
                against[name].append(_DISEASED if disease == "normal" else _NORMAL)
                said[_DISEASED] += [name] if disease != "normal" else []
    for (meaning, word), names in list(said.items()):
        if meaning in ONE_FACT:
            others = [one for one in said if one[0] == meaning and one[1] != word]
            for name in names:
                against[name] += others
    opposed = {name: [o for key in keys for o in said[key][:2] if o != name] for name, keys in against.items()}
    return {name: others[0] for name, others in opposed.items() if others}


_NORMAL, _DISEASED = ("normal", "yes"), ("a disease", "yes")


def of_patients(images: Sequence[tuple[Iterable[str], str, Stated]]) -> list[dict[str, str]]:
    """Return column -> what contradicts it, for each image: two sexes of a patient, two ages at one date.

    Args:
        images: Numbers of the patient, the date, empty without one, and the values of each image.
    """
    words: defaultdict[Hashable, set[str]] = defaultdict(set)
    for people, date, stated in images:
        for column, _, word in stated.values():
            for key in _keys(people, date, column):
                words[key].add(word)
    return [
        {
            name: f"another {column.meaning} of the same patient"
            for name, (column, _, _) in stated.items()
            if any(len(words[key]) > 1 for key in _keys(people, date, column))
        }
        for people, date, stated in images
    ]


def _keys(people: Iterable[str], date: str, column: Column) -> list[Hashable]:
    """Return what has one value: the sex of a patient, and the age at a date."""
    if column.meaning == "sex":
        return [(person, "sex") for person in people]
    return [(person, "age", date) for person in people] if column.meaning == "age" and date else []
