"""Diagnosis and grade of a sample as the management table spells them."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages.cup import cup_to_disc
from lmod_train.tasks.chain.stages.posed import Missing, structures_in

CUP_BORDERS = (0.5, 0.65, 0.8)
"""Vertical cup-to-disc ratios at which the grades 1, 2 and 3 of a cup begin; ours, no published scale."""

_RETINOPATHY = "diabetic retinopathy"


@dataclass(frozen=True, slots=True)
class Case:
    """Diagnosis and grade, keys of `lmod_train.core.vocabulary.management`."""

    diagnosis: str
    grade: str


def case_of(sample: Sample) -> Case | Missing:
    """Return diagnosis and grade from the sample's own labels and masks, or why one of them is not known."""
    labels = sample.labels
    if "macular_hole_stage" in labels:
        return shows_hole(sample) or Case("macular hole", f"Gass {labels['macular_hole_stage']}")
    if "icdr" in labels:
        return _retinopathic(sample)
    if "glaucoma" in labels:
        grade = cup_grade(sample)
        if isinstance(grade, Missing):
            return grade
        return Case("glaucoma" if labels["glaucoma"] == "yes" else "no glaucoma", f"cup {grade}")
    return Missing("no graded diagnosis")


def _retinopathic(sample: Sample) -> Case | Missing:
    """Return retinopathy with its ICDR grade; edema beside it changes the management."""
    ill = retinopathy(sample)
    if isinstance(ill, Missing):
        return ill
    if sample.labels.get("retinal detachment") == "yes":
        return Missing("retinal detachment decides, not retinopathy")
    edema = sample.labels.get("macular edema") == "yes" or sample.labels.get("macular_edema_risk", "0") != "0"
    if edema and not ill:
        return Missing("macular edema without retinopathy")
    return Case(f"{_RETINOPATHY} with macular edema" if edema else _RETINOPATHY, f"ICDR {sample.labels['icdr']}")


def retinopathy(sample: Sample) -> bool | Missing:
    """Return whether there is diabetic retinopathy; missing without a label, or where flag and grades contradict."""
    labels = sample.labels
    graded = [labels[scale] != "0" for scale in ("icdr", "sdrg") if scale in labels]
    flagged = [labels[_RETINOPATHY] == "yes"] if _RETINOPATHY in labels else []
    stated = {*graded, *flagged}
    if len(stated) > 1:
        return Missing("flag and grade of retinopathy contradict")
    return stated.pop() if stated else Missing("no label of a diagnosis")


def shows_hole(sample: Sample) -> Missing | None:
    """Return why a scan of an eye with a macular hole does not show it; None if its mask does."""
    found = structures_in(sample)
    if "macular hole" in found:
        return None
    return Missing("the mask shows no hole" if found else "no mask that can be read")


def cup_grade(sample: Sample) -> int | Missing:
    """Return the grade of the cup's size, 0 to 3, from the vertical cup-to-disc ratio."""
    ratio = cup_to_disc(sample, CUP_BORDERS)
    return ratio if isinstance(ratio, Missing) else sum(ratio > border for border in CUP_BORDERS)
