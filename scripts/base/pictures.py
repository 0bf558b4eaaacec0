"""Draw the pictures the small base learns from, of all five modalities, once and by number.

Seeds start at 2**48; phantoms of demos and tests stay below.
"""

from __future__ import annotations

from fundi import draw_fundus, draw_slo
from others import draw_oct, draw_photograph, draw_surgery
from shown import Shown

FIRST_SEED = 2**48
_TURNS = ("CFP", "SS", "CFP", "LP", "CFP", "SS", "OCT", "CFP", "SS", "CFP", "SLO", "LP")
"""The modality of picture n is entry n modulo 12: any beginning of the numbers holds all, the richest most often."""
_DRAW = {"CFP": draw_fundus, "OCT": draw_oct, "SLO": draw_slo, "LP": draw_photograph, "SS": draw_surgery}


def modality_of(index: int) -> str:
    """Return the modality of picture `index`."""
    return _TURNS[index % len(_TURNS)]


def seed_of(index: int) -> int:
    """Return the seed that picture `index` is drawn from."""
    return FIRST_SEED + index


def draw(index: int) -> Shown:
    """Return picture `index` and where everything lies in it."""
    return _DRAW[modality_of(index)](seed_of(index))
