"""Decision (CD): management of the diagnosis and grade by a table of published guidance; a draft."""

from __future__ import annotations

from lmod_train.tasks.stages.case import case_of
from lmod_train.tasks.stages.posed import Missing, Posed
from lmod_train.types import Sample
from lmod_train.vocabulary.management import CLASSES, management_of

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


def impact_of(sample: Sample) -> int | None:
    """Return how much a wrong decision about the case matters, from 1 to 5; None if it is not known."""
    case = case_of(sample)
    row = None if isinstance(case, Missing) else management_of(case.diagnosis, case.grade)
    return row.impact if row else None
