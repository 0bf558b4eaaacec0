"""External photographs of eyes, drawn from known truth.

Lengths and positions are in units of the image side, x to the right and y down. The person faces the camera: the nasal
corner of the right eye, with the pink caruncle, is on the right of the image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from lmod_train.core.types import Box
from lmod_train.phantom.truth import extent

View = Literal["right", "left", "both", "iris"]
"""One eye with its lids, both eyes of a face, or only the iris of one eye, which fills the image."""

Colour: TypeAlias = tuple[float, float, float]
_Field: TypeAlias = npt.NDArray[np.floating[Any]]
_Window: TypeAlias = tuple[slice, slice]

SMALLEST = 64
"""Smallest side in pixels; below it a pupil might have no pixel."""

_SKINS: tuple[Colour, ...] = ((0.93, 0.76, 0.66), (0.84, 0.63, 0.50), (0.67, 0.46, 0.34), (0.45, 0.30, 0.22))
_IRISES: tuple[Colour, ...] = ((0.34, 0.20, 0.10), (0.47, 0.31, 0.15), (0.34, 0.34, 0.25), (0.36, 0.42, 0.47))


@dataclass(frozen=True, slots=True)
class OuterEye:
    """One eye seen from outside.

    Attributes:
        side: ``right`` or ``left``, from the person's view.
        x: Centre of the opening between the lids, horizontally.
        y: Centre of the opening between the lids, vertically.
        width: Half the length of the opening, corner to corner.
        stretch: Height divided by width of one unit, as exports are stretched to a square.
        upper: Height of the upper lid's edge over the line between the corners, in units of `width`.
        lower: Depth of the lower lid's edge below it.
        tilt: How much lower the nasal corner lies than the middle, in units of `width`.
        gaze: Centre of the iris relative to the middle of the opening, in units of `width`.
        iris: Radius of the iris in units of `width`.
        pupil: Radius of the pupil in units of the iris's radius.
        haze: Haze of the lens, from 0 (black pupil) to 1 (grey-white pupil).
    """

    side: Literal["right", "left"]
    x: float
    y: float
    width: float
    stretch: float
    upper: float
    lower: float
    tilt: float
    gaze: tuple[float, float]
    iris: float
    pupil: float
    haze: float


@dataclass(frozen=True, slots=True)
class EyePhotograph:
    """Truth of one photograph: eyes, face and exposure.

    Attributes:
        seed: Seed of the photograph, also of textures, lashes and noise.
        view: Part of the face that is shown.
        eyes: Eyes in the image, left to right.
        skin: Colour of the face.
        colour: Colour of the irises.
        brow: Darkness of the eyebrows, 0 to 1.
        light: Direction of the light: x and y from -1 to 1.
        tint: Gain of red, green and blue, around 1.
        brightness: Gain of all three.
        grey: Whether the photograph is black and white.
        blur: Standard deviation of the defocus.
        noise: Standard deviation of the sensor's noise, of full scale 1.
    """

    seed: int
    view: View
    eyes: tuple[OuterEye, ...]
    skin: Colour
    colour: Colour
    brow: float
    light: tuple[float, float]
    tint: Colour
    brightness: float
    grey: bool
    blur: float
    noise: float


def draw_eye_photograph(seed: int, view: View, *, cataract: bool) -> EyePhotograph:
    """Return the truth of a photograph; with and without cataract, photographs of one seed differ only in the lens.

    Example:
        >>> ill, well = (draw_eye_photograph(7, "left", cataract=c) for c in (True, False))
        >>> ill.eyes[0].haze > 0.5, well.eyes[0].haze, ill.skin == well.skin
        (True, 0.0, True)
    """
    rng = np.random.default_rng([seed, 0])
    haze = float(np.random.default_rng([seed, 1]).uniform(0.6, 1.0)) if cataract else 0.0
    skin, colour = _SKINS[rng.integers(len(_SKINS))], _IRISES[rng.integers(len(_IRISES))]
    return EyePhotograph(
        seed=seed,
        view=view,
        eyes=_draw_eyes(rng, view, haze),
        skin=_varied(rng, skin, 0.05),
        colour=_varied(rng, colour, 0.05),
        brow=float(rng.uniform(0.35, 0.9)),
        light=(float(rng.uniform(-1, 1)), float(rng.uniform(-1, 0.4))),
        tint=_varied(rng, (1.0, 1.0, 1.0), 0.06),
        brightness=float(rng.uniform(0.85, 1.1)),
        grey=bool(rng.random() < 0.2),
        blur=float(rng.uniform(0.0, 0.003)),
        noise=float(rng.uniform(0.004, 0.016)),
    )


def _draw_eyes(rng: np.random.Generator, view: View, haze: float) -> tuple[OuterEye, ...]:
    """Return one eye, or the two eyes of a face with the same shape and gaze."""
    stretch, iris = float(rng.uniform(0.85, 1.3)), float(rng.uniform(0.35, 0.41))
    upper, lower = float(rng.uniform(0.32, 0.46)), float(rng.uniform(0.28, 0.36))
    gaze = float(rng.uniform(-0.12, 0.12)), float(rng.uniform(-0.06, 0.05))
    pupil, tilt = float(rng.uniform(0.32, 0.52)), float(rng.uniform(-0.02, 0.08))
    y = float(rng.uniform(0.44, 0.60))
    places: list[tuple[Literal["right", "left"], float]]
    if view == "both":
        width, apart = float(rng.uniform(0.15, 0.18)), float(rng.uniform(0.25, 0.28))
        middle = float(rng.uniform(0.48, 0.52))
        places = [("right", middle - apart), ("left", middle + apart)]
    elif view == "iris":
        width, stretch = float(rng.uniform(0.95, 1.1)), float(rng.uniform(0.9, 1.1))
        places = [("right" if rng.random() < 0.5 else "left", float(rng.uniform(0.45, 0.55)))]
    else:
        width = float(rng.uniform(0.30, 0.44))
        slack = 0.98 - 2 * width
        places = [(view, 0.01 + width + slack * float(rng.uniform(0.1, 0.9)))]
    shape = (width, stretch, upper, lower, tilt, gaze, iris, pupil, haze)
    return tuple(OuterEye(side, x, y, *shape) for side, x in places)


def boxes(photograph: EyePhotograph, size: int) -> list[tuple[str, Box]]:
    """Return (structure, box) in pixels for each eye's opening, and for the visible iris and pupil.

    If the iris fills the photograph, the eye around it has no box.

    Args:
        photograph: Truth of the photograph.
        size: Side in pixels, from `SMALLEST`.
    """
    found = []
    for eye in photograph.eyes:
        place = _place(eye, size)
        shown = {f"{eye.side} eye": place.opening, "iris": place.iris, "pupil": place.pupil}
        found += [
            (name, extent(np.minimum(place.opening, depth) > 0))
            for name, depth in shown.items()
            if photograph.view != "iris" or depth is not place.opening
        ]
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Positions of pixels (rows, columns) in one eye.

    Attributes:
        u: From the temporal corner, -1, to the nasal one, 1; one row, the same for all rows.
        v: Distance below the line between the corners, in the same unit.
        above: Distance below the upper lid's edge, in the same unit; negative on the lid.
        below: Distance above the lower lid's edge, in the same unit.
        radius: Distance from the centre of the iris in iris radii.
        opening: Depth inside the opening in pixels, negative outside; `iris` and `pupil` likewise.
    """

    u: _Field
    v: _Field
    above: _Field
    below: _Field
    radius: _Field
    opening: _Field
    iris: _Field
    pupil: _Field


