"""Decision (CD): management of the diagnosis and grade by a table of published guidance; a draft."""

from __future__ import annotations

from collections.abc import Mapping

from lmod_train.core.types import Sample
from lmod_train.core.vocabulary.management import CLASSES, MANAGEMENT, management_of
from lmod_train.tasks.chain.stages import sg
from lmod_train.tasks.chain.stages.case import case_of
from lmod_train.tasks.chain.stages.dd import diagnoses_in
from lmod_train.tasks.chain.stages.posed import Missing, Posed

_DISEASES = {"macular hole": "the macular hole", "glaucoma": "glaucoma", "no glaucoma": "glaucoma"}


def pose(sample: Sample) -> Posed | Missing:
    """Return the question for the management class; level S. Missing where the table has no row."""
    case = case_of(sample)
    if isinstance(case, Missing):
        return case
    row = management_of(case.diagnosis, case.grade)
    if row is None:
        return Missing("no row in the management table")
    disease = _DISEASES.get(case.diagnosis, "diabetic retinopathy in a person with diabetes")
    question = f"What is the next step of management, as far as {disease} is concerned?"
    return Posed(question, CLASSES, row.management, "management table (draft)", "S")


def implied(stated: Mapping[str, str]) -> frozenset[str]:
    """Return the management classes that agree with earlier answers (stage -> text); none without diagnosis and grade.

    These are the classes of the table's rows with the stated diagnosis and grade. Without a stated severity, each grade
    counts that the diagnosis implies; without a diagnosis, each one that has the grade.

    Example:
        >>> implied({"DD": "full-thickness hole", "SG": "Gass stage 1"}), implied({"SG": "ICDR grade 4"})
        (frozenset({'review at a short interval'}), frozenset({'treat the disease actively'}))
    """
    if not {"DD", "SG"} & stated.keys():
        return frozenset()
    grades = {_grade(option) for option in ([stated["SG"]] if "SG" in stated else sg.implied(stated))}
    of_grade = [row for row in MANAGEMENT if row.grade in grades or not grades]
    diagnoses = diagnoses_in(stated["DD"]) if "DD" in stated else {row.diagnosis for row in of_grade}
    return frozenset(row.management for row in of_grade if row.diagnosis in diagnoses)


def _grade(option: str) -> str:
    """Return an option of the severity as the table spells it: ``Gass 2`` of ``Gass stage 2``."""
    words = option.split()
    return " ".join(words[:1] + words[-1:])


def impact_of(sample: Sample) -> int | None:
    """Return how much a wrong decision about the case matters, from 1 to 5; None if it is not known."""
    case = case_of(sample)
    row = None if isinstance(case, Missing) else management_of(case.diagnosis, case.grade)
    return row.impact if row else None
