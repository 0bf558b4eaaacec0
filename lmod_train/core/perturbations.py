"""Graded defects of image quality: blur, exposure, shadow, a cut-off field, JPEG artefacts and low resolution.

Each grade of a defect changes the image more than the grade below. Lengths are shares of the image's longer side or of
the illuminated field, so that an image and the same image at half its size look alike. There are two exceptions: JPEG
works on blocks of 8 pixels, and low resolution is a share of the pixels that an image has. The grades are chosen by eye
on fundus photographs of 1,024 pixels: 1 is barely visible, 3 disturbs reading, 5 hides most of what a reader needs.
Images keep their size, and structures their coordinates. Without a black surround, as in OCT, the field is the whole
image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageFilter

from lmod_train.core.errors import BadArgument
from lmod_train.core.pixels import jpeg_bytes, open_picture

GRADES = (1, 2, 3, 4, 5)
"""Grades of every kind; 0 is the unchanged image."""

BLUR = (0.0012, 0.0025, 0.005, 0.010, 0.018)
"""Standard deviation of the Gaussian, as a share of the longer side: 1.2 to 18 pixels of 1,024."""

UNDEREXPOSURE = (0.4, 0.9, 1.6, 2.5, 4.0)
"""Photographic stops less: light is divided by 2 to the power of them, 1.3 to 16."""

OVEREXPOSURE = (0.3, 0.7, 1.3, 2.1, 3.2)
"""Photographic stops more: light is multiplied by 1.2 to 9.2, and clipped at white."""

SHADOW = ((0.2, 0.20), (0.4, 0.28), (0.6, 0.36), (0.78, 0.45), (0.92, 0.55))
"""Share of the brightness that is lost in the dark part, and share of the field's diameter that is dark."""

CROP = (0.05, 0.12, 0.22, 0.34, 0.48)
"""Share of the field's width or height that is cut off."""

JPEG = (50, 25, 14, 9, 5)
"""JPEG quality, with chroma subsampling 4:2:0."""

RESOLUTION = (0.4, 0.2, 0.11, 0.06, 0.035)
"""Remaining pixels along the longer side, as a share of its pixels, of which at most 1,024 count: 410 to 36."""

_DARK = 16  # grey values up to this, of 255, are the surround of the field
_MAP_SIDE = 256  # pixels of the longer side of a shadow before it is enlarged


def perturbed(image: Image.Image, kind: str, grade: int, seed: int = 0) -> Image.Image:
    """Return the image with one defect; grade 0 returns the same object.

    Args:
        image: RGB image.
        kind: One of `KINDS`.
        grade: 0 to 5.
        seed: Seed of the side that is in shadow or cut off; the same seed gives the same side in every grade.

    Raises:
        BadArgument: `kind` or `grade` is not one of these.

    Example:
        >>> grey = Image.new("RGB", (64, 48), (120, 120, 120))
        >>> perturbed(grey, "underexposure", 3).getpixel((30, 20)), perturbed(grey, "blur", 0) is grey
        ((70, 70, 70), True)
    """
    _check(kind, grade)
    return KINDS[kind](image, grade - 1, np.random.default_rng(seed)) if grade else image


def perturbation_name(kind: str, grade: int) -> str:
    """Return the name of a perturbation as questions and file names have it; empty for grade 0.

    Raises:
        BadArgument: `kind` is not one of `KINDS`, or `grade` not one of 0 to 5.

    Example:
        >>> perturbation_name("blur", 3), perturbation_name("blur", 0)
        ('blur-3', '')
    """
    _check(kind, grade)
    return f"{kind}-{grade}" if grade else ""


def parse_perturbation(name: str) -> tuple[str, int]:
    """Return kind and grade of a perturbation's name.

    Raises:
        BadArgument: The name is not a kind and a grade from 1 to 5 joined by ``-``.

    Example:
        >>> parse_perturbation("blur-3")
        ('blur', 3)
    """
    kind, _, grade = name.rpartition("-")
    if not is_defect(name):
        raise BadArgument("perturbation", name, f"KIND-GRADE of {_list(KINDS)} and 1 to 5", "write e.g. 'blur-3'")
    return kind, int(grade)


def is_defect(name: str) -> bool:
    """Return whether a name is that of a defect.

    Example:
        >>> is_defect("blur-3"), is_defect("evidence-blur-optic_disc"), is_defect("")
        (True, False, False)
    """
    kind, _, grade = name.rpartition("-")
    return kind in KINDS and grade in map(str, GRADES)


def _check(kind: str, grade: int) -> None:
    if kind not in KINDS:
        raise BadArgument("kind", kind, f"one of {_list(KINDS)}", "spell it as listed")
    if grade != 0 and grade not in GRADES:
        raise BadArgument("grade", grade, "0 (unchanged) to 5", "choose one of them")


