"""Drawn eyes of X-PCR's phantoms, with questions and their truth: laser scans, lenses and operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from PIL import Image

from lmod_train.core.option_letters import both_or_neither
from lmod_train.core.package_data import package_data
from lmod_train.core.perturbations import perturbed
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.eye_photograph import EyePhotograph, OuterEye, draw_eye_photograph, render
from lmod_train.phantom.instruments import INSTRUMENTS, Point
from lmod_train.phantom.shots import eye_seed
from lmod_train.phantom.slo import scan, width_of
from lmod_train.phantom.surgery import Scene, draw_operation, draw_scene
from lmod_train.phantom.surgery import render as render_surgery

FORM = "single_choice"
"""The question type of every question."""

QUARTERS = ("upper left quarter", "upper right quarter", "lower left quarter", "lower right quarter")

CLEAR = 0.015
"""Distance of a place from a border between two quarters, in units of the image's height, at least."""

DEFECTS: Mapping[str, str] = package_data(__file__, "words.yaml")["drawn"]["defects"]
"""Perturbation of an image, empty for none -> words of the options, of one length."""

_GRADE = 3  # of the perturbation: it disturbs reading, and hides nothing that is asked for


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question about a phantom; of the options, the first is right."""

    category: str
    sub_label: str
    text: str
    options: tuple[str, ...]

    def row(self, seed: int) -> dict[str, str]:
        """Return the question as the release writes it, its options in a random order."""
        options = [self.options[n] for n in np.random.default_rng(seed).permutation(len(self.options))]
        return {
            "category": self.category,
            "question": f"{self.text}\nOptions: {options}",
            "answer": self.options[0],
            "sub_label": self.sub_label,
            "question_type": FORM,
        }


class Drawing(Protocol):
    """A drawn row: its truth as questions, and its image."""

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        ...

    def picture(self, size: int) -> Image.Image:
        """Return the image, RGB, at a size in pixels."""
        ...


def asked(name: str, right: int, *words: str, options: tuple[str, ...] = ()) -> Drawn:
    """Return a question of `asked.yaml`.

    Args:
        name: Its name there.
        right: Place of the right option.
        *words: What its words name.
        options: Options, where the file has none.
    """
    category, label, text, *listed = package_data(__file__, "asked.yaml")[name]
    options = options or tuple(listed[0])
    return Drawn(category, label, text.format(*words), one_of(options[right], options))


def one_of(truth: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options with the right one first.

    Example:
        >>> one_of("left", ("left", "right"))
        ('left', 'right')
    """
    return (truth, *(other for other in others if other != truth))


def is_clear(x: float, y: float, width: float = 1.0) -> bool:
    """Return whether a place lies clearly in one quarter of an image of height 1 and a width."""
    return min(abs(x - width / 2), abs(y - 0.5)) > CLEAR


def place_question(view: str, structure: str, x: float, y: float, width: float = 1.0) -> Drawn:
    """Return the question in which quarter the centre of a structure lies; lengths are in units of the height."""
    text = f"In which quarter of the {view} does the centre of the {structure} lie?"
    return Drawn("AL", structure, text, one_of(QUARTERS[(x > width / 2) + 2 * (y > 0.5)], QUARTERS))


def draw_defect(rng: np.random.Generator) -> str:
    """Return one of `DEFECTS`, all equally likely."""
    return tuple(DEFECTS)[rng.integers(len(DEFECTS))]


def quality_question(view: str, defect: str) -> Drawn:
    """Return the question which defect an image has."""
    text = f"How good is this {view}? Which defect does it have?"
    return Drawn("IQA", "quality", text, one_of(DEFECTS[defect], tuple(DEFECTS.values())))


def with_defect(image: Image.Image, defect: str, seed: int) -> Image.Image:
    """Return the image with a defect; the seed decides the side of a shadow."""
    return perturbed(image, defect, _GRADE, seed) if defect else image