def _place(eye: OuterEye, size: int, window: _Window = (slice(None), slice(None))) -> _Place:
    """Return the positions of the pixels of an image window in an eye."""
    centres = (np.arange(size, dtype=np.float32) + 0.5) / size
    y, x = centres[window[0], None], centres[None, window[1]]
    nasal, height = _nasal(eye), eye.width * eye.stretch
    u = nasal * (x - eye.x) / eye.width
    v = (y - eye.y) / height - eye.tilt * u
    arch = np.clip(1 - u**2, 0, None)
    narrow = 1 - 0.55 * _smooth(0.62, 0.92, u)  # the nasal corner is narrower around the caruncle
    above = v + eye.upper * narrow * arch**0.75
    below = eye.lower * narrow * arch**0.85 * (1 - 0.15 * u) - v
    radius = np.hypot(u - nasal * eye.gaze[0], (y - eye.y) / height - eye.gaze[1]) / eye.iris
    scale = eye.iris * eye.width * size
    opening = np.where(np.abs(u) < 1, np.minimum(above, below) * (height * size), -1.0)
    return _Place(u, v, above, below, radius, opening, (1 - radius) * scale, (eye.pupil - radius) * scale)


def _window(eye: OuterEye, size: int) -> _Window:
    """Return the rows and columns that contain an eye with the edges of its lids."""
    high, wide = 0.66 * eye.width * eye.stretch, 1.06 * eye.width
    ends = ((eye.y - high, eye.y + high), (eye.x - wide, eye.x + wide))
    rows, columns = (slice(max(0, math.floor(low * size)), math.ceil(high * size)) for low, high in ends)
    return rows, columns


