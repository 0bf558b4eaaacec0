"""The ten instruments of cataract surgery seen through a microscope: outlines and coloured patches.

Lengths are in units of the image's height. An instrument extends along +u, with its tip near (0, 0) and its handle
beyond u = 1, outside the image; v is across.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lmod_train.core.errors import check_one_of

Point: TypeAlias = tuple[float, float]
Colour: TypeAlias = tuple[float, float, float]

_END = 1.7  # outside of every image: the diagonal of a 4:3 image of height 1 is 1.67
_STEEL, _GLINT, _DARK = (0.56, 0.60, 0.62), (0.93, 0.95, 0.96), (0.20, 0.25, 0.27)
_TEAL, _IVORY, _BLUE = (0.10, 0.42, 0.44), (0.80, 0.76, 0.62), (0.45, 0.60, 0.80)
_TITANIUM, _SILICONE, _HUB = (0.27, 0.33, 0.52), (0.72, 0.58, 0.66), (0.92, 0.50, 0.22)
_GLASS, _ROLLED = (0.52, 0.55, 0.55), (0.10, 0.70, 0.72)


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch of one colour (red, green, blue, 0 to 1); only the area inside the shape's outline is drawn."""

    corners: tuple[Point, ...]
    colour: Colour


@dataclass(frozen=True, slots=True)
class Shape:
    """Appearance of an instrument: a closed outline filled with its colour, and patches drawn over it in order."""

    outline: tuple[Point, ...]
    colour: Colour
    patches: tuple[Patch, ...]


def draw_shape(kind: str, rng: np.random.Generator) -> Shape:
    """Return one instrument of a kind; size, bend, opening and side vary.

    Raises:
        BadArgument: The kind is not one of `INSTRUMENTS`.

    Example:
        >>> shape = draw_shape("spatula", np.random.default_rng(0))
        >>> min(u for u, _ in shape.outline) > -0.05, max(u for u, _ in shape.outline) > 1.3
        (True, True)
    """
    check_one_of("kind", kind, INSTRUMENTS, "use one of these words")
    shape = _KINDS[kind](rng)
    scale, side = rng.uniform(0.92, 1.12), -1 if rng.random() < 0.5 else 1

    def sized(corners: Sequence[Point]) -> tuple[Point, ...]:
        return tuple((float(u * scale), float(v * scale * side)) for u, v in corners)

    return Shape(sized(shape.outline), shape.colour, tuple(Patch(sized(p.corners), p.colour) for p in shape.patches))


