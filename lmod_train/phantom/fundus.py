"""Fundus photographs drawn from known truth, with masks of disc and cup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from lmod_train.phantom.checks import check_size
from lmod_train.phantom.drawing import cloud
from lmod_train.phantom.eye import Camera, Eye, Lesion, Point, draw_eye
from lmod_train.phantom.vessels import Vessel

__all__ = ["Camera", "Eye", "Lesion", "Vessel", "cup_mask", "disc_mask", "draw_eye", "render"]

_Plane: TypeAlias = npt.NDArray[np.float32]
_Mask: TypeAlias = npt.NDArray[np.bool_]

# Reflectances, red green blue of full scale 1, matched by eye to public fundus photographs.
_PALE, _DARK, _MILK = (0.86, 0.47, 0.24), (0.62, 0.27, 0.12), (0.62, 0.53, 0.40)
_RIM, _CUP = (0.98, 0.70, 0.43), (1.0, 0.93, 0.72)
_BLOOD, _EXUDATE, _COTTON = (0.44, 0.08, 0.05), (1.0, 0.88, 0.46), (0.96, 0.84, 0.64)
_ARTERY, _VEIN = (0.20, 0.42, 0.40), (0.42, 0.58, 0.52)  # share of the light absorbed, not reflected


def render(eye: Eye, size: int) -> Image.Image:
    """Return the photograph of an eye: RGB, `size` x `size` pixels; deterministic.

    Args:
        eye: Truth to draw.
        size: Side in pixels, from 16.

    Raises:
        BadArgument: The size is below 16.

    Example:
        >>> image = render(draw_eye(0, "normal"), 64)
        >>> image.mode, image.size, image.getpixel((0, 0)) < (30, 30, 30)
        ('RGB', (64, 64), True)
    """
    check_size(size, good=120)
    # One generator each, so that an additional lesion leaves texture and noise as they are.
    texture, outlines, noise = (np.random.default_rng([eye.seed, stream]) for stream in (1, 2, 3))
    scene = _retina(eye, size, texture)
    _lay_disc(scene, eye, size)
    _lay_vessels(scene, eye, size)
    _lay_lesions(scene, eye, size, outlines)
    return _photograph(scene, eye, size, noise)


def disc_mask(eye: Eye, size: int) -> _Mask:
    """Return the mask of the optic disc, including the cup: bool, shape (size, size), decided at pixel centres.

    Example:
        >>> eye = draw_eye(3, "normal")
        >>> bool((disc_mask(eye, 256) | cup_mask(eye, 256) == disc_mask(eye, 256)).all())
        True
    """
    return _ellipse(eye.disc, eye.disc_radii, size) <= 1


def cup_mask(eye: Eye, size: int) -> _Mask:
    """Return the mask of the optic cup, inside the disc: bool, shape (size, size), decided at pixel centres.

    Example:
        >>> cup_mask(draw_eye(3, "glaucoma"), 256).sum() > cup_mask(draw_eye(3, "normal"), 256).sum()
        np.True_
    """
    inside: _Mask = _ellipse(eye.cup, eye.cup_radii, size) <= 1
    if eye.notch is not None:
        centre, radius = eye.notch
        inside |= (_ellipse(centre, (radius, radius), size) <= 1) & disc_mask(eye, size)
    return inside


def _colour(values: Sequence[float]) -> _Plane:
    """Return three values that broadcast over a scene, shape (3, 1, 1); scenes are (3, height, width)."""
    return np.array(values, dtype=np.float32)[:, None, None]


@lru_cache(maxsize=4)
def _grid(size: int) -> tuple[_Plane, _Plane]:
    """Return x as a row and y as a column of pixel centres; they broadcast."""
    centres = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)
    return centres[None, :], centres[:, None]


def _ellipse(centre: Point, radii: Point, size: int) -> _Plane:
    """Return the distance from the centre in units of the radii; 1 on the outline."""
    x, y = _grid(size)
    squares = ((x - np.float32(centre[0])) / np.float32(radii[0])) ** 2
    plane: _Plane = np.sqrt(squares + ((y - np.float32(centre[1])) / np.float32(radii[1])) ** 2)
    return plane


def _spot(centre: Point, sigma: float, size: int) -> _Plane:
    """Return a Gaussian of height 1."""
    x, y = _grid(size)
    across = np.exp(-((x - np.float32(centre[0])) ** 2) / np.float32(2 * sigma**2))
    plane: _Plane = across * np.exp(-((y - np.float32(centre[1])) ** 2) / np.float32(2 * sigma**2))
    return plane


def _retina(eye: Eye, size: int, rng: np.random.Generator) -> _Plane:
    """Return the fundus without disc and vessels: texture, dark macula, and sheen of the nerve fibres."""
    shade = 1 + 0.035 * cloud(rng, 5, size)
    shade += (0.012 + 0.022 * eye.mottle) * cloud(rng, 22, size)
    shade += (0.008 + 0.014 * eye.mottle) * cloud(rng, 70, size)
    shade -= 0.20 * _spot(eye.fovea, 0.075, size)
    shade -= 0.26 * _spot(eye.fovea, 0.024, size)
    shade += 0.10 * _spot(eye.disc, 0.16, size)
    pale, dark = _colour(_PALE), _colour(_DARK)
    return shade * (pale + eye.pigment * (dark - pale))


def _blend(scene: _Plane, alpha: _Plane, colour: _Plane) -> None:
    """Blend a colour over the scene, in place."""
    layer = colour - scene
    layer *= alpha
    scene += layer


def _soft(distance: _Plane, radius: float, edge: float) -> _Plane:
    """Return 1 inside and 0 outside an outline, with a rim `edge` wide, in units of the image side."""
    plane: _Plane = np.clip(0.5 + (1 - distance) * (radius / edge), 0, 1)
    return plane


def _lay_disc(scene: _Plane, eye: Eye, size: int) -> None:
    """Draw the disc and the paler cup; the middle of each soft edge is the outline of the mask."""
    for centre, radii, edge, colour in ((eye.disc, eye.disc_radii, 0.016, _RIM), (eye.cup, eye.cup_radii, 0.014, _CUP)):
        alpha = 0.95 * _soft(_ellipse(centre, radii, size), radii[1], edge)
        _blend(scene, alpha, _colour(colour) * (1 - 0.15 * eye.pigment))
    if eye.notch is not None:
        centre, radius = eye.notch
        alpha = 0.95 * _soft(_ellipse(centre, (radius, radius), size), radius, 0.014)
        alpha *= _soft(_ellipse(eye.disc, eye.disc_radii, size), eye.disc_radii[1], 0.016)
        _blend(scene, alpha, _colour(_CUP) * (1 - 0.15 * eye.pigment))


def _lay_vessels(scene: _Plane, eye: Eye, size: int) -> None:
    """Draw the vessels: veins darker than arteries, and both paler inside the cup."""
    seen = 1 - 0.5 * _soft(_ellipse(eye.cup, eye.cup_radii, size), eye.cup_radii[1], 0.014)
    for vein, absorbed in ((False, _ARTERY), (True, _VEIN)):
        layer = Image.new("L", (2 * size, 2 * size))
        draw = ImageDraw.Draw(layer)
        for vessel in eye.vessels:
            if vessel.vein == vein:
                _stroke(draw, vessel, 2 * size)
        scene *= 1 - _colour(absorbed) * (seen * _share(layer))


def _share(layer: Image.Image, soft: float = 0) -> _Plane:
    """Return a layer drawn at twice the size as shares from 0 to 1 (antialiased)."""
    layer = layer.reduce(2)
    if soft:
        layer = layer.filter(ImageFilter.GaussianBlur(soft))
    plane: _Plane = np.asarray(layer, dtype=np.float32) / np.float32(255)
    return plane


def _stroke(draw: ImageDraw.ImageDraw, vessel: Vessel, side: int) -> None:
    """Draw one vessel in pieces of decreasing width; lines thinner than a pixel are drawn fainter."""
    points = [(x * side, y * side) for x, y in vessel.points]
    pieces = 4 if vessel.width * side > 4 else 1
    each = math.ceil((len(points) - 1) / pieces)
    for piece in range(pieces):
        width = (vessel.width + (vessel.end - vessel.width) * (piece + 0.5) / pieces) * side
        fill = int(255 * min(1.0, 0.25 + width / 2.5))
        draw.line(points[piece * each : (piece + 1) * each + 1], fill=fill, width=max(1, round(width)))


def _lay_lesions(scene: _Plane, eye: Eye, size: int, rng: np.random.Generator) -> None:
    """Draw lesions with irregular outlines: soft cotton-wool spots first, then blood, then sharp exudates."""
    for kinds, colour in (
        (("cotton-wool spot",), _COTTON),
        (("microaneurysm", "haemorrhage", "disc haemorrhage"), _BLOOD),
        (("hard exudate",), _EXUDATE),
    ):
        lesions = [lesion for lesion in eye.lesions if lesion.kind in kinds]
        if not lesions:
            continue
        layer = Image.new("L", (2 * size, 2 * size))
        draw = ImageDraw.Draw(layer)
        for lesion in lesions:
            draw.polygon(_outline(lesion, 2 * size, rng), fill=235)
        _blend(scene, _share(layer, soft=0.008 * size if colour is _COTTON else 0), _colour(colour))


def _outline(lesion: Lesion, side: int, rng: np.random.Generator) -> list[Point]:
    """Return a closed, irregular outline around a lesion, in pixels of a canvas of side `side`."""
    angles = np.linspace(0, 2 * math.pi, 40, endpoint=False)
    waves = np.arange(2, 8)
    heights = rng.normal(0, 0.20, 6) / waves * (lesion.kind != "microaneurysm")
    wave = heights @ np.cos(np.outer(waves, angles) + rng.uniform(0, 2 * math.pi, (6, 1)))
    radius = lesion.radius * side * np.clip(1 + wave, 0.55, 1.5)
    x, y = lesion.x * side + radius * np.cos(angles), lesion.y * side + radius * np.sin(angles)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _photograph(scene: _Plane, eye: Eye, size: int, rng: np.random.Generator) -> Image.Image:
    """Return the photograph of a scene: haze of the lens, light, defocus and noise of the camera."""
    camera = eye.camera
    scene = _blurred(scene, math.hypot(camera.blur, 0.016 * eye.haze) * size)
    veil = 0.62 * eye.haze  # a cloudy lens scatters light over the whole picture
    scene *= camera.contrast * (1 - veil)
    scene += camera.contrast * veil * _colour(_MILK) + (1 - camera.contrast) * _colour(_PALE)
    fall = _ellipse(camera.light, (0.7, 0.7), size)
    light = camera.brightness * (1 - camera.vignette * fall * fall)
    light *= _soft(_ellipse(camera.field, (camera.field_radius,) * 2, size), camera.field_radius, 0.008)
    scene *= light
    scene *= _colour(camera.tint)
    grain = np.float32(camera.noise) * rng.standard_normal((size + 2, size), dtype=np.float32)
    for channel in range(3):  # one noise image, shifted by one row per channel: drawing normal numbers is slow
        scene[channel] += grain[channel : channel + size]
    return Image.merge("RGB", [Image.fromarray(plane) for plane in _bytes(scene, 255)])


def _blurred(scene: _Plane, sigma: float) -> _Plane:
    """Return the scene blurred by a Gaussian of `sigma` pixels."""
    blur = ImageFilter.GaussianBlur(sigma)
    planes = [np.asarray(Image.fromarray(plane).filter(blur)) for plane in _bytes(scene, 230)]  # headroom above white
    return np.stack(planes).astype(np.float32) / np.float32(230)


def _bytes(scene: _Plane, white: int) -> npt.NDArray[np.uint8]:
    """Return a scene as bytes; 1 becomes `white`."""
    scaled = scene * np.float32(white)
    return np.clip(scaled, 0, 255, out=scaled).astype(np.uint8)
