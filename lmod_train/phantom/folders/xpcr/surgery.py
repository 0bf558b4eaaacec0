"""Frames of cataract surgery in rows of X-PCR: quality, pupil, instruments, state and opacity of the lens, step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from lmod_train.core.option_letters import both_or_neither
from lmod_train.phantom.folders.xpcr.drawing import (
    Drawn,
    draw_defect,
    is_clear,
    one_of,
    place_question,
    quality_question,
    with_defect,
)
from lmod_train.phantom.instruments import INSTRUMENTS, Point
from lmod_train.phantom.shots import eye_seed
from lmod_train.phantom.surgery import Scene, draw_operation, draw_scene, render

LENSES = ("a natural lens", "implanted lens")
GRADES = tuple(f"opacity grade {n}" for n in range(4))
STEPS = (
    "Aspirate lens: no energy",
    "Aspirate lens: no energy",
    "Break lens at low energy",
    "Break lens at top energy",
)
CLOSE = "Close the small incision"
"""Step by grade of the natural lens, and step with an implanted lens, for drawings only: no recommendation."""

HAZES = ((0.0, 0.0), (0.22, 0.28), (0.50, 0.58), (0.85, 0.95))
"""Haze of the natural lens in each grade."""

_IMPLANTED, _SHARES, _WIDE = 0.35, (0.12, 0.28, 0.30, 0.30), 4 / 3
_VIEW = "frame"


@dataclass(frozen=True, slots=True)
class Surgery:
    """Truth of one frame of surgery.

    Attributes:
        scene: What is drawn.
        named: The two instruments that are asked for.
        grade: Grade of the opacity in the pupil, 0 to 3; 0 with an implanted lens.
        defect: Defect of the quality, one of `DEFECTS`.
    """

    scene: Scene
    named: tuple[str, str]
    grade: int
    defect: str

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        here = {instrument.kind for instrument in self.scene.instruments}
        findings, (first, second) = both_or_neither(*self.named), self.named
        implanted = bool(self.scene.lens)
        steps = (CLOSE, *dict.fromkeys(STEPS))
        return (
            quality_question(_VIEW, self.defect),
            place_question(_VIEW, "pupil", *_middle(self.scene.pupil), _WIDE),
            Drawn(
                "LC",
                "instruments",
                f"Characterize the findings. Which of the two does the image show: {first} or {second}?",
                one_of(findings[(first in here) + 2 * (second in here)], findings),
            ),
            Drawn("DD", "lens", "What is the state of the lens?", one_of(LENSES[implanted], LENSES)),
            Drawn(
                "SG",
                "opacity grade",
                "Grade the severity of the opacity in the pupil (0 none, also with an implanted lens; 1 faint; "
                "2 moderate; 3 dense).",
                one_of(GRADES[self.grade], GRADES),
            ),
            Drawn(
                "CD",
                "step",
                "What is the most appropriate next step of the operation?",
                one_of(CLOSE if implanted else STEPS[self.grade], steps),
            ),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the frame, RGB, `size` pixels wide or up to 3 less, as the width is a multiple of 4."""
        return with_defect(render(self.scene, size - size % 4), self.defect, self.scene.seed)


def draw_surgery(seed: int) -> Surgery:
    """Return the truth of one frame; quality, place, instruments and lens are independent of each other.

    Each of the two instruments that are asked for is in every second frame, and a third one in half of the frames.

    Args:
        seed: From 0.
    """
    rng = np.random.default_rng([seed, 33])
    first, second, third = (INSTRUMENTS[n] for n in rng.permutation(len(INSTRUMENTS))[:3])
    kinds = [kind for kind in (first, second, third) if rng.random() < 0.5]
    implanted = bool(rng.random() < _IMPLANTED)
    grade = 0 if implanted else int(rng.choice(len(HAZES), p=_SHARES))
    order = [kinds[n] for n in rng.permutation(len(kinds))]
    scenes = (_scene(eye_seed("xpcr surgery", seed, k), order, implanted) for k in range(100))
    scene = next(scene for scene in scenes if is_clear(*_middle(scene.pupil), _WIDE))
    haze = float(rng.uniform(*HAZES[grade]))
    return Surgery(replace(scene, haze=0.0 if implanted else haze), (first, second), grade, draw_defect(rng))


def _scene(seed: int, kinds: list[str], implanted: bool) -> Scene:
    return draw_scene(seed, draw_operation(seed), kinds, lens=implanted)


def _middle(ring: tuple[Point, ...]) -> Point:
    """Return the centre of an outline, the middle of its extent."""
    low, high = np.min(ring, axis=0), np.max(ring, axis=0)
    return float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2
