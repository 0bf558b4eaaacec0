"""What one drawn picture shows: its pixels, where each thing lies in it, what is true of it as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.phantom.box_description import HELD
from lmod_train.phantom.eye import LesionKind
from lmod_train.phantom.instruments import INSTRUMENTS
from lmod_train.types import Box

Mask = npt.NDArray[np.bool_]

MODALITIES = ("CFP", "OCT", "SLO", "LP", "SS")
BOXES = 6
"""Numbers that a box can carry: more are never asked of one picture."""
SPOTS: tuple[LesionKind, ...] = ("microaneurysm", "haemorrhage", "hard exudate", "cotton-wool spot")
SIGNS = (
    *("nevus", "drusen", "abnormal macula", "age-related macular degeneration", "scar"),
    *("vascular occlusion", "hemorrhage", "retinal detachment"),
)
"""Findings that lie at a place; the others change the whole picture and are facts."""
CHANNELS = (
    *("optic disc", "optic cup", "fovea", *SPOTS, *SIGNS),
    *("choroid", "retina", "intraretinal cysts", "macular hole", "hyaloid"),
    *("right eye", "left eye", "iris", "pupil", "cloudy lens", "cornea", "lens", *INSTRUMENTS),
    *(f"number {number} of {name}" for number in range(1, BOXES + 1) for name in HELD),
    *(f"box {number}" for number in range(1, BOXES + 1)),
)
"""What a patch can hold; the tower's first head tells each apart, and is thrown away."""
NUMBERS = tuple(name for name in CHANNELS if name.startswith("number "))
"""A written number and what its box surrounds: reading a number is then looking at one patch.

Number and thing together: boxes that lie in one another have their numbers in one patch, which says both pairs.
"""
FINE = frozenset(("microaneurysm", "haemorrhage", "hard exudate", "drusen", "hyaloid", "intraretinal cysts"))
"""So small that their share of a patch is counted four times."""
FUNDUS_FACTS = (
    *("right", "cup to disc", "haze", "microaneurysms", "blots above", "blots below", "exudates", "cotton"),
    *("preretinal", "exudates near", "myopic fundus", "hypertensive retinopathy", "abnormal vessels", *SIGNS),
    *("disc width", "blue", "ring"),
)
FACTS = (
    *MODALITIES,
    *FUNDUS_FACTS,
    *("hole width", "gap", "detached hyaloid", "cysts"),
    *("view right", "view left", "view both", "view iris", "cloud"),
    *("implant", "milk", *INSTRUMENTS),
    *(f"box {number} {what}" for number in range(1, BOXES + 1) for what in ("drawn", "x0", "y0", "x1", "y1")),
)
"""What is true of a whole picture; those that mean nothing in a modality are not a number there."""


@dataclass
class Shown:
    """One drawn picture before any box is drawn on it.

    Attributes:
        image: RGB, of any shape.
        layers: Where things lie, masks of the image's shape by names of `CHANNELS`.
        boxes: What a box may surround, with its box; more than one of a name where there are more.
        facts: By names of `FACTS`.
    """

    image: Image.Image
    layers: dict[str, Mask]
    boxes: list[tuple[str, Box]]
    facts: dict[str, float] = field(default_factory=dict)
