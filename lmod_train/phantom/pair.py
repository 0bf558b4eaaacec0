"""A fundus photograph and a B-scan of one drawn eye, with one truth.

The scan runs along the horizontal line through the fovea, from left to right, `SPAN` of the photograph's side wide. On
this line are four pale spots, of which one is raised: a dome below the retina in the scan. Both images show a macular
hole; lesions of diabetic retinopathy are in the photograph only, off the line of the scan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from lmod_train.core.errors import check_one_of
from lmod_train.phantom.checks import check_seed
from lmod_train.phantom.drawing import Canvas
from lmod_train.phantom.eye import Eye, Point, draw_eye
from lmod_train.phantom.fundus import render as render_fundus
from lmod_train.phantom.oct import Elevation, Scan, draw_oct_eye, draw_scan
from lmod_train.phantom.oct import render as render_scan

SPAN = 0.5
"""Width of the scan in units of the photograph's side."""

SPOTS = {"far to the left": -0.16, "just to the left": -0.085, "just to the right": 0.085, "far to the right": 0.16}
"""Place of a spot, seen from the fovea -> its distance to the right in units of the photograph's side."""

SPOT = 0.019
"""Radius of a spot."""

_PALE, _EDGE = (1.0, 0.90, 0.62), (0.55, 0.45, 0.42)
_DARK, _CLEAR = 0.33, 0.05  # brightness of a photograph that is too dark; distance of lesions from the line's findings


@dataclass(frozen=True, slots=True)
class TwoImages:
    """Truth of one eye with two images.

    Attributes:
        eye: What the photograph shows, besides spots and hole.
        scan: What the scan shows.
        raised: Place of the raised spot, a key of `SPOTS`.
        retinopathy: Whether the eye has diabetic retinopathy.
        hole: Whether it has a macular hole.
        dark_photograph: Whether the photograph is too dark.
        dark_scan: Whether the scan is too dark.
    """

    eye: Eye
    scan: Scan
    raised: str
    retinopathy: bool
    hole: bool
    dark_photograph: bool
    dark_scan: bool

    @property
    def spots(self) -> dict[str, Point]:
        """Centre of each spot in the photograph."""
        return {name: (self.eye.fovea[0] + away, self.eye.fovea[1]) for name, away in SPOTS.items()}


def draw_pair(
    seed: int, raised: str, *, retinopathy: bool, hole: bool, dark_photograph: bool = False, dark_scan: bool = False
) -> TwoImages:
    """Return the truth of one eye; the arguments after the seed change only what they name.

    Raises:
        BadArgument: The seed is negative, or `raised` is not one of `SPOTS`.

    Example:
        >>> pair = draw_pair(1, "far to the left", retinopathy=False, hole=True)
        >>> pair.eye.laterality == pair.scan.eye.laterality, pair.scan.width > 0, pair.eye.lesions
        (True, True, ())
    """
    check_one_of("raised", raised, SPOTS, "use one of these words")
    check_seed(seed)
    eye = next(_eyes(seed))
    camera = replace(eye.camera, brightness=max(0.9, eye.camera.brightness) * (_DARK if dark_photograph else 1))
    eye = replace(eye, camera=camera, lesions=eye.lesions if retinopathy else ())
    oct_eye = draw_oct_eye(seed, "3", eye.laterality)
    scan = draw_scan(seed, oct_eye, 0.0 if hole else None)
    dome = Elevation(oct_eye.fovea + SPOTS[raised] / SPAN, SPOT / SPAN * 1.3, 0.075)
    cysts = tuple(c for c in scan.cysts if hole and abs(c.x - dome.x) > 1.3 * dome.wide + c.wide)
    scan = replace(scan, elevation=dome, cysts=cysts, dim=dark_scan, shield=None, blurred=False, gain=1.15)
    return TwoImages(eye, scan, raised, retinopathy, hole, dark_photograph, dark_scan)


def _eyes(seed: int) -> Iterator[Eye]:
    """Yield eyes with lesions whose field shows all spots, with at least four large lesions off spots and fovea."""
    for draw in np.random.default_rng([seed, 21]).integers(0, 2**47, 10_000).tolist():
        eye = draw_eye(draw, "diabetic retinopathy")
        line = [(eye.fovea[0] + away, eye.fovea[1]) for away in (0.0, *SPOTS.values())]
        apart = [o for o in eye.lesions if all(math.hypot(o.x - x, o.y - y) > _CLEAR + o.radius for x, y in line)]
        if sum(o.radius > 0.009 for o in apart) >= 4 and all(_is_free(eye, spot) for spot in line):
            yield replace(eye, diagnosis="normal", lesions=tuple(apart))


def _is_free(eye: Eye, spot: Point) -> bool:
    """Return whether a spot is inside the field and off the disc."""
    inside = math.hypot(spot[0] - eye.camera.field[0], spot[1] - eye.camera.field[1])
    off = math.hypot((spot[0] - eye.disc[0]) / eye.disc_radii[0], (spot[1] - eye.disc[1]) / eye.disc_radii[1])
    return inside < min(eye.camera.field_radius, 0.49) - 2 * SPOT and off > 1 + 1.5 * SPOT / min(eye.disc_radii)


def photograph(pair: TwoImages, size: int) -> Image.Image:
    """Return the fundus photograph: RGB, `size` x `size` pixels; deterministic.

    Raises:
        BadArgument: The size is below 16.
    """
    canvas = Canvas(render_fundus(pair.eye, size), pair.eye)
    centres = pair.spots.values()
    rims = canvas.ellipses([(centre, (1.25 * SPOT, 1.25 * SPOT), 0.0) for centre in centres], soft=0.002)
    canvas.stain(rims, _EDGE)
    canvas.paint(canvas.ellipses([(centre, (SPOT, SPOT), 0.0) for centre in centres], soft=0.002), _PALE, 0.95)
    if pair.hole:
        radius = SPAN * pair.scan.width / 2
        cuff = canvas.ellipses([(pair.eye.fovea, (1.6 * radius, 1.6 * radius), 0.0)], soft=0.004)
        canvas.paint(cuff, (0.66, 0.42, 0.30), 0.5)
        canvas.stain(canvas.ellipses([(pair.eye.fovea, (radius, radius), 0.0)], soft=0.002), (0.62, 0.22, 0.20))
    return canvas.picture


def section(pair: TwoImages, size: int) -> Image.Image:
    """Return the B-scan: greyscale, `size` x `size` pixels; deterministic.

    Raises:
        BadArgument: The size is below 16.
    """
    return render_scan(pair.scan, size)
