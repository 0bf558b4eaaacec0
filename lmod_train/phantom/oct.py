"""B-scans of optical coherence tomography drawn from known truth, with label maps of structures.

Lengths and positions are in units of the image side: x from 0 (left) to 1 (right), y from 0 (top) to 1 (bottom). `u` is
the depth within the retina, 0 at its inner surface and 1 at the bottom of the pigment epithelium.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from lmod_train.core.errors import BadArgument, check_one_of
from lmod_train.phantom.checks import check_seed, check_size
from lmod_train.phantom.drawing import cloud

Plane: TypeAlias = npt.NDArray[np.float32]
Labels: TypeAlias = npt.NDArray[np.uint8]

STAGES = ("1", "2", "3", "4")
"""Stages of a macular hole that can be drawn."""

STRUCTURES = ("background", "choroid", "retina", "intraretinal cysts", "macular hole")
"""Labels of pixels; values of `label_map` are indices into this tuple."""

_CHOROID, _RETINA, _CYSTS, _HOLE = 1, 2, 3, 4
_WIDTHS = {"1": (0.030, 0.050), "2": (0.042, 0.060), "3": (0.092, 0.115), "4": (0.170, 0.205)}
_EPITHELIUM = 0.92  # depth of the pigment epithelium, on which a hole ends
_DEFECT = 0.15  # share of scans with each of the three defects

# Reflectance along the depth of the retina, matched by eye to public B-scans: fibres, ganglion cells, inner nuclear,
# outer plexiform, outer nuclear, limiting membrane, ellipsoid zone, epithelium.
_DEPTHS = (0.0, 0.06, 0.12, 0.30, 0.34, 0.44, 0.47, 0.53, 0.56, 0.74, 0.76, 0.78, 0.83, 0.86, 0.89, 0.93, 0.99, 1.0)
_LIGHTS = (0.6, 0.8, 0.62, 0.55, 0.36, 0.34, 0.52, 0.52, 0.30, 0.26, 0.40, 0.30, 0.34, 0.78, 0.5, 0.98, 0.95, 0.7)


@dataclass(frozen=True, slots=True)
class OctEye:
    """Truth of one eye, which all its scans share.

    Attributes:
        stage: Stage of the macular hole, one of `STAGES`.
        laterality: ``right`` or ``left``; the nerve fibres are thicker nasally, on the right of a right eye's scan.
        fovea: x of the hole's centre.
        floor: y of the retina's lower surface there.
        tilt: Slope of this surface, its fall from left to right.
        bend: Height of this surface at the edges above that in the middle.
        retina: Thickness of the retina.
        choroid: Mean thickness of the choroid.
        width: Full width of the hole at its centre.
        height: Height of the gap of stage 1 as a share of the retina; 1 for a full-thickness hole.
        lean: Lateral shift of the hole from top to bottom.
        hyaloid: Height of the detached posterior hyaloid above the retina; None if it is attached.
    """

    stage: str
    laterality: Literal["left", "right"]
    fovea: float
    floor: float
    tilt: float
    bend: float
    retina: float
    choroid: float
    width: float
    height: float
    lean: float
    hyaloid: float | None


@dataclass(frozen=True, slots=True)
class Cyst:
    """A dark oval within the retina: centre and half axes; `u` and `deep` are depths."""

    x: float
    u: float
    wide: float
    deep: float


@dataclass(frozen=True, slots=True)
class Elevation:
    """A dome below the retina, as of a detached pigment epithelium: x of its centre, half width and height."""

    x: float
    wide: float
    high: float


@dataclass(frozen=True, slots=True)
class Scan:
    """Truth of one B-scan: everything that `render` and `label_map` need.

    Attributes:
        seed: Seed of texture and noise.
        eye: Eye that is scanned.
        width: Full width of the hole in this scan; 0 for a scan beside it.
        shift: Shift of the eye downwards relative to its other scans.
        cysts: Cysts in this scan.
        dim: Whether the signal strength is low.
        shield: x of the centre of a shadowed band; None without one.
        blurred: Whether the image is blurred.
        gain: Brightness, 1 to 1.35.
        elevation: Dome below the retina; None without one.
    """

    seed: int
    eye: OctEye
    width: float
    shift: float
    cysts: tuple[Cyst, ...]
    dim: bool
    shield: float | None
    blurred: bool
    gain: float
    elevation: Elevation | None = None


def draw_oct_eye(seed: int, stage: str, laterality: Literal["left", "right"]) -> OctEye:
    """Return the truth of one eye; the stage changes only the hole and the hyaloid.

    Stage 1 has a gap below an intact inner retina, 3 to 5 % of the image wide; the others have a full-thickness hole,
    4.2 to 6 % wide in stage 2, 9.2 to 11.5 % in stage 3 and 17 to 20.5 % in stage 4, so that the widths of stages do
    not overlap. Only in stage 4 a detached hyaloid crosses the vitreous.

    Raises:
        BadArgument: The seed is negative, or the stage is not one of `STAGES`.

    Example:
        >>> small, large = (draw_oct_eye(1, stage, "left") for stage in "24")
        >>> small.width < large.width, small.floor == large.floor, small.hyaloid
        (True, True, None)
    """
    check_one_of("stage", stage, STAGES, "use one of these words")
    check_seed(seed)
    place, disease = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    low, high = _WIDTHS[stage]
    share, gap = disease.uniform(), disease.uniform(0.08, 0.13)
    return OctEye(
        stage=stage,
        laterality=laterality,
        fovea=place.uniform(0.42, 0.58),
        floor=place.uniform(0.52, 0.62),
        tilt=place.uniform(-0.08, 0.08),
        bend=place.uniform(0.02, 0.10),
        retina=place.uniform(0.155, 0.185),
        choroid=place.uniform(0.07, 0.12),
        width=low + share * (high - low),
        height=disease.uniform(0.30, 0.45) if stage == "1" else 1.0,
        lean=disease.uniform(-0.015, 0.015) if stage != "1" else 0.0,
        hyaloid=gap if stage == "4" else None,
    )


def draw_scan(seed: int, eye: OctEye, offset: float | None) -> Scan:
    """Return the truth of one scan of an eye; scans of one seed differ only in what eye and offset change.

    Args:
        seed: Any integer from 0.
        eye: Eye that is scanned.
        offset: Distance of the scan from the hole's centre in units of the hole's radius, -0.5 to 0.5; None for a scan
            beside the hole.

    Raises:
        BadArgument: The seed is negative or the offset is out of range.

    Example:
        >>> eye = draw_oct_eye(0, "3", "right")
        >>> draw_scan(5, eye, 0.0).width == eye.width, draw_scan(5, eye, None).width
        (True, 0.0)
    """
    check_seed(seed)
    if offset is not None and not -0.5 <= offset <= 0.5:
        raise BadArgument("offset", offset, "None or -0.5 to 0.5 radii of the hole", "give None for a scan beside it")
    place, disease, exposure = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
    width = 0.0 if offset is None else eye.width * math.sqrt(1 - offset * offset)
    dim, shielded, blurred = (bool(draw < _DEFECT) for draw in exposure.random(3))
    band = exposure.uniform(0.05, 0.2)  # at the edge, away from the hole
    return Scan(
        seed=seed,
        eye=eye,
        width=width,
        shift=place.uniform(-0.03, 0.03),
        cysts=_draw_cysts(disease, eye, width),
        dim=dim,
        shield=(band if exposure.random() < 0.5 else 1 - band) if shielded else None,
        blurred=blurred,
        gain=exposure.uniform(1.0, 1.35),
    )


def _draw_cysts(rng: np.random.Generator, eye: OctEye, width: float) -> tuple[Cyst, ...]:
    """Return random cysts: at both rims of a large hole, and sometimes one or two elsewhere."""
    large = eye.stage in ("3", "4") and width > 0
    count = int(rng.integers(2, 5)) if large else int(rng.integers(1, 3)) * int(rng.random() < 0.4)
    sides = np.resize([-1, 1] if rng.random() < 0.5 else [1, -1], count)
    found = []
    for side in sides.tolist():
        away = width / 2 + rng.uniform(0.022, 0.075)
        found.append(
            Cyst(eye.fovea + side * away, rng.uniform(0.36, 0.62), rng.uniform(0.012, 0.022), rng.uniform(0.09, 0.16))
        )
    return tuple(found)


def label_map(scan: Scan, size: int) -> Labels:
    """Return the label of every pixel, an index into `STRUCTURES` decided at pixel centres, shape (size, size).

    Example:
        >>> labels = label_map(draw_scan(2, draw_oct_eye(2, "4", "left"), 0.0), 64)
        >>> labels.shape, [STRUCTURES[i] for i in np.unique(labels)]
        ((64, 64), ['background', 'choroid', 'retina', 'intraretinal cysts', 'macular hole'])
    """
    x, y, u = _depths(scan, size)
    _, floor, under = _surfaces(scan, x)
    labels = np.zeros((size, size), dtype=np.uint8)
    labels[(u >= 0) & (u <= 1)] = _RETINA
    labels[(y > floor) & (y <= under)] = _CHOROID
    for cyst in scan.cysts:
        inside = ((x - cyst.x) / cyst.wide) ** 2 + ((u - cyst.u) / cyst.deep) ** 2 <= 1
        labels[inside & (labels == _RETINA)] = _CYSTS
    labels[_hole(scan, x, u) & (u >= 0) & (u <= _EPITHELIUM)] = _HOLE
    return labels


def render(scan: Scan, size: int) -> Image.Image:
    """Return the B-scan: greyscale, `size` x `size` pixels; deterministic.

    Args:
        scan: Truth to draw.
        size: Side in pixels, from 16.

    Raises:
        BadArgument: The size is below 16.

    Example:
        >>> image = render(draw_scan(0, draw_oct_eye(0, "2", "left"), 0.0), 64)
        >>> image.mode, image.size
        ('L', (64, 64))
    """
    check_size(size)
    texture, noise = (np.random.default_rng([scan.seed, stream]) for stream in (1, 2))
    light = _tissue(scan, size, texture)
    light *= scan.gain * (0.5 if scan.dim else 1.0)
    soft = size * (0.010 if scan.blurred else 0.0018)
    still = Image.fromarray(np.clip(light * 180, 0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(soft))
    grain = noise.standard_normal(
        (size + 7, size), dtype=np.float32
    )  # one noise image, used twice with a shift of a few rows
    seen = np.asarray(still, dtype=np.float32) / 180
    seen = seen * (1 + 0.26 * grain[:size]) + (0.045 if scan.dim else 0.028) * grain[7:]
    return Image.fromarray(np.clip(seen * 255, 0, 255).astype(np.uint8))


def _tissue(scan: Scan, size: int, rng: np.random.Generator) -> Plane:
    """Return the reflected light of every pixel, 0 to about 1, before speckle."""
    x, y, u = _depths(scan, size)
    top, floor, under = _surfaces(scan, x)
    labels = label_map(scan, size)
    nose = x if scan.eye.laterality == "right" else 1 - x
    light = np.interp(u, _DEPTHS, _LIGHTS).astype(np.float32)
    light[(u >= 0) & (u < 0.05 + 0.13 * nose)] = 0.82  # nerve fibres
    deep = (0.30 + 0.09 * cloud(rng, 6, size) + 0.09 * cloud(rng, 26, size)) * (1.1 - 0.45 * (y - floor) / 0.1)
    light = np.where(labels == _CHOROID, np.clip(deep, 0.06, 0.6), light)
    if scan.elevation is not None:
        light = np.where((y > floor) & (y <= _base(scan, x) - 0.004), 0.14, light)
    below = y > under
    light[below] = (0.05 + 0.20 * np.exp(-np.maximum(y - under, 0) / 0.09))[below]
    light[y < top] = 0.05
    if scan.width and scan.eye.stage != "1":  # no retina above: more light is reflected from below
        light *= np.where((np.abs(x - scan.eye.fovea) < 0.4 * scan.width) & (y > floor), 1.35, 1)
    light[(labels == _HOLE) | (labels == _CYSTS)] = 0.06
    for at in rng.uniform(0.03, 0.97, 4):  # shadows of retinal vessels
        if abs(at - scan.eye.fovea) > 0.14:
            light *= np.where((np.abs(x - at) < 0.007) & (y > top + 0.03), 0.66, 1)
    if scan.eye.hyaloid is not None:
        inner = floor - scan.eye.retina
        line = 0.5 * (inner + inner.min()) - scan.eye.hyaloid + 0.006 * np.sin(9 * x + 40 * scan.shift)
        thin = max(0.0035, 0.55 / size)
        light += 0.55 * np.exp(-(((y - line) / thin) ** 2)) * (y < top)
    if scan.shield is not None:
        light *= 1 - 0.85 * np.exp(-(((x - scan.shield) / 0.05) ** 4))
    return light.astype(np.float32)


def _surfaces(scan: Scan, x: Plane) -> tuple[Plane, Plane, Plane]:
    """Return y of the retina's inner and outer surface and of the choroid's lower edge, each as a row."""
    eye = scan.eye
    across = x - eye.fovea
    base = _base(scan, x)
    floor = base if scan.elevation is None else base - _dome(scan.elevation, x)
    thick = 1 + 0.12 * np.exp(-(((np.abs(across) - 0.13) / 0.08) ** 2))
    if scan.width and eye.stage == "1":
        thick -= 0.10 * np.exp(-((across / 0.06) ** 2))  # remainder of the foveal pit
    elif scan.width:
        thick += 0.10 * np.exp(-(((np.abs(across) - scan.width / 2 - 0.02) / 0.03) ** 2))  # swollen rims
    wave = np.sin(11 * x + 100 * eye.bend) + 0.6 * np.sin(23 * x + 100 * eye.retina)
    return floor - eye.retina * thick, floor, base + eye.choroid * (1 + 0.10 * wave)


def _base(scan: Scan, x: Plane) -> Plane:
    """Return y of the retina's outer surface without an elevation, as a row."""
    across = x - scan.eye.fovea
    base: Plane = scan.eye.floor + scan.shift + scan.eye.tilt * across - scan.eye.bend * 4 * across * across
    return base


