"""What sex and age group are called, and the reference reply of the one template that asks for both."""

from __future__ import annotations

from lmod_train.core.types import Patient
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS

SEXES = {"male": "MALE", "female": "FEMALE"}
"""A patient's sex -> the prompts' word."""


def label_of_age(age: float) -> str:
    """Return the label of the group that an age in years lies in.

    Example:
        >>> label_of_age(17.9), label_of_age(18), label_of_age(39.5), label_of_age(102)
        ('<18', '18–29', '30–39', '80+')
    """
    return next(g.label for g in AGE_GROUPS if g.below is None or age < g.below)


def both(patient: Patient) -> str:
    """Return sex and age group in the form of LMOD v1's template, the known one where one is known, else "".

    The template (section 3.1.2) asks for both at once, "Sex/Age group: <MALE/FEMALE> / <AGE GROUP>", and serves two
    tasks. The reply is whole for both: the same image and the same words have one target.

    Example:
        >>> both(Patient(sex="male", age=64)), both(Patient(age=64)), both(Patient())
        ('Sex/Age group: MALE / 60–69', 'Sex/Age group: 60–69', '')
    """
    known = [SEXES[patient.sex]] if patient.sex is not None else []
    known += [label_of_age(patient.age)] if patient.age is not None else []
    return f"Sex/Age group: {' / '.join(known)}" if known else ""
