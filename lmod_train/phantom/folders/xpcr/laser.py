"""Laser scans of the fundus in rows of X-PCR: quality, place of the disc, cup, glaucoma, its grade and the decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.folders.xpcr.drawing import (
    Drawn,
    draw_defect,
    is_clear,
    one_of,
    place_question,
    quality_question,
    with_defect,
)
from lmod_train.phantom.shots import eye_seed
from lmod_train.phantom.slo import scan, width_of

RATIOS = ("under 0.30", "0.3 to 0.5", "0.5 to 0.7", "above 0.70")
GLAUCOMA = ("without glaucoma", "glaucoma present")
GRADES = tuple(f"cup grade {n}" for n in range(4))
DECISIONS = (
    "Routine eye examinations",
    "Review within six months",
    "Refer to glaucoma clinic",
    "Start glaucoma treatment",
)
"""Decision by grade of the cup, for drawings only: no clinical recommendation."""

BANDS = ((0.20, 0.28), (0.32, 0.48), (0.61, 0.64), (0.66, 0.69), (0.71, 0.78), (0.82, 0.85))
"""Vertical cup-to-disc ratios that are drawn, clear of the borders of classes (0.3, 0.5, 0.7) and grades."""

_SHARES = (0.2, 0.2, 0.2, 0.1, 0.1, 0.2)
_CLASSES, _BORDERS, _ILL = (0.3, 0.5, 0.7), (0.5, 0.65, 0.8), 0.6
_VIEW = "laser scan"


@dataclass(frozen=True, slots=True)
class Laser:
    """Truth of one laser scan: the eye, whose cup decides findings, diagnosis, grade and decision, and a defect."""

    eye: Eye
    defect: str

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        ratio, grade = self.eye.cup_to_disc, sum(self.eye.cup_to_disc > border for border in _BORDERS)
        ratios = one_of(RATIOS[sum(ratio > border for border in _CLASSES)], RATIOS)
        scale = "(0 below {}; 1 up to {}; 2 up to {}; 3 above)".format(*_BORDERS)
        wide = width_of(1000) / 1000
        x, y = wide * self.eye.disc[0], 0.5 + wide * (self.eye.disc[1] - 0.5)
        return (
            quality_question(_VIEW, self.defect),
            place_question(_VIEW, "optic disc", x, y, wide),
            Drawn("LC", "cup", "Characterize the optic cup: what is the vertical cup-to-disc ratio?", ratios),
            Drawn(
                "DD",
                "diagnosis",
                "What is the diagnosis, as far as glaucoma is concerned?",
                one_of(GLAUCOMA[ratio > _ILL], GLAUCOMA),
            ),
            Drawn(
                "SG",
                "cup grade",
                f"Grade the severity of the cupping by the vertical cup-to-disc ratio {scale}.",
                one_of(GRADES[grade], GRADES),
            ),
            Drawn("CD", "decision", "What is the most appropriate next step?", one_of(DECISIONS[grade], DECISIONS)),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the scan, RGB, `size` pixels high."""
        return with_defect(Image.fromarray(scan(self.eye, size)).convert("RGB"), self.defect, self.eye.seed)


def draw_laser(seed: int) -> Laser:
    """Return the truth of one laser scan; quality, place and cup are independent of each other.

    Args:
        seed: From 0.
    """
    rng = np.random.default_rng([seed, 31])
    eyes = (draw_eye(eye_seed("xpcr laser", seed, k), "normal") for k in range(100))
    eye = next(eye for eye in eyes if is_clear(*eye.disc))
    low, high = BANDS[rng.choice(len(BANDS), p=_SHARES)]
    return Laser(_cupped(eye, float(rng.uniform(low, high))), draw_defect(rng))


def _cupped(eye: Eye, ratio: float) -> Eye:
    """Return the eye with another vertical cup-to-disc ratio, the cup inside the disc as before."""
    larger, nearer = ratio / eye.cup_to_disc, (1 - ratio) / (1 - eye.cup_to_disc)
    (x, y), (u, v) = eye.disc, eye.cup
    return replace(
        eye,
        diagnosis="glaucoma" if ratio > _ILL else "normal",
        cup=(x + (u - x) * nearer, y + (v - y) * nearer),
        cup_radii=(eye.cup_radii[0] * larger, eye.cup_radii[1] * larger),
        cup_to_disc=ratio,
    )
