"""Frames of cataract surgery drawn from known truth: the image of the microscope, and outlines of structures.

Lengths and positions are in units of the image's height: x from 0 to 4/3, y from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.instruments import Colour, Patch, Point, Shape, draw_shape

_Plane: TypeAlias = npt.NDArray[np.float32]

_SIDE = 4 / 3
_FINE = 3  # factor of the resolution at which instruments are drawn before averaging
_SCLERA, _SKIN, _BLOOD = (0.84, 0.77, 0.66), (0.34, 0.20, 0.14), (0.62, 0.14, 0.12)
_REFLEX, _DEEP, _MILK = (0.90, 0.33, 0.13), (0.34, 0.09, 0.09), (0.66, 0.60, 0.54)
_IRISES = ((0.42, 0.45, 0.30), (0.36, 0.45, 0.50), (0.40, 0.29, 0.18))


@dataclass(frozen=True, slots=True)
class Operation:
    """Properties that all frames of one operation share: eye and light.

    Attributes:
        cornea_radius: Radius of the cornea, through which the iris is visible.
        dilation: Pupil radius divided by cornea radius.
        iris: Colour of the iris.
        skin: Brightness of lids and drape, around 1.
        redness: Redness of the sclera, 0 to 1.
        tint: Gain of red, green and blue, which differs between microscopes.
        light: Brightness, around 1.
        noise: Standard deviation of the camera's noise, of full scale 1.
    """

    cornea_radius: float
    dilation: float
    iris: Colour
    skin: float
    redness: float
    tint: Colour
    light: float
    noise: float


@dataclass(frozen=True, slots=True)
class Instrument:
    """An instrument in the frame; its shape is in units of the image's height and not cut at the image border."""

    kind: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Scene:
    """Truth of one frame.

    Attributes:
        seed: Seed of the frame, also of textures and noise.
        operation: Eye and light.
        cornea: Outline of the cornea.
        pupil: Outline of the pupil, inside the cornea.
        lens: Outline of the implanted lens, inside the pupil; empty without one.
        haze: Haze of the natural lens, 0 to 1; 0 with an implanted lens.
        instruments: Instruments in order of drawing, the last on top; no two of a kind.
    """

    seed: int
    operation: Operation
    cornea: tuple[Point, ...]
    pupil: tuple[Point, ...]
    lens: tuple[Point, ...]
    haze: float
    instruments: tuple[Instrument, ...]


def draw_operation(seed: int) -> Operation:
    """Return eye and light of one operation; deterministic in the seed.

    Example:
        >>> 0.5 < draw_operation(3).dilation < 0.8, draw_operation(3) == draw_operation(3)
        (True, True)
    """
    rng = np.random.default_rng([seed, 0])
    iris = np.asarray(_IRISES[int(rng.integers(len(_IRISES)))]) * rng.uniform(0.85, 1.2)
    warm, green = rng.uniform(-0.08, 0.08), rng.uniform(-0.07, 0.05)
    return Operation(
        cornea_radius=rng.uniform(0.27, 0.33),
        dilation=rng.uniform(0.56, 0.74),
        iris=(float(iris[0]), float(iris[1]), float(iris[2])),
        skin=rng.uniform(0.5, 1.1),
        redness=rng.uniform(0, 1),
        tint=(1 + warm, 1 + green, 1 - warm),
        light=rng.uniform(0.85, 1.1),
        noise=rng.uniform(0.006, 0.02),
    )