def _nasal(eye: OuterEye) -> int:
    """Return the side of the nose in the image: 1 for right, -1 for left."""
    return 1 if eye.side == "right" else -1


def render(photograph: EyePhotograph, size: int) -> Image.Image:
    """Return the photograph: RGB, `size` x `size` pixels; deterministic."""
    rng = np.random.default_rng([photograph.seed, 2])
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size - 0.5
    shade = 1 + 0.22 * (photograph.light[0] * x + photograph.light[1] * y) + 0.05 * _clouds(rng, (size, size), 5)
    shade += 0.02 * _clouds(rng, (size, size), 60)  # pores
    canvas = np.array(photograph.skin, dtype=np.float32) * shade[..., None]
    for eye in photograph.eyes:
        _paint_face(canvas, _place(eye, size))
    for eye in photograph.eyes:
        window = _window(eye, size)
        part, place = canvas[window], _place(eye, size, window)  # painted in the canvas
        _paint_white(part, place, rng)
        _paint_iris(part, photograph.colour, eye, place, rng)
        _paint_lids(part, place)
        _paint_lights(part, eye, place, rng)
    _paint_hair(canvas, photograph, rng)
    return _expose(canvas, photograph, rng)


def _paint_face(canvas: _Field, place: _Place) -> None:
    """Paint the fold over the upper lid, the bag below the eye, and the side of the nose."""
    near = np.exp(-((place.u / 1.15) ** 4))
    fold = np.exp(-(((place.above + 0.17) / 0.035) ** 2)) * near
    lid = np.exp(-(((place.above + 0.09) / 0.08) ** 2)) * near
    bag = np.exp(-(((place.below + 0.24 + 0.08 * place.u**2) / 0.07) ** 2)) * near
    hollow = np.exp(-(((place.u - 1.22) / 0.22) ** 2)) * np.exp(-((place.v / 0.9) ** 2))
    ridge = _smooth(1.35, 1.75, place.u)
    canvas *= (1 - 0.38 * fold - 0.10 * lid - 0.16 * bag - 0.20 * hollow + 0.10 * ridge)[..., None]


def _paint_white(canvas: _Field, place: _Place, rng: np.random.Generator) -> None:
    """Paint the sclera and the caruncle into the opening."""
    clouds = _clouds(rng, place.v.shape, 9)
    red = np.clip(np.abs(place.u) - 0.45, 0, 1) * 0.45 + 0.05 * clouds
    white: _Field = np.stack([0.90 - 0.05 * red, 0.87 - 0.50 * red, 0.84 - 0.50 * red], axis=-1)
    caruncle = np.exp(-(((place.u - 0.91) / 0.075) ** 2) - (((place.v - 0.01) / 0.10) ** 2))
    white = _mixed(white, np.array((0.86, 0.40, 0.38), dtype=np.float32), np.clip(1.4 * caruncle, 0, 1))
    white *= (1 - 0.30 * np.clip(np.abs(place.u), 0, 1) ** 3 + 0.04 * clouds)[..., None]
    canvas[:] = _mixed(canvas, white, _cover(place.opening))


