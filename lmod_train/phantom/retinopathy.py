"""Diabetic retinopathy of a known grade: lesions of the ICDR scale in a drawn eye.

International Clinical Diabetic Retinopathy scale (Wilkinson et al., Ophthalmology 110 (2003) 1677): 1 is
microaneurysms only, 2 more than microaneurysms but less than severe, 3 many haemorrhages in all four quadrants, 4 new
vessels or preretinal haemorrhage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.checks import check_seed
from lmod_train.phantom.eye import Eye, Lesion, LesionKind, Point

Exudates: TypeAlias = Literal["any", "none", "far", "near"]

# Mean radii in units of the image side. Microaneurysms are drawn large enough to be visible at 224 pixels.
_RADII: dict[LesionKind, Point] = {
    "microaneurysm": (0.0055, 0.0080),
    "haemorrhage": (0.011, 0.020),
    "hard exudate": (0.009, 0.015),
    "cotton-wool spot": (0.016, 0.028),
}
_PRERETINAL = (0.060, 0.080)
_QUADRANTS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A lesion without a position; `where` is ``any``, ``near`` or ``far`` (of the fovea), or a quadrant (signs)."""

    kind: LesionKind
    radii: Point
    where: str | tuple[int, int] = "any"


def grade_eye(eye: Eye, grade: int, seed: int, exudates: Exudates = "any") -> Eye:
    """Return the eye with its lesions replaced by those of an ICDR grade; the diagnosis is set accordingly.

    Grade 0: none. 1: 8 to 16 microaneurysms. 2: also 3 to 6 haemorrhages and 4 to 10 hard exudates. 3: also 5 to 7
    haemorrhages in each quadrant of the field and 3 to 5 cotton-wool spots. 4: also a preretinal haemorrhage, three
    times as large as any other. Lesions are inside the field, off the disc and apart from each other; all but exudates
    ``near`` the fovea are off the fovea.

    Args:
        eye: Any drawn eye.
        grade: ICDR grade, 0 to 4.
        seed: Seed of positions and sizes, from 0.
        exudates: Position of the hard exudates of grades 2 to 4: ``any``, ``none`` (no exudates), ``far`` (each centre
            more than a disc diameter from the fovea) or ``near`` (at least two closer than that). The last three are
            the grades of IDRiD's risk of macular edema.

    Raises:
        BadArgument: The grade is not 0 to 4, the seed negative, or `exudates` has another value.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> eye = draw_eye(5, "normal")
        >>> grade_eye(eye, 0, 7).lesions, sorted({lesion.kind for lesion in grade_eye(eye, 1, 7).lesions})
        ((), ['microaneurysm'])
        >>> [len(grade_eye(eye, grade, 7).lesions) for grade in (2, 3)]
        [23, 54]
    """
    if grade not in range(5):
        raise BadArgument("grade", grade, "an ICDR grade, 0 to 4", "use 0, 1, 2, 3 or 4")
    check_seed(seed)
    if exudates not in ("any", "none", "far", "near"):
        raise BadArgument("exudates", exudates, "any, none, far or near", "leave it out for any place")
    rng = np.random.default_rng([seed, grade])
    laid: list[Lesion] = []
    for wanted in _wanted(rng, grade, exudates):
        laid.append(_lay(rng, eye, wanted, laid))
    before = "normal" if eye.diagnosis == "diabetic retinopathy" else eye.diagnosis
    return replace(eye, lesions=tuple(laid), diagnosis="diabetic retinopathy" if grade else before)


def _wanted(rng: np.random.Generator, grade: int, exudates: Exudates) -> Iterator[_Wanted]:
    """Yield the lesions of a grade, large ones first, so that small ones fit between them."""
    if grade == 4:
        yield _Wanted("haemorrhage", _PRERETINAL)
    if grade >= 3:
        yield from _some(rng, "cotton-wool spot", 3, 5)
        for quadrant in _QUADRANTS:
            yield from _some(rng, "haemorrhage", 5, 7, quadrant)
    elif grade == 2:
        yield from _some(rng, "haemorrhage", 3, 6)
    if grade >= 2 and exudates != "none":
        if exudates == "near":
            yield from _some(rng, "hard exudate", 2, 2, "near")
        yield from _some(rng, "hard exudate", 4, 8, "far" if exudates == "far" else "any")
    if grade >= 1:
        yield from _some(rng, "microaneurysm", 8, 16)


def _some(
    rng: np.random.Generator, kind: LesionKind, least: int, most: int, where: str | tuple[int, int] = "any"
) -> list[_Wanted]:
    return [_Wanted(kind, _RADII[kind], where)] * int(rng.integers(least, most + 1))


def _lay(rng: np.random.Generator, eye: Eye, wanted: _Wanted, laid: Sequence[Lesion]) -> Lesion:
    """Return the lesion at the first random position in the field, off the disc, and apart from those in `laid`."""
    radius = rng.uniform(*wanted.radii)
    diameter = 2 * max(eye.disc_radii)
    near = wanted.where == "near"
    edge = min(eye.camera.field_radius, 0.49) - 1.5 * radius - 0.01  # outlines reach out to 1.5 radii
    while True:
        x, y = (np.array(eye.fovea) + rng.uniform(-diameter, diameter, 2)) if near else rng.uniform(0.06, 0.94, 2)
        from_fovea = math.hypot(x - eye.fovea[0], y - eye.fovea[1])
        if isinstance(wanted.where, tuple):
            placed = (x - eye.camera.field[0]) * wanted.where[0] > 0 and (y - eye.camera.field[1]) * wanted.where[1] > 0
        else:  # the complete lesion within or beyond the disc diameter, for either radius of the disc
            bounds = {"near": (0.0, 0.8 * diameter), "far": (1.05 * diameter + 1.5 * radius, 2.0), "any": (0.0, 2.0)}
            placed = bounds[wanted.where][0] <= from_fovea < bounds[wanted.where][1]
        off_fovea = from_fovea > radius + (0.01 if near else 0.04)
        off_disc = _in_radii((x, y), eye.disc, eye.disc_radii) > 1.1 + 1.5 * radius / min(eye.disc_radii)
        in_field = math.hypot(x - eye.camera.field[0], y - eye.camera.field[1]) < edge
        apart = all(math.hypot(x - o.x, y - o.y) > 1.2 * (radius + o.radius) for o in laid)
        if placed and off_fovea and off_disc and in_field and apart:
            return Lesion(wanted.kind, float(x), float(y), float(radius))


def _in_radii(point: Point, centre: Point, radii: Point) -> float:
    """Return the distance from the centre of an ellipse in units of its radii; 1 on the outline."""
    return math.hypot((point[0] - centre[0]) / radii[0], (point[1] - centre[1]) / radii[1])