def draw_scene(seed: int, operation: Operation, kinds: Sequence[str], *, lens: bool) -> Scene:
    """Return the truth of one frame.

    Instruments come in from all sides, at least 50 degrees apart, with their tips over pupil or iris. Positions and
    sizes do not depend on the kinds of instruments, nor does anything else in the frame.

    Args:
        seed: Any integer from 0.
        operation: Eye and light.
        kinds: Instruments to draw, up to five, words of `INSTRUMENTS`.
        lens: Whether a lens is implanted.

    Raises:
        BadArgument: The seed is negative, there are more than five kinds, or one is unknown.
    """
    if seed < 0 or len(kinds) > 5:
        raise BadArgument("(seed, kinds)", (seed, kinds), "a seed from 0 and up to five kinds", "draw fewer")
    place, round_, tools = (np.random.default_rng(s) for s in np.random.SeedSequence([seed, 1]).spawn(3))
    centre = (_SIDE / 2 + place.uniform(-0.09, 0.09), 0.5 + place.uniform(-0.06, 0.06))
    radius = operation.cornea_radius
    pupil = radius * operation.dilation * place.uniform(0.95, 1.05)
    middle = (centre[0] + place.uniform(-0.02, 0.02), centre[1] + place.uniform(-0.02, 0.02))
    optic = pupil * place.uniform(0.70, 0.84)
    shift = (pupil - optic) * 0.5
    seat = (middle[0] + place.uniform(-shift, shift), middle[1] + place.uniform(-shift, shift))
    haze = place.uniform(0.05, 0.6)
    start = tools.uniform(0, 2 * math.pi)
    apart = 2 * math.pi / max(len(kinds), 1)
    wobble = max(0.0, (apart - math.radians(50)) / 2)
    instruments = []
    for i, kind in enumerate(kinds):
        angle = start + i * apart + tools.uniform(-wobble, wobble)
        reach = tools.uniform(0.06, 0.20) if len(kinds) > 1 else tools.uniform(-0.05, 0.18)
        tip = (middle[0] + reach * math.cos(angle), middle[1] + reach * math.sin(angle))
        instruments.append(Instrument(kind, _laid(draw_shape(kind, tools), tip, angle)))
    return Scene(
        seed=seed,
        operation=operation,
        cornea=_ring(centre, radius, 1.04, 0.012, round_),
        pupil=_ring(middle, pupil, 1.0, 0.02, round_),
        lens=_ring(seat, optic, 1.0, 0.004, round_) if lens else (),
        haze=0.0 if lens else haze,
        instruments=tuple(instruments),
    )


def height_of(width: int) -> int:
    """Return the height of a frame of a given width in pixels, three quarters of it.

    Raises:
        BadArgument: The width is below 32 or not a multiple of 4.
    """
    if width < 32 or width % 4:
        raise BadArgument("size", width, "a multiple of 4, from 32", "use 256, or 1024 as in the published dataset")
    return width * 3 // 4


def outlines(scene: Scene, width: int) -> list[tuple[str, tuple[Point, ...]]]:
    """Return (structure, corners in pixels) of all structures in an image of a given width, anatomy first.

    Outlines are cut at the image border and rounded to 0.01 pixels, as they are written to the annotation files.
    """
    anatomy = [("cornea", scene.cornea), ("pupil", scene.pupil), ("lens", scene.lens)]
    found = [(name, corners) for name, corners in anatomy if corners]
    found += [(i.kind, i.shape.outline) for i in scene.instruments]
    height = height_of(width)
    cut = ((name, _cut([(x * height, y * height) for x, y in corners], width, height)) for name, corners in found)
    return [(name, tuple((round(x, 2), round(y, 2)) for x, y in corners)) for name, corners in cut]


def render(scene: Scene, width: int) -> Image.Image:
    """Return the frame: RGB, `width` x 3/4 `width` pixels; deterministic.

    Args:
        scene: Truth to draw.
        width: Width in pixels, a multiple of 4 from 32.

    Raises:
        BadArgument: The width is below 32 or not a multiple of 4.

    Example:
        >>> render(draw_scene(0, draw_operation(0), ["gauge"], lens=True), 64).size
        (64, 48)
    """
    height = height_of(width)
    texture, noise, glare = (np.random.default_rng([scene.seed, stream]) for stream in (2, 3, 4))
    centre, radius = _middle(scene.cornea)
    y, x = (np.mgrid[:height, :width].astype(np.float32) + 0.5) / height
    picture = _outside(scene, x - centre[0], y - centre[1], texture)
    _lay_iris(picture, scene, x, y, texture)
    _lay_pupil(picture, scene, x, y, texture)
    for instrument in scene.instruments:
        _lay_instrument(picture, instrument.shape)
    _lay_reflexes(picture, x, y, _middle(scene.pupil)[0], glare)
    falloff = np.hypot(x - centre[0], y - centre[1]) / (radius * 3.6)
    picture *= (1.1 - 0.75 * np.clip(falloff, 0, 1) ** 2)[..., None] * np.float32(scene.operation.light)
    picture *= np.asarray(scene.operation.tint, dtype=np.float32)
    picture += noise.standard_normal(picture.shape, dtype=np.float32) * np.float32(scene.operation.noise)
    return Image.fromarray((np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))


