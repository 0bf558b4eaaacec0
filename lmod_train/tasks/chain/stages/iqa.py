"""Image quality (IQA): the defects that the source's quality flags note, or one that curation adds to the image."""

from __future__ import annotations

from lmod_train.core.perturbations import perturbation_name
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages.posed import Missing, Posed, drawn, pair

FLAGGED = "How good is this image? Which of the two defects does it have: {} or {}?"
ADDED = "How good is this image? Which defect does it have?"

DEFECTS = {
    "Adequate": {
        "focus": "a lack of focus",
        "illumination": "poor illumination",
        "image field": "a misplaced field",
        "artifacts": "visible artifacts",
    },
    "no defect noted": {
        "signal strength low": "a low signal strength",
        "signal shield": "a shielded signal",
        "blurred": "a blurred scan",
    },
}
"""Quality without a defect, by which the set of flags is known (BRSET, OIMHS) -> defect as the source's quality notes
it -> words of the options."""

CLEAN = "no notable defects"
KINDS = {
    "blur": "out-of-focus image",
    "underexposure": "underexposed image",
    "overexposure": "over-exposed image",
    "shadow": "shadow on one side",
    "crop": "image side cut off",
}
"""Perturbation (`lmod_train.core.perturbations`) -> words of the options; all of one length, as `CLEAN` is."""

GRADES = (2, 3, 4)
"""Grades that are drawn: 1 is barely visible, and 5 hides what the later stages ask for."""


def pose(sample: Sample, share: float) -> Posed | Missing:
    """Return which defect an image has; level R.

    Args:
        sample: With or without quality flags.
        share: Of the samples without flags, how many are shown with a defect, 0 to 1; with 0 they are not asked.
    """
    if sample.patient.quality:
        return _flagged(sample, noted_in(sample.patient.quality))
    if not share or sample.image is None:
        return Missing("no quality flag")
    truth = KINDS[_kind(sample)] if _is_perturbed(sample, share) else CLEAN
    return Posed(ADDED, (CLEAN, *(KINDS[kind] for kind in _listed(sample))), truth, "perturbation", "R")


def perturbation_of(sample: Sample, share: float) -> str:
    """Return the defect that all questions about a sample are shown with, e.g. ``blur-3``; empty for none.

    It is drawn by the sample's key; only samples without quality flags get one.
    """
    if sample.patient.quality or sample.image is None or not _is_perturbed(sample, share):
        return ""
    return perturbation_name(_kind(sample), drawn(GRADES, sample, "IQA", "grade")[0])


def _flagged(sample: Sample, noted: set[str]) -> Posed | Missing:
    """Return which of two defects, drawn by the sample's key, the flags note."""
    known = next((defects for clean, defects in DEFECTS.items() if noted <= {clean, *defects}), None)
    if known is None:
        return Missing("quality without a named defect")
    names = drawn(tuple(known), sample, "IQA")[:2]
    words = [known[name] for name in names]
    asked = pair(FLAGGED.format(*words), [(known[name], name in noted) for name in names], "quality flags")
    return Posed(asked.question, asked.options, asked.truth, asked.origin, "R")


def noted_in(quality: str) -> set[str]:
    """Return the defects that a quality names; its own word if it names none.

    Example:
        >>> sorted(noted_in("Inadequate (focus, artifacts)")), noted_in("no defect noted")
        (['artifacts', 'focus'], {'no defect noted'})
        >>> sorted(noted_in("signal strength low; blurred"))
        ['blurred', 'signal strength low']
    """
    _, bracket, inside = quality.partition(" (")
    return set(inside.removesuffix(")").split(", ")) if bracket else set(quality.split("; "))


def _listed(sample: Sample) -> list[str]:
    """Return the three kinds that are options, whether the image has one of them or none."""
    return drawn(tuple(KINDS), sample, "IQA")[:3]


def _kind(sample: Sample) -> str:
    """Return the kind that the image has, if it has any: one of those listed."""
    return drawn(_listed(sample), sample, "IQA", "kind")[0]


def _is_perturbed(sample: Sample, share: float) -> bool:
    return int(shuffle_key("chain", sample.source, sample.key, "IQA", "defect")[:8], 16) < share * 16**8
