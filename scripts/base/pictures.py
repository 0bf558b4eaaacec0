"""Drawing of the training images of the small base, of all five modalities, by number.

Seeds start at 2**48; phantoms of demos and tests have smaller ones.
"""

from __future__ import annotations

from fundi import draw_fundus, draw_slo
from others import draw_oct, draw_photograph, draw_surgery
from shown import Shown

FIRST_SEED = 2**48
_TURNS = ("CFP", "SS", "CFP", "LP", "CFP", "SS", "OCT", "CFP", "SS", "CFP", "SLO", "LP")
"""The modality of image n is entry n modulo 12: the first images have all modalities, rich ones often."""
_DRAW = {"CFP": draw_fundus, "OCT": draw_oct, "SLO": draw_slo, "LP": draw_photograph, "SS": draw_surgery}


def modality_of(index: int) -> str:
    """Return the modality of image `index`."""
    return _TURNS[index % len(_TURNS)]


def seed_of(index: int) -> int:
    """Return the seed of image `index`."""
    return FIRST_SEED + index


def draw(index: int) -> Shown:
    """Return image `index` with its masks and facts."""
    return _DRAW[modality_of(index)](seed_of(index))