def _ring(centre: Point, radius: float, wide: float, wave: float, rng: np.random.Generator) -> tuple[Point, ...]:
    """Return a nearly circular outline of 48 corners; `wave` is the share by which its radius varies."""
    turns = np.linspace(0, 2 * math.pi, 48, endpoint=False)
    a, b, p, q = rng.uniform(-wave, wave, 2).tolist() + rng.uniform(0, 2 * math.pi, 2).tolist()
    r = radius * (1 + a * np.cos(2 * turns + p) + b * np.cos(3 * turns + q))
    corners = zip(centre[0] + r * wide * np.cos(turns), centre[1] + r * np.sin(turns), strict=True)
    return tuple((float(x), float(y)) for x, y in corners)


def _laid(shape: Shape, tip: Point, angle: float) -> Shape:
    """Return a shape rotated so that its handle points along `angle`, with its tip at `tip`."""
    c, s = math.cos(angle), math.sin(angle)

    def turned(corners: Sequence[Point]) -> tuple[Point, ...]:
        return tuple((tip[0] + u * c - v * s, tip[1] + u * s + v * c) for u, v in corners)

    return Shape(turned(shape.outline), shape.colour, tuple(Patch(turned(p.corners), p.colour) for p in shape.patches))


def _cut(corners: Sequence[Point], width: float, height: float) -> list[Point]:
    """Return a polygon clipped to the image (Sutherland and Hodgman 1974)."""
    kept = list(corners)
    for axis, limit, sign in ((0, 0.0, 1), (0, width, -1), (1, 0.0, 1), (1, height, -1)):
        ahead, kept = kept, []
        for before, here in zip([ahead[-1], *ahead[:-1]], ahead, strict=True):
            was, now = sign * (before[axis] - limit), sign * (here[axis] - limit)
            if (was < 0) != (now < 0):
                share = was / (was - now)
                crossing = [b + share * (h - b) for b, h in zip(before, here, strict=True)]
                crossing[axis] = limit
                kept.append((crossing[0], crossing[1]))
            if now >= 0:
                kept.append(here)
    return kept


def _middle(corners: Sequence[Point]) -> tuple[Point, float]:
    """Return the centre and the mean radius of a ring."""
    ring = np.asarray(corners)
    centre = ring.mean(axis=0)
    return (float(centre[0]), float(centre[1])), float(np.linalg.norm(ring - centre, axis=1).mean())


def _around(centre: Point, radius: float, height: int) -> tuple[slice, slice]:
    """Return rows and columns of the pixels within `radius` of a centre, so that only these are computed."""
    (left, right), (top, bottom) = (
        (max(0, math.floor((c - radius) * height)), max(0, math.ceil((c + radius) * height))) for c in centre
    )
    return slice(top, bottom), slice(left, right)


def _shrunk(corners: Sequence[Point], share: float) -> tuple[Point, ...]:
    (x, y), _ = _middle(corners)
    return tuple((x + (u - x) * share, y + (v - y) * share) for u, v in corners)


def _blend(picture: _Plane, alpha: _Plane, colour: Sequence[float] | _Plane) -> None:
    """Blend a colour over the picture (height, width, 3) with weights `alpha` (height, width), in place."""
    change = np.asarray(colour, dtype=np.float32) - picture
    change *= alpha[..., None]
    picture += change


def _cover(corners: Sequence[Point], width: int) -> _Plane:
    """Return the share of each pixel that lies inside a polygon."""
    layer = Image.new("L", (width * _FINE, height_of(width) * _FINE))
    ImageDraw.Draw(layer).polygon(_fine(corners, height_of(width), (0, 0)), fill=255)
    return _share(layer.reduce(_FINE))