# Laser scans of the fundus in rows of X-PCR: quality, place of the disc, cup, glaucoma, its grade and the decision.
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
        ratio, wide = self.eye.cup_to_disc, width_of(1000) / 1000
        grade = sum(ratio > border for border in _BORDERS)
        x, y = wide * self.eye.disc[0], 0.5 + wide * (self.eye.disc[1] - 0.5)
        return (
            quality_question(_VIEW, self.defect),
            place_question(_VIEW, "optic disc", x, y, wide),
            asked("cup", sum(ratio > border for border in _CLASSES)),
            asked("glaucoma", ratio > _ILL),
            asked("cup grade", grade),
            asked("laser decision", grade),
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


# Photographs of the lens in rows of X-PCR: quality, place and width of the pupil, opacity, cataract and decision.
LENS_HAZES = ((0.0, 0.0), (0.28, 0.36), (0.54, 0.62), (0.90, 1.0))
"""Haze of the lens in each grade."""

WIDTHS = ((0.30, 0.38), (0.54, 0.62))
"""Radius of a narrow and of a wide pupil, in radii of the iris."""

_SHARES_LENS = (0.4, 0.2, 0.2, 0.2)

_VIEW_LENS = "photograph"


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
        return (
            quality_question(_VIEW_LENS, self.defect),
            place_question(_VIEW_LENS, "pupil", *_middle(eye)),
            asked("lens findings", (eye.haze > 0) + 2 * (eye.pupil > 0.5), options=findings),
            asked("cataract", self.grade > 0),
            asked("lens grade", self.grade),
            asked("lens decision", self.grade),
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
    grade, wide = int(rng.choice(len(LENS_HAZES), p=_SHARES_LENS)), int(rng.integers(2))
    haze, pupil = (float(rng.uniform(*span)) for span in (LENS_HAZES[grade], WIDTHS[wide]))
    eye = replace(photograph.eyes[0], haze=haze, pupil=pupil)
    return Lens(replace(photograph, eyes=(eye,)), grade, draw_defect(rng))


def _middle(eye: OuterEye) -> tuple[float, float]:
    """Return the centre of the pupil."""
    return eye.x + eye.width * eye.gaze[0], eye.y + eye.width * eye.stretch * eye.gaze[1]


# Frames of cataract surgery in rows of X-PCR: quality, pupil, instruments, state and opacity of the lens, step.
SURGERY_HAZES = ((0.0, 0.0), (0.22, 0.28), (0.50, 0.58), (0.85, 0.95))
"""Haze of the natural lens in each grade."""

_IMPLANTED, _SHARES_SURGERY, _WIDE = 0.35, (0.12, 0.28, 0.30, 0.30), 4 / 3

_VIEW_SURGERY = "frame"


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
        there, implanted = [name in here for name in self.named], bool(self.scene.lens)
        findings = both_or_neither(*self.named)
        return (
            quality_question(_VIEW_SURGERY, self.defect),
            place_question(_VIEW_SURGERY, "pupil", *_middle_surgery(self.scene.pupil), _WIDE),
            asked("instruments", there[0] + 2 * there[1], *self.named, options=findings),
            asked("lens", implanted),
            asked("surgery grade", self.grade),
            asked("surgery step", 0 if implanted else max(self.grade, 1)),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the frame, RGB, `size` pixels wide or up to 3 less, as the width is a multiple of 4."""
        return with_defect(render_surgery(self.scene, size - size % 4), self.defect, self.scene.seed)


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
    grade = 0 if implanted else int(rng.choice(len(SURGERY_HAZES), p=_SHARES_SURGERY))
    order = [kinds[n] for n in rng.permutation(len(kinds))]
    scenes = (_scene(eye_seed("xpcr surgery", seed, k), order, implanted) for k in range(100))
    scene = next(scene for scene in scenes if is_clear(*_middle_surgery(scene.pupil), _WIDE))
    haze = float(rng.uniform(*SURGERY_HAZES[grade]))
    return Surgery(replace(scene, haze=0.0 if implanted else haze), (first, second), grade, draw_defect(rng))


def _scene(seed: int, kinds: list[str], implanted: bool) -> Scene:
    return draw_scene(seed, draw_operation(seed), kinds, lens=implanted)


def _middle_surgery(ring: tuple[Point, ...]) -> Point:
    """Return the centre of an outline, the middle of its extent."""
    low, high = np.min(ring, axis=0), np.max(ring, axis=0)
    return float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2