def strip(centres: Sequence[Point], halves: Sequence[float], shift: float = 0.0) -> tuple[Point, ...]:
    """Return the outline of a rod along a line of centres.

    Args:
        centres: Points of the line, two or more.
        halves: Half width at each point.
        shift: Shift across the line in half widths, for a glint along one side.

    Example:
        >>> strip([(0, 0), (2, 0)], [1, 1])
        ((0.0, 1.0), (2.0, 1.0), (2.0, -1.0), (0.0, -1.0))
    """
    line, half = np.asarray(centres, dtype=float), np.asarray(halves, dtype=float)[:, None]
    ahead = np.diff(line, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    mean = np.vstack([ahead[:1], ahead[:-1] + ahead[1:], ahead[-1:]])
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    across = np.stack([-mean[:, 1], mean[:, 0]], axis=1)
    middle = line + across * half * shift
    return tuple((float(u), float(v)) for u, v in [*(middle + across * half), *(middle - across * half)[::-1]])


def _bent(corners: Sequence[Point], at: float, angle: float) -> tuple[Point, ...]:
    """Return corners, with those before u = `at` rotated about (at, 0)."""
    c, s = math.cos(angle), math.sin(angle)
    return tuple((at + (u - at) * c - v * s, (u - at) * s + v * c) if u < at else (u, v) for u, v in corners)


def _rod(profile: Sequence[Point], colour: Colour, patches: Sequence[Patch] = ()) -> Shape:
    """Return a straight rod from its (u, half width), with a dark and a bright side, and further patches over it."""
    centres, halves = [(u, 0.0) for u, _ in profile], [h for _, h in profile]
    return Shape(strip(centres, halves), colour, (*_round(centres, halves, colour), *patches))


def _round(centres: Sequence[Point], halves: Sequence[float], colour: Colour) -> tuple[Patch, ...]:
    """Return the patches that make a flat strip look round: a shadow below and a glint above its middle."""
    dark = (colour[0] * 0.55, colour[1] * 0.55, colour[2] * 0.6)
    bright = (0.4 * colour[0] + 0.58, 0.4 * colour[1] + 0.58, 0.4 * colour[2] + 0.58)
    shadow = strip(centres, [h * 0.36 for h in halves], -1.8)
    return Patch(shadow, dark), Patch(strip(centres, [h * 0.2 for h in halves], 1.6), bright)


def _slit_knife(rng: np.random.Generator) -> Shape:
    """Return a flat triangular blade on a neck."""
    wide = rng.uniform(0.062, 0.075)
    profile = [(0.0, 0.0005), (0.18, wide), (0.27, 0.024), (0.30, 0.034), (_END, 0.036)]
    blade = Patch(((0.03, 0.0), (0.17, wide * 0.72), (0.25, 0.008), (0.25, -0.008), (0.17, -wide * 0.72)), _GLINT)
    handle = Patch(strip([(0.30, 0.0), (_END, 0.0)], [0.05, 0.05]), _TEAL)
    centres, halves = [(u, 0.0) for u, _ in profile], [h for _, h in profile]
    return Shape(strip(centres, halves), _STEEL, (blade, handle, *_round(centres[3:], halves[3:], _TEAL)))


def _incision_knife(rng: np.random.Generator) -> Shape:
    """Return a long thin blade, slanted on one side, on an ivory handle."""
    long = rng.uniform(0.28, 0.34)
    blade = ((0.0, -0.020), (0.10, 0.020), (long, 0.024))
    outline = (*blade, (long, 0.046), (_END, 0.046), (_END, -0.046), (long, -0.046), (long, -0.022))
    edge = Patch(((0.0, -0.020), (0.10, 0.020), (0.13, 0.021), (0.04, -0.020)), _GLINT)
    handle = Patch(strip([(long, 0.0), (_END, 0.0)], [0.06, 0.06]), _IVORY)
    return Shape(outline, _STEEL, (edge, handle, *_round([(long, 0.0), (_END, 0.0)], [0.046, 0.046], _IVORY)))


def _gauge(rng: np.random.Generator) -> Shape:
    """Return a thin tube, bent some way behind its blunt end."""
    bend, reach = rng.uniform(0.75, 1.0), 0.17
    centres = [(reach * (1 - math.cos(bend)), -reach * math.sin(bend)), (reach, 0.0), (_END, 0.0)]
    halves = [0.014, 0.014, 0.016]
    return Shape(strip(centres, halves), _STEEL, _round(centres, halves, _STEEL))


def _spatula(rng: np.random.Generator) -> Shape:
    """Return a thin rod that ends in a small flat paddle."""
    wide, long = rng.uniform(0.032, 0.042), rng.uniform(0.085, 0.11)
    profile = [(0.0, 0.008), (0.012, wide * 0.8), (0.03, wide), (long - 0.02, wide), (long, wide * 0.7)]
    inner = Patch(strip([(0.02, 0.0), (long - 0.015, 0.0)], [wide * 0.6, wide * 0.6]), _GLINT)
    return _rod([*profile, (long + 0.025, 0.012), (_END, 0.016)], _STEEL, [inner])


def _cystotome(rng: np.random.Generator) -> Shape:
    """Return a needle with its tip bent to a hook, on a coloured hub."""
    hook, hub = rng.uniform(0.065, 0.085), rng.uniform(0.27, 0.33)
    centres = [(0.01, hook), (0.0, 0.0), (hub, 0.0), (hub + 0.001, 0.0), (hub + 0.08, 0.0), (_END, 0.0)]
    halves = [0.004, 0.010, 0.010, 0.030, 0.046, 0.050]
    plastic = Patch(strip([(hub, 0.0), (_END, 0.0)], [0.07, 0.07]), _HUB)
    return Shape(strip(centres, halves), _STEEL, (plastic, *_round(centres[4:], halves[4:], _HUB)))


def _prongs(gap: float, long: float, thick: float, shaft: float, bend: float = 0.0) -> tuple[Point, ...]:
    """Return the outline of two prongs, `gap` from the middle at their tips, that meet in a shaft after `long`.

    `bend` is the position at which they will be bent; each edge gets a corner there.
    """
    tip, crotch = 0.03, 0.88 * long
    inside, outside = gap - thick / 2, gap + thick / 2
    upper = [(crotch, 0.003), (tip, inside), (tip / 2, gap - thick * 1.3), (0.0, gap - thick * 1.3), (0.0, outside)]
    if bend:
        upper.insert(1, (bend, inside + (0.003 - inside) * (bend - tip) / (crotch - tip)))
        upper.append((bend, outside + (shaft - outside) * bend / long))
    upper += [(long, shaft), (_END, shaft * 1.15)]
    return (*upper, *((u, -v) for u, v in reversed(upper)))


def _capsulorhexis_forceps(rng: np.random.Generator) -> Shape:
    """Return two short straight prongs with small teeth, slightly open."""
    gap, long = rng.uniform(0.038, 0.055), rng.uniform(0.22, 0.27)
    outline = _prongs(gap, long, 0.020, 0.030)
    glints = tuple(
        Patch(strip([(0.01, side * gap), (long, side * 0.016)], [0.004, 0.004]), _GLINT) for side in (-1.0, 1.0)
    )
    shaft = _round([(long, 0.0), (_END, 0.0)], [0.030, 0.0345], _STEEL)
    return Shape(outline, _STEEL, (*glints, *shaft))


def _katena_forceps(rng: np.random.Generator) -> Shape:
    """Return two long prongs of bluish titanium, wide open and bent to one side."""
    gap, long = rng.uniform(0.055, 0.07), rng.uniform(0.42, 0.50)
    at, angle = rng.uniform(0.16, 0.20), rng.uniform(0.55, 0.75)
    outline = _prongs(gap, long, 0.024, 0.044, bend=at)
    shaft = _round([(long, 0.0), (_END, 0.0)], [0.044, 0.05], _TITANIUM)
    return Shape(_bent(outline, at, angle), _TITANIUM, shaft)


def _phaco_tip(rng: np.random.Generator) -> Shape:
    """Return a short needle in a blue sleeve, on a thick stepped handpiece."""
    sleeve, piece = rng.uniform(0.06, 0.08), rng.uniform(0.27, 0.33)
    profile = [(0.0, 0.012), (sleeve, 0.017), (sleeve + 0.005, 0.034), (piece - 0.02, 0.056), (piece, 0.088)]
    blue = Patch(strip([(sleeve, 0.0), (piece - 0.01, 0.0)], [0.06, 0.06]), _BLUE)
    light = Patch(strip([(sleeve + 0.01, 0.014), (piece - 0.03, 0.024)], [0.006, 0.009]), _GLINT)
    rings = [Patch(strip([(piece + d, 0.0), (piece + d + 0.012, 0.0)], [0.1, 0.1]), _DARK) for d in (0.02, 0.06)]
    return _rod([*profile, (_END, 0.095)], _STEEL, [blue, light, *rings])


def _irrigation_aspiration(rng: np.random.Generator) -> Shape:
    """Return a curved tube with a round hole near its end, in a pinkish sleeve."""
    bend, reach = rng.uniform(1.1, 1.4), 0.17
    turns = [bend * (1 - i / 5) for i in range(6)]
    arc = [(reach * (1 - math.sin(t) / bend), -reach * (1 - math.cos(t)) / bend) for t in turns]
    centres = [*arc, (reach + 0.04, 0.0), (reach + 0.045, 0.0), (0.42, 0.0), (_END, 0.0)]
    halves = [0.018, 0.026, 0.026, 0.026, 0.026, 0.026, 0.026, 0.046, 0.056, 0.060]
    sleeve = Patch(strip([(reach + 0.04, 0.0), (_END, 0.0)], [0.08, 0.08]), _SILICONE)
    (x0, y0), (x1, y1) = arc[1], arc[2]
    hole = [(x0 + 0.4 * (x1 - x0) + 0.014 * math.cos(a), y0 + 0.4 * (y1 - y0) + 0.014 * math.sin(a)) for a in _ROUND]
    patches = (*_round(centres[:7], halves[:7], _STEEL), sleeve, *_round(centres[7:], halves[7:], _SILICONE))
    return Shape(strip(centres, halves), _STEEL, (*patches, Patch(tuple(hole), (0.05, 0.04, 0.05))))


def _lens_injector(rng: np.random.Generator) -> Shape:
    """Return a wide clear tube, bevelled at its end, with the rolled lens inside."""
    body, lens = rng.uniform(0.26, 0.34), rng.uniform(0.30, 0.42)
    outline = ((0.0, 0.036), (body, 0.056), (body + 0.04, 0.10), (_END, 0.108))
    mirrored = ((_END, -0.108), (body + 0.04, -0.10), (body, -0.056), (0.05, -0.038))
    rolled = Patch(strip([(0.06, 0.0), (0.10, 0.0), (lens, 0.0), (_END, 0.0)], [0.006, 0.022, 0.034, 0.034]), _ROLLED)
    glint = Patch(strip([(0.10, 0.010), (lens, 0.016)], [0.006, 0.008]), _GLINT)
    walls = [Patch(strip([(0.05, s * 0.034), (body, s * 0.05)], [0.003, 0.003]), _GLINT) for s in (-1.0, 1.0)]
    return Shape((*outline, *mirrored), _GLASS, (rolled, glint, *walls))


_ROUND = tuple(2 * math.pi * i / 12 for i in range(12))
_KINDS: dict[str, Callable[[np.random.Generator], Shape]] = {
    "slit knife": _slit_knife,
    "incision knife": _incision_knife,
    "gauge": _gauge,
    "spatula": _spatula,
    "capsulorhexis cystotome": _cystotome,
    "capsulorhexis forceps": _capsulorhexis_forceps,
    "katena forceps": _katena_forceps,
    "phacoemulsification tip": _phaco_tip,
    "irrigation-aspiration": _irrigation_aspiration,
    "lens injector": _lens_injector,
}
INSTRUMENTS = tuple(_KINDS)
"""Kinds that can be drawn: all instruments of Cataract-1K, in the words of the vocabulary."""