def _paint_iris(canvas: _Field, colour: Colour, eye: OuterEye, place: _Place, rng: np.random.Generator) -> None:
    """Paint iris and pupil into the opening: streaks, a bright collarette, a dark limbus, and the lens in the pupil."""
    nasal = _nasal(eye)
    angle = np.arctan2(place.v - eye.gaze[1], place.u - nasal * eye.gaze[0])
    waves = [rng.normal() * np.cos(k * angle + 6.3 * rng.random()) for k in (7, 12, 19, 27, 41)]
    streaks = np.clip(0.13 * sum(waves, np.zeros_like(angle)), -0.4, 0.4)
    ring = np.exp(-(((place.radius - eye.pupil - 0.18) / 0.10) ** 2))
    limbus = _smooth(0.80, 1.0, place.radius)
    iris = np.array(colour, dtype=np.float32) * ((1 + streaks + 0.35 * ring) * (1 - 0.65 * limbus))[..., None]
    clouds = _clouds(rng, place.v.shape, 12)
    dense = np.array((0.74, 0.75, 0.73), dtype=np.float32) * (0.92 + 0.12 * clouds)[..., None]
    lens = _mixed(np.full(3, 0.035, dtype=np.float32), dense, np.full_like(clouds, eye.haze))
    inside = _cover(place.opening)
    canvas[:] = _mixed(canvas, iris, inside * _cover(place.iris))
    canvas[:] = _mixed(canvas, lens, inside * _cover(place.pupil))


def _paint_lids(canvas: _Field, place: _Place) -> None:
    """Paint the shadow of the upper lid, and the moist edges of both lids."""
    inside = _cover(place.opening)
    shadow = 0.45 * np.exp(-np.clip(place.above, 0, None) / 0.07) + 0.12 * np.exp(-np.clip(place.below, 0, None) / 0.04)
    canvas *= (1 - inside * shadow)[..., None]
    near = np.abs(place.u) < 1.03
    line = np.exp(-((place.above + 0.015) ** 2) / 0.0009) * near
    canvas *= (1 - (1 - inside) * 0.75 * line)[..., None]
    edge = np.exp(-((place.below + 0.02) ** 2) / 0.0008) * near * (1 - inside)
    canvas[:] = _mixed(canvas, np.array((0.85, 0.60, 0.55), dtype=np.float32), 0.35 * edge)


def _paint_lights(canvas: _Field, eye: OuterEye, place: _Place, rng: np.random.Generator) -> None:
    """Paint the reflections of a lamp and a window on the cornea."""
    nasal = _nasal(eye)
    turn, far = rng.uniform(0, 2 * math.pi), rng.uniform(0.45, 0.65)
    for away, reach, strength in ((0.0, 0.055, 1.0), (2.4, 0.03, 0.6)):
        u = nasal * eye.gaze[0] + eye.iris * far * math.cos(turn + away)
        v = eye.gaze[1] + eye.iris * far * math.sin(turn + away)
        distance = np.maximum(np.abs(place.u - u), np.abs(place.v - v)) / (eye.iris * reach * 2)
        light = strength * np.clip(3.2 - 2 * distance, 0, 1) * _cover(place.opening)
        canvas[:] = _mixed(canvas, np.full(3, 0.98, dtype=np.float32), light)


def _paint_hair(canvas: _Field, photograph: EyePhotograph, rng: np.random.Generator) -> None:
    """Paint lashes on both lids and hairs on the brow, drawn at twice the size and reduced."""
    size = 2 * len(canvas)
    page = Image.new("L", (size, size))
    pen = ImageDraw.Draw(page)
    for eye in photograph.eyes:
        nasal, height = _nasal(eye), eye.width * eye.stretch
        thick = max(1, round(size * eye.width / 100))
        for line, dark in (*_lashes(eye, rng), *_brow(eye, photograph.brow, rng)):
            points = [(size * (eye.x + nasal * eye.width * u), size * (eye.y + height * v)) for u, v in line]
            pen.line(points, fill=dark, width=thick)
    canvas *= (1 - np.asarray(page.reduce(2), dtype=np.float32) * (0.85 / 255))[..., None]


