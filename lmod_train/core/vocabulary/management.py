"""Management of an eye by diagnosis and grade, from published guidance, and how much a case matters.

DRAFT: no clinician has read this table yet. It serves the last stage of chains (`lmod_train.tasks.chain.stages.cd`) and
is no advice for any patient. To add a diagnosis, add rows.
"""

from __future__ import annotations

from dataclasses import dataclass

DRAFT = "draft, not yet read by a clinician"
"""State of the table; the manifest of a curated folder prints it beside the counts of the stage CD."""

OBSERVE = "observe, routine screening"
REVIEW = "review at a short interval"
REFER = "refer to an eye specialist"
TREAT = "treat the disease actively"
EMERGENCY = "emergency: within 24 hours"

CLASSES = (OBSERVE, REVIEW, REFER, TREAT, EMERGENCY)
"""Management classes, from the least to the most urgent; their texts are of one length, so that none stands out."""

_ICO = "ICO Guidelines for Diabetic Eye Care, International Council of Ophthalmology, updated 2017"
_HOLE = "AAO Preferred Practice Pattern, Idiopathic Macular Hole, American Academy of Ophthalmology, 2019"
_SUSPECT = "AAO Preferred Practice Pattern, Primary Open-Angle Glaucoma Suspect, 2020"
_GLAUCOMA = "AAO Preferred Practice Pattern, Primary Open-Angle Glaucoma, 2020"
_DETACHED = "AAO Preferred Practice Pattern, Posterior Vitreous Detachment and Retinal Breaks, 2019"


@dataclass(frozen=True, slots=True)
class Management:
    """One row of the table.

    Attributes:
        diagnosis: Disease, or its absence ("no glaucoma").
        grade: Grade of the severity; empty if it does not matter.
        management: One of `CLASSES`.
        reference: Guidance with its year.
        impact: How much a wrong decision about such a case matters, from 1 to 5; ours, not part of the guidance.
    """

    diagnosis: str
    grade: str
    management: str
    reference: str
    impact: int


MANAGEMENT: tuple[Management, ...] = (
    # International Clinical Diabetic Retinopathy scale; re-examination and referral of table 2
    Management("diabetic retinopathy", "ICDR 0", OBSERVE, _ICO, 1),
    Management("diabetic retinopathy", "ICDR 1", REVIEW, _ICO, 2),
    Management("diabetic retinopathy", "ICDR 2", REFER, _ICO, 3),
    Management("diabetic retinopathy", "ICDR 3", REFER, _ICO, 4),
    Management("diabetic retinopathy", "ICDR 4", TREAT, _ICO, 5),
    # with hard exudates or thickening in the posterior pole: referral is required at any grade
    Management("diabetic retinopathy with macular edema", "ICDR 1", REFER, _ICO, 4),
    Management("diabetic retinopathy with macular edema", "ICDR 2", REFER, _ICO, 4),
    Management("diabetic retinopathy with macular edema", "ICDR 3", REFER, _ICO, 5),
    Management("diabetic retinopathy with macular edema", "ICDR 4", TREAT, _ICO, 5),
    # Gass stages: stage 1 often closes by itself, a full-thickness hole is operated on
    Management("macular hole", "Gass 1", REVIEW, _HOLE, 2),
    Management("macular hole", "Gass 2", TREAT, _HOLE, 4),
    Management("macular hole", "Gass 3", TREAT, _HOLE, 4),
    Management("macular hole", "Gass 4", TREAT, _HOLE, 5),
    # grades of the vertical cup-to-disc ratio (`lmod_train.tasks.chain.stages.sg`): a large cup alone makes a suspect
    Management("no glaucoma", "cup 0", OBSERVE, _SUSPECT, 1),
    Management("no glaucoma", "cup 1", REVIEW, _SUSPECT, 2),
    Management("no glaucoma", "cup 2", REFER, _SUSPECT, 3),
    Management("no glaucoma", "cup 3", REFER, _SUSPECT, 3),
    Management("glaucoma", "cup 0", TREAT, _GLAUCOMA, 3),
    Management("glaucoma", "cup 1", TREAT, _GLAUCOMA, 3),
    Management("glaucoma", "cup 2", TREAT, _GLAUCOMA, 4),
    Management("glaucoma", "cup 3", TREAT, _GLAUCOMA, 5),
    Management("retinal detachment", "", EMERGENCY, _DETACHED, 5),
)

_ROWS = {(row.diagnosis, row.grade): row for row in MANAGEMENT}


def management_of(diagnosis: str, grade: str) -> Management | None:
    """Return the row of a diagnosis and its grade; None if the table has none.

    Example:
        >>> row = management_of("diabetic retinopathy", "ICDR 4")
        >>> row.management, row.impact, management_of("drusen", "")
        ('treat the disease actively', 5, None)
    """
    return _ROWS.get((diagnosis, grade))