def _list(kinds: Mapping[str, object]) -> str:
    return ", ".join(kinds)


def _blur(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(BLUR[step] * max(image.size)))


def _underexposure(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    return _exposed(image, -UNDEREXPOSURE[step])


def _overexposure(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    return _exposed(image, OVEREXPOSURE[step])


def _exposed(image: Image.Image, stops: float) -> Image.Image:
    """Return the image with the light of all pixels multiplied by 2 to the power of `stops`."""
    light = np.minimum(_linear(np.arange(256) / 255) * 2**stops, 1)
    table: list[int] = np.round(255 * _encoded(light)).astype(int).tolist()
    return image.point(table * len(image.getbands()))


def _linear(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return light of sRGB values, both 0 to 1 (IEC 61966-2-1)."""
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _encoded(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sRGB values of light, the inverse of `_linear`."""
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def _shadow(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    """Return the image with one side of its field dark, with a soft edge, in a drawn direction."""
    lost, part = SHADOW[step]
    angle = rng.uniform(0, 2 * np.pi)
    x, y = _field_coordinates(image)
    across = x * np.cos(angle) + y * np.sin(angle)  # -1 to 1 over a round field
    depth = np.clip((across - (1 - 2 * part)) / 0.7 + 0.5, 0, 1)
    kept = 1 - lost * depth**2 * (3 - 2 * depth)
    factors = Image.fromarray(np.round(255 * kept).astype(np.uint8)).resize(image.size, Image.Resampling.BICUBIC)
    return ImageChops.multiply(image, Image.merge(image.mode, [factors] * len(image.getbands())))


def _field_coordinates(image: Image.Image) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x and y of each point of a coarse map of the image, from -1 to 1 over the field's width and height."""
    x0, y0, x1, y1 = field_of(image)
    scale = min(1.0, _MAP_SIDE / max(image.size))
    width, height = (max(1, round(side * scale)) for side in image.size)
    x = (np.arange(width) + 0.5) / width * image.width
    y = (np.arange(height) + 0.5) / height * image.height
    return (2 * (x - x0) / (x1 - x0) - 1)[None, :], (2 * (y - y0) / (y1 - y0) - 1)[:, None]


def _crop(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    """Return the image with one side of its field black, drawn among the four."""
    x0, y0, x1, y1 = field_of(image)
    width, height = image.size
    across, down = round(CROP[step] * (x1 - x0)), round(CROP[step] * (y1 - y0))
    sides = ((0, 0, x0 + across, height), (x1 - across, 0, width, height))
    ends = ((0, 0, width, y0 + down), (0, y1 - down, width, height))
    cut = image.copy()
    cut.paste((0,) * len(image.getbands()), (*sides, *ends)[int(rng.integers(4))])
    return cut


def field_of(image: Image.Image) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the part of an image that is not its black surround.

    Rows and columns that are dark but for 2 % of their pixels belong to the surround. An image that is dark all over
    is a field as a whole.

    Example:
        >>> eye = Image.new("RGB", (400, 300))
        >>> eye.paste((90, 60, 30), (100, 0, 300, 300))
        >>> field_of(eye)
        (100, 0, 300, 300)
    """
    factor = max(1, max(image.size) // _MAP_SIDE)
    bright = np.asarray(image.convert("L").reduce(factor)) > _DARK
    columns, rows = (np.flatnonzero(bright.mean(axis=axis) > 0.02) for axis in (0, 1))
    if not len(columns) or not len(rows):
        return 0, 0, image.width, image.height
    right, bottom = (int(ends[-1] + 1) * factor for ends in (columns, rows))
    return int(columns[0]) * factor, int(rows[0]) * factor, min(right, image.width), min(bottom, image.height)


def _jpeg(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    return open_picture(jpeg_bytes(image, JPEG[step], subsampling=2)).convert(image.mode)


def _resolution(image: Image.Image, step: int, rng: np.random.Generator) -> Image.Image:
    """Return the image with larger pixels; enlarged without interpolation, which would be a blur."""
    scale = RESOLUTION[step] * min(1, 1024 / max(image.size))
    width, height = (max(1, round(side * scale)) for side in image.size)
    return image.resize((width, height), Image.Resampling.BOX).resize(image.size, Image.Resampling.NEAREST)


_KINDS = (_blur, _underexposure, _overexposure, _shadow, _crop, _jpeg, _resolution)
KINDS: Mapping[str, Callable[[Image.Image, int, np.random.Generator], Image.Image]] = MappingProxyType(
    {kind.__name__.removeprefix("_"): kind for kind in _KINDS}
)
"""Name of each kind of defect -> function of image, grade - 1 and random generator."""
