"""Photographs of the lens in rows of X-PCR: quality, place and width of the pupil, opacity, cataract and decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from lmod_train.core.option_letters import both_or_neither
from lmod_train.phantom.eye_photograph import EyePhotograph, OuterEye, draw_eye_photograph, render
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

CATARACT = ("without cataract", "cataract present")
GRADES = tuple(f"opacity grade {n}" for n in range(4))
DECISIONS = (
    "Routine eye examinations",
    "New glasses, then review",
    "Refer to cataract clinic",
    "Plan surgery of the lens",
)
"""Decision by grade of the opacity, for drawings only: no clinical recommendation."""

HAZES = ((0.0, 0.0), (0.28, 0.36), (0.54, 0.62), (0.90, 1.0))
"""Haze of the lens in each grade."""

WIDTHS = ((0.30, 0.38), (0.54, 0.62))
"""Radius of a narrow and of a wide pupil, in radii of the iris."""

_SHARES = (0.4, 0.2, 0.2, 0.2)
_VIEW = "photograph"


@dataclass(frozen=True, slots=True)
class Lens:
    """Truth of one photograph of an eye from outside.

    Attributes:
        photograph: Photograph of one eye.
        grade: Grade of the opacity, 0 to 3.
        defect: Defect of the quality, one of `DEFECTS`.
    """

    photograph: EyePhotograph
    grade: int
    defect: str

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        (eye,) = self.photograph.eyes
        findings = both_or_neither("a lens opacity", "a wide pupil")
        finding = findings[(eye.haze > 0) + 2 * (eye.pupil > 0.5)]
        scale = "(0 black pupil; 1 dark grey; 2 middle grey; 3 white)"
        return (
            quality_question(_VIEW, self.defect),
            place_question(_VIEW, "pupil", *_middle(eye)),
            Drawn(
                "LC",
                "findings",
                "Characterize the findings (a pupil is wide from half the width of the iris). Which of the two does "
                "the image show: a lens opacity or a wide pupil?",
                one_of(finding, findings),
            ),
            Drawn(
                "DD",
                "diagnosis",
                "What is the diagnosis, as far as cataract is concerned?",
                one_of(CATARACT[self.grade > 0], CATARACT),
            ),
            Drawn(
                "SG",
                "opacity grade",
                f"Grade the severity of the opacity of the lens by the colour of the pupil {scale}.",
                one_of(GRADES[self.grade], GRADES),
            ),
            Drawn(
                "CD", "decision", "What is the most appropriate next step?", one_of(DECISIONS[self.grade], DECISIONS)
            ),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the photograph, RGB, `size` pixels a side."""
        return with_defect(render(self.photograph, size), self.defect, self.photograph.seed)


def draw_lens(seed: int) -> Lens:
    """Return the truth of one photograph; quality, place, pupil and opacity are independent of each other.

    Args:
        seed: From 0.
    """
    rng = np.random.default_rng([seed, 32])
    view = "right" if rng.random() < 0.5 else "left"
    seeds = (eye_seed("xpcr lens", seed, k) for k in range(100))
    photographs = (draw_eye_photograph(own, "right" if view == "right" else "left", cataract=False) for own in seeds)
    photograph = next(one for one in photographs if is_clear(*_middle(one.eyes[0])))
    grade, wide = int(rng.choice(len(HAZES), p=_SHARES)), int(rng.integers(2))
    haze, pupil = (float(rng.uniform(*span)) for span in (HAZES[grade], WIDTHS[wide]))
    eye = replace(photograph.eyes[0], haze=haze, pupil=pupil)
    return Lens(replace(photograph, eyes=(eye,)), grade, draw_defect(rng))


def _middle(eye: OuterEye) -> tuple[float, float]:
    """Return the centre of the pupil."""
    return eye.x + eye.width * eye.gaze[0], eye.y + eye.width * eye.stretch * eye.gaze[1]