def _dome(elevation: Elevation, x: Plane) -> Plane:
    """Return the height of an elevation, as a row."""
    dome: Plane = elevation.high * np.exp(-(((x - elevation.x) / elevation.wide) ** 4))
    return dome


def _depths(scan: Scan, size: int) -> tuple[Plane, Plane, Plane]:
    """Return x as a row, y as a column, and the depth `u` of every pixel centre."""
    centres = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)
    x, y = centres[None, :], centres[:, None]
    top, floor, _ = _surfaces(scan, x)
    return x, y, (y - top) / (floor - top)


def _hole(scan: Scan, x: Plane, u: Plane) -> npt.NDArray[np.bool_]:
    """Return the mask of the hole, not yet cut at the epithelium."""
    across = x - scan.eye.fovea - scan.eye.lean * (u - 0.5)
    if not scan.width:
        return np.zeros(u.shape, dtype=bool)
    if scan.eye.stage == "1":
        high = (_EPITHELIUM - u) / scan.eye.height
        return (across / (scan.width / 2)) ** 2 + high * high <= 1
    waist = 0.72 + 0.28 * np.abs(2 * u - 1) ** 1.5  # an hourglass
    inside: npt.NDArray[np.bool_] = np.abs(across) <= waist * scan.width / 2
    return inside
