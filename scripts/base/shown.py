"""Content of one drawn image: its pixels, masks of structures and findings, and facts about the image."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from box_description import HELD
from PIL import Image

from lmod_train.core.types import Box
from lmod_train.phantom.eye import LesionKind
from lmod_train.phantom.instruments import INSTRUMENTS

Mask = npt.NDArray[np.bool_]

MODALITIES = ("CFP", "OCT", "SLO", "LP", "SS")
BOXES = 6
"""Largest number of a box; no record has more boxes."""
SPOTS: tuple[LesionKind, ...] = ("microaneurysm", "haemorrhage", "hard exudate", "cotton-wool spot")
SIGNS = (
    *("nevus", "drusen", "abnormal macula", "age-related macular degeneration", "scar"),
    *("vascular occlusion", "hemorrhage", "retinal detachment"),
)
"""Findings with a position; the others change the whole image and are facts."""
CHANNELS = (
    *("optic disc", "optic cup", "fovea", *SPOTS, *SIGNS),
    *("choroid", "retina", "intraretinal cysts", "macular hole", "hyaloid"),
    *("right eye", "left eye", "iris", "pupil", "cloudy lens", "cornea", "lens", *INSTRUMENTS),
    *(f"number {number} of {name}" for number in range(1, BOXES + 1) for name in HELD),
    *(f"box {number}" for number in range(1, BOXES + 1)),
)
"""Content of patches that the tower's first head predicts; the head is discarded after training."""
NUMBERS = tuple(name for name in CHANNELS if name.startswith("number "))
"""A box's number together with its content, so that reading a number needs only one patch.

Number and content are one channel, as nested boxes can have their numbers in the same patch.
"""
FINE = frozenset(("microaneurysm", "haemorrhage", "hard exudate", "drusen", "hyaloid", "intraretinal cysts"))
"""Small findings, whose share of a patch is multiplied by four."""
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
"""Facts about a whole image; NaN in modalities to which they do not apply."""


@dataclass
class Shown:
    """One drawn image without boxes.

    Attributes:
        image: RGB, of any shape.
        layers: Masks of the image's shape by names of `CHANNELS`.
        boxes: Name and box of everything that a box may surround; names may repeat.
        facts: Values by names of `FACTS`.
    """

    image: Image.Image
    layers: dict[str, Mask]
    boxes: list[tuple[str, Box]]
    facts: dict[str, float] = field(default_factory=dict)
