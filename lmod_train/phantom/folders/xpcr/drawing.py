"""What drawn rows of X-PCR have in common: questions with their truth, quarters of an image, and defects of quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from PIL import Image

from lmod_train.core.perturbations import perturbed

FORM = "single_choice"
"""The question type of every question."""

QUARTERS = ("upper left quarter", "upper right quarter", "lower left quarter", "lower right quarter")
CLEAR = 0.015
"""Distance of a place from a border between two quarters, in units of the image's height, at least."""

DEFECTS: Mapping[str, str] = {
    "": "no notable defects",
    "blur": "out-of-focus image",
    "underexposure": "underexposed image",
    "shadow": "shadow on one side",
}
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