def _lashes(eye: OuterEye, rng: np.random.Generator) -> Iterator[tuple[list[tuple[float, float]], int]]:
    """Yield the lashes as curves in units of the eye, with their darkness, 0 to 255; the upper ones are longer."""
    for up, count, long, lid in ((-1, 40, 0.22, eye.upper), (1, 24, 0.09, eye.lower)):
        for u in rng.uniform(-0.97, 0.80, count).tolist():
            v = up * lid * (1 - u * u) ** 0.8 + eye.tilt * u
            lean, reach = 0.55 * u + rng.normal(0, 0.12), long * rng.uniform(0.6, 1.0) * (1 - 0.25 * u)
            curve = [(u + lean * reach * s * (0.6 + 0.6 * s), v + up * reach * (s - 0.35 * s * s)) for s in (0, 0.5, 1)]
            yield curve, int(rng.integers(120, 220))


def _brow(eye: OuterEye, dark: float, rng: np.random.Generator) -> Iterator[tuple[list[tuple[float, float]], int]]:
    """Yield the hairs of the brow in the form of `_lashes`; they point towards the temple."""
    for u in rng.uniform(-1.25, 0.95, 130).tolist():
        v = -eye.upper - 0.62 + 0.16 * u * u + rng.normal(0, 0.045) + eye.tilt * u
        reach = rng.uniform(0.10, 0.22)
        rise = 0.35 + 0.5 * u + rng.normal(0, 0.15)
        yield [(u, v), (u - reach, v - rise * reach)], int(255 * dark * rng.uniform(0.5, 1.0))


def _expose(canvas: _Field, photograph: EyePhotograph, rng: np.random.Generator) -> Image.Image:
    """Return the photograph with the camera's colour, defocus and noise."""
    size = len(canvas)
    seen = canvas * (photograph.brightness * np.array(photograph.tint, dtype=np.float32))
    if photograph.grey:
        seen = np.repeat(seen @ np.array((0.30, 0.59, 0.11), dtype=np.float32)[:, None], 3, axis=-1)
    image = Image.fromarray((np.clip(seen, 0, 1) * 255).astype(np.uint8))
    if photograph.blur * size > 0.2:
        image = image.filter(ImageFilter.GaussianBlur(photograph.blur * size))
    noise = rng.standard_normal((size, size, 1), dtype=np.float32) * (255 * photograph.noise)
    return Image.fromarray(np.clip(np.asarray(image, dtype=np.float32) + noise, 0, 255).astype(np.uint8))


def _varied(rng: np.random.Generator, colour: Colour, by: float) -> Colour:
    red, green, blue = (float(c * rng.uniform(1 - by, 1 + by)) for c in colour)
    return red, green, blue


def _clouds(rng: np.random.Generator, shape: tuple[int, ...], cells: int) -> _Field:
    """Return smooth noise (height, width) around 0, with about `cells` patches per side."""
    grid = Image.fromarray(rng.standard_normal((cells + 2, cells + 2), dtype=np.float32))
    return np.asarray(grid.resize((shape[1], shape[0]), Image.Resampling.BICUBIC))


def _cover(depth: _Field) -> _Field:
    """Return the covered share of a pixel, 0 to 1, from its depth inside the edge in pixels."""
    covered: _Field = np.clip(depth + 0.5, 0, 1)
    return covered


def _smooth(low: float, high: float, value: _Field) -> _Field:
    """Return 0 below `low`, 1 above `high`, and a smooth rise between."""
    t: _Field = np.clip((value - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def _mixed(under: _Field, over: _Field, share: _Field) -> _Field:
    return under + (over - under) * share[..., None]


def augment(image: Image.Image, seed: int) -> Image.Image:
    """Return an augmented copy as in CAU001: brightness +-45 %, blur, and salt and pepper on 7 % of the pixels.

    Blur is up to 2.75 pixels in an image of 640, scaled to the image size. Four in ten copies are grey.
    """
    rng = np.random.default_rng(seed)
    gain, blur, grey = rng.uniform(0.55, 1.45), rng.uniform(0, 2.75) * image.width / 640, rng.random() < 0.4
    changed = image.filter(ImageFilter.GaussianBlur(blur))
    pixels = np.clip(np.asarray(changed.convert("L").convert("RGB") if grey else changed) * gain, 0, 255)
    chance = rng.random(pixels.shape[:2])
    pixels[chance < 0.035] = 0
    pixels[chance > 0.965] = 255
    return Image.fromarray(pixels.astype(np.uint8))