def _share(layer: Image.Image) -> _Plane:
    """Return a layer of bytes as shares of full scale."""
    share: _Plane = np.asarray(layer, dtype=np.float32) / np.float32(255)
    return share


def _fine(corners: Sequence[Point], height: int, corner: tuple[int, int]) -> list[Point]:
    """Return corners in fine pixels (integer at pixel centres), relative to a `corner` in pixels."""
    return [((x * height - corner[0]) * _FINE - 0.5, (y * height - corner[1]) * _FINE - 0.5) for x, y in corners]


def _blur(plane: _Plane, sigma: float) -> _Plane:
    layer = Image.fromarray((plane * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(sigma))
    return _share(layer)


def _outside(scene: Scene, x: _Plane, y: _Plane, rng: np.random.Generator) -> _Plane:
    """Return lids and drape, with the sclera and its vessels between them; x and y are relative to the cornea."""
    height, width = x.shape
    operation = scene.operation
    coarse = Image.fromarray(rng.uniform(-1, 1, (7, 9)).astype(np.float32))
    cloud = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)
    picture = np.asarray(_SKIN, dtype=np.float32) * (operation.skin * (1 + 0.35 * cloud))[..., None]
    open_, lid = rng.uniform(0.40, 0.47), rng.uniform(0.56, 0.68)
    edge = np.abs(x / lid) ** 2.2 + np.abs(y / open_) ** 2.2
    pale = 1 - 0.12 * operation.redness
    sclera = np.asarray((_SCLERA[0], _SCLERA[1] * pale, _SCLERA[2] * pale), dtype=np.float32)
    eye = np.clip((1.06 - edge) / 0.12, 0, 1)
    _blend(picture, eye, sclera * (1 - 0.25 * np.clip(edge, 0, 1) ** 2 + 0.05 * cloud)[..., None])
    _blend(picture, _vessels(scene, width, rng) * eye * (0.35 + 0.4 * operation.redness), _BLOOD)
    return picture


def _vessels(scene: Scene, width: int, rng: np.random.Generator) -> _Plane:
    """Return the vessels of the conjunctiva: tortuous lines that end near the limbus."""
    layer = Image.new("L", (width, height_of(width)))
    pen, height = ImageDraw.Draw(layer), height_of(width)
    (cx, cy), radius = _middle(scene.cornea)
    for _ in range(22):
        turn, steps = rng.uniform(0, 2 * math.pi), int(rng.integers(5, 12))
        reach = radius * 1.06 + np.cumsum(rng.uniform(0.01, 0.03, steps))
        turns = turn + np.cumsum(rng.normal(0, 0.05, steps))
        line = [
            (float((cx + r * math.cos(t)) * height), float((cy + r * math.sin(t)) * height))
            for r, t in zip(reach, turns, strict=True)
        ]
        pen.line(line, fill=int(rng.integers(110, 255)), width=max(1, round(height * 0.004)))
    return _share(layer)


def _lay_iris(picture: _Plane, scene: Scene, x: _Plane, y: _Plane, rng: np.random.Generator) -> None:
    """Draw the limbus with a soft edge, and the iris with its streaks."""
    height, width = x.shape
    centre, radius = _middle(scene.cornea)
    near = _around(centre, 1.2 * radius, height)
    inside = _cover(scene.cornea, width)[near]
    iris = _cover(_shrunk(scene.cornea, 0.95), width)[near]
    _blend(picture[near], _blur(inside, 0.006 * height), (0.50, 0.50, 0.46))
    _blend(picture[near], _blur(iris, 0.010 * height), scene.operation.iris)
    angle = np.arctan2(y[near] - centre[1], x[near] - centre[0])
    streaks = np.interp(angle, np.linspace(-math.pi, math.pi, 97), rng.normal(0, 0.07, 97)).astype(np.float32)
    picture[near] *= (1 + streaks * inside)[..., None]


