"""Lesions (LC): which findings an image shows, from masks, outlines and labels."""

from __future__ import annotations

from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages.cup import cup_to_disc
from lmod_train.tasks.chain.stages.posed import Missing, Posed, drawn, pair, structures_in

QUESTION = "Characterize the findings. Which of the two does the image show: {} or {}?"

KINDS = ("microaneurysms", "haemorrhages", "hard exudates", "soft exudates")
"""Lesions of diabetic retinopathy whose masks say whether they are there."""

FLAGS = {
    "hemorrhage": "hemorrhage",
    "drusen": "drusen",
    "increased cup-to-disc ratio": "a large cup",
    "nevus": "a nevus",
    "scar": "a scar",
}
"""Labels of findings -> words of the options."""

INSTRUMENTS = (
    *("slit knife", "incision knife", "gauge", "spatula", "capsulorhexis cystotome", "capsulorhexis forceps"),
    *("katena forceps", "phacoemulsification tip", "irrigation-aspiration", "lens injector"),
)
"""Instruments of cataract surgery; a frame with any outline has those of all its instruments."""

RATIOS = ("under 0.30", "0.3 to 0.5", "0.5 to 0.7", "above 0.70")
"""Classes of the vertical cup-to-disc ratio."""

BORDERS = (0.3, 0.5, 0.7)


def pose(sample: Sample) -> Posed | Missing:
    """Return a question about findings."""
    if "retina" in structures_in(sample):
        return _hole(sample)
    if sample.modality == "SS":
        return _instruments(sample)
    if sum(kind in sample.labels for kind in KINDS) > 1:
        return _kinds(sample)
    if sum(flag in sample.labels for flag in FLAGS) > 1:
        return _flags(sample)
    return _cup(sample)


def _hole(sample: Sample) -> Posed:
    """Return whether a B-scan's mask has a hole and cysts."""
    found = structures_in(sample)
    named = [("macular hole", "macular hole" in found), ("intraretinal cysts", "intraretinal cysts" in found)]
    return pair(QUESTION.format("macular hole", "intraretinal cysts"), named, "mask")


def _instruments(sample: Sample) -> Posed | Missing:
    """Return which of two instruments, drawn by the sample's key, a frame of surgery shows."""
    found = structures_in(sample)
    if not found:
        return Missing("no outline in the frame")
    names = drawn(INSTRUMENTS, sample, "LC")[:2]
    return pair(QUESTION.format(*names), [(name, name in found) for name in names], "outlines")


def _kinds(sample: Sample) -> Posed:
    """Return whether two kinds of lesion, drawn by the sample's key, have a mask."""
    names = drawn([kind for kind in KINDS if kind in sample.labels], sample, "LC")[:2]
    return pair(QUESTION.format(*names), [(name, sample.labels[name] == "yes") for name in names], "mask")


def _flags(sample: Sample) -> Posed | Missing:
    """Return which of two findings, drawn by the sample's key, are labelled.

    From ICDR 2 the retinopathy may have haemorrhages of its own, which the label ``no`` does not deny.
    """
    names = drawn([name for name in FLAGS if name in sample.labels], sample, "LC")[:2]
    own = sample.labels.get("icdr", "0") >= "2" and sample.labels.get("hemorrhage") == "no"
    if own and "hemorrhage" in names:
        return Missing("haemorrhages of retinopathy are not labelled")
    words = [FLAGS[name] for name in names]
    return pair(QUESTION.format(*words), [(FLAGS[name], sample.labels[name] == "yes") for name in names], "labels")


def _cup(sample: Sample) -> Posed | Missing:
    """Return the class of the vertical cup-to-disc ratio."""
    ratio = cup_to_disc(sample, BORDERS)
    if isinstance(ratio, Missing):
        return ratio
    question = "Characterize the optic cup: what is the vertical cup-to-disc ratio?"
    return Posed(question, RATIOS, RATIOS[sum(ratio > border for border in BORDERS)], "mask or outline", "A")
