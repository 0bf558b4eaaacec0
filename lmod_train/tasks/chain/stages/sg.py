"""Severity (SG): levels of the scales of the vocabulary, and grades of the cup-to-disc ratio."""

from __future__ import annotations

from collections.abc import Mapping

from lmod_train.core.types import Sample
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.chain.stages.case import CUP_BORDERS, cup_grade, retinopathy, shows_hole
from lmod_train.tasks.chain.stages.dd import levels_in
from lmod_train.tasks.chain.stages.posed import Missing, Posed

_SCALES = {scale.name: scale for scale in SCALES}
_WORDS = {"macular_hole_stage": "Gass stage", "icdr": "ICDR grade", "sdrg": "SDRG grade"}


def pose(sample: Sample) -> Posed | Missing:
    """Return a question about the severity; level S."""
    name = next((name for name in _WORDS if name in sample.labels), None)
    if name is None:
        return _cup(sample)
    hidden = shows_hole(sample) if name == "macular_hole_stage" else retinopathy(sample)
    return hidden if isinstance(hidden, Missing) else _level(name, sample.labels[name])


def implied(stated: Mapping[str, str]) -> frozenset[str]:
    """Return the options that agree with the diagnosis among earlier answers (stage -> text); none without one.

    A kind of macular hole implies Gass stages, retinopathy or none the grades of its scales, glaucoma no size of a cup.

    Example:
        >>> implied({"DD": "impending hole only"}) & {f"Gass stage {n}" for n in range(1, 5)}
        frozenset({'Gass stage 1'})
    """
    levels = levels_in(stated.get("DD", ""))
    return frozenset(f"{word} {level}" for word in _WORDS.values() for level in levels)


def _level(name: str, level: str) -> Posed:
    """Return the question for the level of a scale, with the meaning of each in its words."""
    scale, word = _SCALES[name], _WORDS[name]
    meanings = "; ".join(f"{n} {meaning}" for n, meaning in zip(scale.levels, scale.meanings, strict=True))
    question = f"Grade the severity of {scale.disease} based on observed findings ({meanings})."
    return Posed(question, tuple(f"{word} {n}" for n in scale.levels), f"{word} {level}", "labels", "S")


def _cup(sample: Sample) -> Posed | Missing:
    """Return the grade of the cup, the severity that a photograph of a glaucoma set, or a laser scan, shows."""
    if "glaucoma" not in sample.labels and sample.modality != "SLO":
        return Missing("no label of a severity")
    grade = cup_grade(sample)
    if isinstance(grade, Missing):
        return grade
    question = (
        "Grade the severity of the cupping by the vertical cup-to-disc ratio (0 below {}; 1 up to {}; 2 up to {}; "
        "3 above).".format(*CUP_BORDERS)
    )
    return Posed(question, tuple(f"cup grade {n}" for n in range(4)), f"cup grade {grade}", "mask or outline", "S")
