"""Image quality (IQA): the defects that the source's quality flags note."""

from __future__ import annotations

from lmod_train.tasks.stages.posed import Missing, Posed, drawn, pair
from lmod_train.types import Sample

QUESTION = "How good is this image? Which of the two defects does it have: {} or {}?"

DEFECTS = (
    {
        "focus": "a lack of focus",
        "illumination": "poor illumination",
        "image field": "a misplaced field",
        "artifacts": "visible artifacts",
    },
    {
        "signal strength low": "a low signal strength",
        "signal shield": "a shielded signal",
        "blurred": "a blurred scan",
    },
)
"""For each set of flags (BRSET, OIMHS): defect as the source's quality notes it -> words of the options."""

_CLEAN = ("Adequate", "no defect noted")


def pose(sample: Sample) -> Posed | Missing:
    """Return which of two defects, drawn by the sample's key, the flags note; level R."""
    quality = sample.patient.quality
    if not quality:
        return Missing("no quality flag")
    noted = noted_in(quality)
    known = next((defects for defects in DEFECTS if noted and noted <= {*defects, *_CLEAN}), None)
    if known is None:
        return Missing("quality without a named defect")
    names = drawn(tuple(known), sample, "IQA")[:2]
    words = [known[name] for name in names]
    asked = pair(QUESTION.format(*words), [(known[name], name in noted) for name in names], "quality flags")
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
