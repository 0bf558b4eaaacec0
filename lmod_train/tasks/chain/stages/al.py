"""Localisation (AL): where a structure lies, from boxes of masks and points, or which structure is abnormal."""

from __future__ import annotations

from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages.posed import Missing, Posed, box_of, centre, structures_in

MARGIN = 0.01
"""Share of the image's longer side within which a place is too close to a border between two places to be asked for."""

QUADRANTS = ("upper left quarter", "upper right quarter", "lower left quarter", "lower right quarter")
DIRECTIONS = ("left of it, above", "right of it, above", "left of it, below", "right of it, below")
SHIFTS = ("left by above 5 %", "left by under 5 %", "right by under 5 %", "right by above 5 %")
LANDMARKS = ("optic disc", "pupil", "eye")
"""Structures of which the first that is outlined is asked for, if there is neither a B-scan nor a fovea."""
STRUCTURES = ("none is abnormal", "optic nerve head", "the macular area", "vascular network")

_VIEWS = {"SLO": "laser scan", "SS": "frame"}
_FLAGS = ("abnormal optic disc", "abnormal macula", "abnormal vessels")
_CLOSE = Missing("too close to a border between two places")


def pose(sample: Sample) -> Posed | Missing:
    """Return a question about a place; level R."""
    if "retina" in structures_in(sample):
        return _hole(sample)
    if any(flag in sample.labels for flag in _FLAGS):
        return _abnormal(sample)
    return _landmark(sample)


def _hole(sample: Sample) -> Posed | Missing:
    """Return how far the macular hole's centre lies from the middle of a B-scan."""
    box = box_of(sample, "macular hole")
    if box is None:
        return Missing("no box of a macular hole")
    shift = centre(box)[0] / sample.size[0] - 0.5
    if min(abs(shift - border) for border in (-0.05, 0, 0.05)) < MARGIN / 2:
        return _CLOSE
    question = (
        "Where does the centre of the macular hole lie, relative to the middle of the scan and in percent of "
        "the scan's width?"
    )
    return Posed(question, SHIFTS, SHIFTS[sum(shift > border for border in (-0.05, 0, 0.05))], "mask", "R")


def _abnormal(sample: Sample) -> Posed | Missing:
    """Return which one of disc, macula and vessels is labelled abnormal."""
    flags = [sample.labels.get(flag) for flag in _FLAGS]
    if None in flags:
        return Missing("not all structures are labelled")
    if flags.count("yes") > 1:
        return Missing("several structures are abnormal")
    truth = STRUCTURES[1 + flags.index("yes") if "yes" in flags else 0]
    question = "Which structure is primarily abnormal: the optic nerve head, the macula or the vessels?"
    return Posed(question, STRUCTURES, truth, "labels", "R")


def _landmark(sample: Sample) -> Posed | Missing:
    """Return where the fovea lies from the disc; without a fovea, in which quarter disc, pupil or eye lies."""
    found = structures_in(sample)
    landmark = next((name for name in LANDMARKS if name in found), LANDMARKS[0])
    box, fovea = box_of(sample, landmark), box_of(sample, "fovea")
    if box is None:
        return Missing(f"no box of the {landmark}")
    place = centre(box)
    middle = (sample.size[0] / 2, sample.size[1] / 2)
    (x, y), (x0, y0) = (centre(fovea), place) if fovea else (place, middle)
    if min(abs(x - x0), abs(y - y0)) < MARGIN * max(sample.size):
        return _CLOSE
    at = (x > x0) + 2 * (y > y0)
    if fovea:
        question = "Where does the fovea lie in the photograph, seen from the centre of the optic disc?"
        return Posed(question, DIRECTIONS, DIRECTIONS[at], "points of disc and fovea", "R")
    view, origin = _VIEWS.get(sample.modality, "photograph"), "box" if landmark == "eye" else "mask or outline"
    question = f"In which quarter of the {view} does the centre of the {landmark} lie?"
    return Posed(question, QUADRANTS, QUADRANTS[at], origin, "R")