def _lay_pupil(picture: _Plane, scene: Scene, x: _Plane, y: _Plane, rng: np.random.Generator) -> None:
    """Draw the pupil with its red reflex, and the haze of a natural lens or rim and haptics of an implanted one."""
    height, width = x.shape
    (cx, cy), radius = _middle(scene.pupil)
    near = _around((cx, cy), 1.06 * radius, height)
    picture, x, y = picture[near], x[near], y[near]
    tilt = rng.uniform(0, 2 * math.pi)
    slope = np.clip(0.5 + 0.4 * ((x - cx) * math.cos(tilt) + (y - cy) * math.sin(tilt)) / radius, 0, 1)[..., None]
    reflex = np.asarray(_DEEP) + slope * (np.asarray(_REFLEX) - np.asarray(_DEEP))
    pupil = _cover(scene.pupil, width)[near]
    _blend(picture, pupil, reflex.astype(np.float32))
    if not scene.lens:
        cloud = np.clip(1.1 - np.hypot(x - cx, y - cy) / radius, 0, 1)
        _blend(picture, pupil * cloud * np.float32(scene.haze), _MILK)
        return
    (lx, ly), optic = _middle(scene.lens)
    loops = Image.new("L", (width, height))
    pen, turn = ImageDraw.Draw(loops), math.degrees(rng.uniform(0, math.pi))
    for side in (0, 180):  # the two haptics that hold the lens
        away = math.radians(turn + side)
        mx, my, r = lx + 0.55 * optic * math.cos(away), ly + 0.55 * optic * math.sin(away), 0.62 * optic
        ring = [(mx - r) * height, (my - r) * height, (mx + r) * height, (my + r) * height]
        pen.arc(ring, turn + side - 70, turn + side + 70, fill=255, width=max(1, round(0.010 * height)))
    _blend(picture, _share(loops)[near] * pupil * np.float32(0.7), (0.55, 0.62, 0.75))
    lens = _cover(scene.lens, width)[near]
    _blend(picture, lens * 0.30, (0.80, 0.72, 0.78))
    rim = np.clip(lens - _cover(_shrunk(scene.lens, 0.92), width)[near], 0, 1)
    _blend(picture, rim * 0.75, (0.86, 0.88, 0.92))


def _lay_instrument(picture: _Plane, shape: Shape) -> None:
    """Draw an instrument in its bounding box at a higher resolution, and blend it into the picture."""
    height, width, _ = picture.shape
    seen = np.asarray(_cut([(x * height, y * height) for x, y in shape.outline], width, height))
    x0, y0 = (int(v) for v in np.floor(seen.min(axis=0)))
    x1, y1 = (int(v) for v in np.ceil(seen.max(axis=0)))
    size = ((x1 - x0) * _FINE, (y1 - y0) * _FINE)
    inside, paint = Image.new("L", size), Image.new("RGB", size, _bytes(shape.colour))
    ImageDraw.Draw(inside).polygon(_fine(shape.outline, height, (x0, y0)), fill=255)
    pen = ImageDraw.Draw(paint)
    for patch in shape.patches:
        pen.polygon(_fine(patch.corners, height, (x0, y0)), fill=_bytes(patch.colour))
    _blend(picture[y0:y1, x0:x1], _share(inside.reduce(_FINE)), _share(paint.reduce(_FINE)))


def _lay_reflexes(picture: _Plane, x: _Plane, y: _Plane, centre: Point, rng: np.random.Generator) -> None:
    """Add two to four small reflexes of the lamp near the pupil's centre."""
    for _ in range(int(rng.integers(2, 5))):
        (dx, dy), size = rng.normal(0, 0.035, 2), rng.uniform(0.006, 0.011)
        spot = (centre[0] + dx, centre[1] + dy)
        near = _around(spot, 2 * size, picture.shape[0])
        away = np.hypot(x[near] - spot[0], y[near] - spot[1]) / size
        _blend(picture[near], np.exp(-(away**4)), (1.0, 1.0, 0.97))


def _bytes(colour: Colour) -> tuple[int, int, int]:
    red, green, blue = (round(255 * c) for c in colour)
    return red, green, blue
