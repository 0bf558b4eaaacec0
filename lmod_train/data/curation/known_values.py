"""Labels and demographics of samples held to the vocabulary: an unknown word costs its own value, which is listed.

Tasks and tables of scores compare these words as they are. ``sex="F"`` would match no prompt, and ``laterality="OD"``
would be a third side of the eye.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lmod_train.core.types import Dropped, Sample
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.core.vocabulary.structures import STRUCTURES

OLDEST = 130
"""Years; an age at or above it is an error."""

_YES_NO = ("no", "yes")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "diagnosis": tuple(term.name for term in CONDITIONS),
    **{term.name: _YES_NO for term in (*STRUCTURES, *CONDITIONS)},
    **{scale.name: scale.levels for scale in SCALES},
}
"""Label -> its words; labels of other names are those of a user's own task or table, and may have any."""

_DEMOGRAPHICS: Mapping[str, tuple[str, ...]] = {
    "sex": tuple(term.name for term in SEXES),
    "laterality": ("left", "right"),
}


def with_known_values(sample: Sample) -> tuple[Sample, list[Dropped]]:
    """Return a sample without the values that the vocabulary does not have, and a line for each of these.

    Example:
        >>> from lmod_train.core.types import Patient
        >>> sample = Sample("a", "1", "CFP", None, "p", "CC0", {"diagnosis": "poag"}, patient=Patient(sex="F", age=70))
        >>> known, lost = with_known_values(sample)
        >>> known.labels, known.patient.sex, known.patient.age, [line.reason for line in lost]
        ({}, None, 70, ['unknown word', 'unknown word'])
    """
    labels = dict(_unknown_labels(sample))
    patient = dict(_unknown_demographics(sample))
    if not labels and not patient:
        return sample, []
    kept = {name: word for name, word in sample.labels.items() if name not in labels}
    known = replace(sample, labels=kept, patient=replace(sample.patient, **dict.fromkeys(patient)))
    lines = [Dropped.of(sample, "read", "unknown word", why, "part") for why in (*labels.values(), *patient.values())]
    return known, lines


def _unknown_labels(sample: Sample) -> Iterator[tuple[str, str]]:
    for name, word in sample.labels.items():
        if name in _WORDS and word not in _WORDS[name]:
            yield name, _expected(name, word, _WORDS[name])


def _unknown_demographics(sample: Sample) -> Iterator[tuple[str, str]]:
    for name, words in _DEMOGRAPHICS.items():
        word = getattr(sample.patient, name)
        if word is not None and word not in words:
            yield name, _expected(name, word, words)
    age = sample.patient.age
    if age is not None and not 0 <= age < OLDEST:
        yield "age", f"age {age:g}: expected years from 0 to {OLDEST}"


def _expected(name: str, word: str, words: tuple[str, ...]) -> str:
    listed = ", ".join(words) if len(words) <= 6 else "a name in lmod_train/core/vocabulary/conditions.py"
    return f"{name} {word!r}: expected {listed}"
