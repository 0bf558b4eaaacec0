"""Regions of an image that are filled from what surrounds them: the evidence for an answer, and a like place elsewhere.

A fill is computed on a reduced copy, as it is smooth, and pasted with a soft edge: all pixels outside stay as they are.
The region is grown first, as an outline drawn by hand leaves a coloured rim, by which the shape of what was removed
still shows. Masks are arrays of bool (height, width), true inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.perturbations import field_of

Mask = NDArray[np.bool_]
Pixels = NDArray[np.float64]
Where = Literal["evidence", "elsewhere"]

MARGINS = (0.3, 0.4, 0.5)
"""Widths by which a region is grown on every side, as shares of its diameter (that of a circle of its area)."""
RIM = 10.0
"""Grey values of 255 by which the ring beside a region may differ in a colour from those outside of it."""
LARGEST = 0.5
"""Share of the field from which on a region is as large as the field: there is no elsewhere."""
ALIKE = (0.1, 0.2)
"""Largest differences of the distances to the field's border, as shares of its shorter side: the second if the first
leaves no place."""

_FILLED, _SEARCHED = (
    72,
    128,
)  # pixels of the longer side of a region while it is filled, of an image while it is searched
_SECTORS, _RINGS = 12, (0, 0.12, 0.24)
_TRIED = 3  # places whose change is measured, not estimated
_SOFT, _SMOOTH = 0.03, 0.03  # width of the pasted edge, and of the blur of the surroundings, of the part's longer side
_DARK = 16  # grey values up to this, of 255, are the surround of the field


@dataclass(frozen=True, slots=True)
class Removal:
    """What is filled in an image.

    Attributes:
        where: The structures themselves (``evidence``), or a place of their shape ``elsewhere``.
        fill: One of `FILLS`.
        structures: Names of the structures that carry the answer; empty for all that are annotated.
    """

    where: Where
    fill: str
    structures: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name as questions and file names have it."""
        words = "+".join(name.replace(" ", "_") for name in self.structures) or ALL
        return f"{self.where}-{self.fill}-{words}"


ALL = "annotated"
"""Name that stands for all structures that are annotated."""


def parse_removal(name: str) -> Removal | None:
    """Return the removal of a name, None if it is the name of something else.

    Example:
        >>> parse_removal("evidence-blur-optic_disc"), parse_removal("blur-3")
        (Removal(where='evidence', fill='blur', structures=('optic disc',)), None)
    """
    where, _, rest = name.partition("-")
    fill, _, words = rest.partition("-")
    if where not in get_args(Where) or fill not in FILLS:
        return None
    structures = () if words == ALL else tuple(word.replace("_", " ") for word in words.split("+"))
    return Removal(where, fill, structures)  # type: ignore[arg-type]  # one of `Where`


def filled(image: Image.Image, mask: Mask, fill: str = "biharmonic") -> Image.Image:
    """Return the image with a region filled from what surrounds it; an empty region gives the same pixels.

    Args:
        image: RGB image.
        mask: The region, of the image's size. What lies outside the field stays as it is.
        fill: ``biharmonic`` continues the surroundings smoothly (Damelin & Hoang 2018, in scikit-image), ``mean`` is
            one colour, the mean of a ring around the region, and ``blur`` the mean of a neighbourhood outside of it.

    Raises:
        BadArgument: `fill` is not one of these, or the sizes differ.

    Example:
        >>> red = Image.new("RGB", (64, 64), (120, 40, 20))
        >>> red.paste((255, 255, 200), (28, 28, 36, 36))
        >>> inside = np.zeros((64, 64), dtype=bool); inside[26:38, 26:38] = True
        >>> filled(red, inside, "mean").getpixel((32, 32))
        (120, 40, 20)
    """
    if fill not in FILLS:
        raise BadArgument("fill", fill, f"one of {', '.join(FILLS)}", "leave it out for biharmonic")
    if mask.shape != image.size[::-1]:
        raise BadArgument("mask", mask.shape, f"the shape of the image, {image.size[::-1]}", "scale it")
    if not mask.any():
        return image
    box = _around(mask, image.size)
    part = image.crop(box)
    inside, field = (whole[box[1] : box[3], box[0] : box[2]] for whole in (mask, field_mask(image)))
    new = FILLS[fill](*_reduced(part, inside, field))
    smooth = Image.fromarray(np.clip(np.round(new), 0, 255).astype(np.uint8)).resize(
        part.size, Image.Resampling.BICUBIC
    )
    done = image.copy()
    done.paste(smooth, box[:2], _shown(inside, field))
    return done


def _around(mask: Mask, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a region and as much of its surroundings as its half on every side."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    edge = max(4, (max(len(rows), len(columns)) + 1) // 2)
    left, top = max(0, int(columns[0]) - edge), max(0, int(rows[0]) - edge)
    return left, top, min(size[0], int(columns[-1]) + 1 + edge), min(size[1], int(rows[-1]) + 1 + edge)


def _reduced(part: Image.Image, inside: Mask, field: Mask) -> tuple[Pixels, Mask]:
    """Return reduced pixels (height, width, 3), and which are in the region, on its soft edge, or near the field's end.

    The others are blurred, as a fill continues a vessel or the grain at the edge into a streak.
    """
    from scipy import ndimage

    scale = min(1.0, 2 * _FILLED / max(part.size))
    size = max(4, round(part.width * scale)), max(4, round(part.height * scale))
    pixels = np.asarray(part.resize(size, Image.Resampling.BOX), dtype=np.float64)
    soft = max(1, round(_SOFT * max(size)))
    unknown = ndimage.binary_dilation(_coarse(inside, size, 0), iterations=soft)
    dark = ndimage.binary_dilation(_coarse(~field, size, 0), iterations=soft)
    if not (dark | unknown).all():
        unknown |= dark
    return _smoothed(pixels, ~unknown, _SMOOTH * max(size)), unknown


def _smoothed(pixels: Pixels, known: Mask, width: float) -> Pixels:
    """Return the Gaussian mean of the known pixels alone, at every pixel."""
    from scipy import ndimage

    weight = ndimage.gaussian_filter(known.astype(np.float64), width)
    planes = [ndimage.gaussian_filter(pixels[..., c] * known, width) / np.maximum(weight, 1e-9) for c in range(3)]
    return np.stack(planes, axis=2)


def _shown(inside: Mask, field: Mask) -> Image.Image:
    """Return how much of a fill is shown, 0 to 255: all in the region, none off its soft edge or off the field."""
    from scipy import ndimage

    distance = ndimage.distance_transform_edt(~inside)
    shown = np.clip(1 - distance / max(_SOFT * max(inside.shape), 1.0), 0, 1) * field
    return Image.fromarray(np.round(255 * shown).astype(np.uint8))


def _biharmonic(pixels: Pixels, unknown: Mask) -> Pixels:
    from skimage.restoration import inpaint_biharmonic  # takes half a second to import

    return np.asarray(inpaint_biharmonic(pixels / 255, unknown, channel_axis=-1)) * 255


def _mean(pixels: Pixels, unknown: Mask) -> Pixels:
    from scipy import ndimage

    ring = ndimage.binary_dilation(unknown, iterations=3) & ~unknown
    done = pixels.copy()
    done[unknown] = pixels[ring if ring.any() else ~unknown].mean(axis=0)
    return done


def _blur(pixels: Pixels, unknown: Mask) -> Pixels:
    return np.where(unknown[..., None], _smoothed(pixels, ~unknown, max(pixels.shape[:2]) / 8), pixels)


FILLS: Mapping[str, Callable[[Pixels, Mask], Pixels]] = MappingProxyType(
    {"biharmonic": _biharmonic, "blur": _blur, "mean": _mean}
)
"""Name of each fill -> function of pixels (height, width, 3) and of which are not known."""


def grown(image: Image.Image, mask: Mask) -> Mask:
    """Return a region grown by the first of `MARGINS` outside of which no coloured rim is left, or by the last.

    A rim is left if the ring beside the region differs by more than `RIM` from what the two rings outside of it let
    expect, in the median of a colour over a sector, so that neither vessels nor the fall of light count.

    Args:
        image: RGB image.
        mask: The region, of the image's size and not empty.
    """
    from scipy import ndimage

    pixels, distance = np.asarray(image, dtype=np.float64), ndimage.distance_transform_edt(~mask)
    wide = diameter_of(mask)
    (rows, columns), (down, across) = np.nonzero(mask), np.indices(mask.shape)
    angle = np.arctan2(down - rows.mean(), across - columns.mean())
    sector = ((angle / (2 * np.pi) + 0.5) * _SECTORS).astype(int)
    lit = ndimage.binary_erosion(field_mask(image), iterations=max(1, round(0.05 * wide)))
    for margin in MARGINS:
        rings = [lit & (distance > (margin + at) * wide) & (distance <= (margin + at + 0.1) * wide) for at in _RINGS]
        if not any(_has_rim(pixels, [ring & (sector == s) for ring in rings]) for s in range(_SECTORS)):
            break
    return np.asarray(distance <= margin * wide)


def diameter_of(mask: Mask) -> float:
    """Return the diameter of the circle of a region's area, in pixels."""
    return float(2 * np.sqrt(mask.sum() / np.pi))


def _has_rim(pixels: Pixels, rings: Sequence[Mask]) -> bool:
    """Return whether the first ring differs from the second by more than that does from the third: light may fall."""
    if min(ring.sum() for ring in rings) < 20:
        return False
    near, middle, far = (np.median(pixels[ring], axis=0) for ring in rings)
    return bool(np.abs(near - 2 * middle + far).max() > RIM)


def elsewhere(image: Image.Image, mask: Mask, taken: Mask, fill: str = "biharmonic") -> Mask | None:
    """Return a region of the same shape at another place, which changes as much as possible like it when it is filled.

    The place lies in the field, overlaps neither the region nor what is taken, and its distance to the field's border
    differs by at most `ALIKE`. Of these, the places whose estimated change is the most alike are filled, and that with
    the most alike mean change of grey is returned.

    Args:
        image: RGB image.
        mask: The region, of the image's size and not empty.
        taken: Where it must not lie, besides the region.
        fill: As of `filled`.

    Returns:
        None if there is no such place.
    """
    places = _places(image, mask, taken | mask)
    if not places:
        return None
    change = mean_change(image, filled(image, mask, fill), mask)

    def difference(place: Mask) -> float:
        return abs(mean_change(image, filled(image, place, fill), place) - change)

    return min((moved(mask, *shift) for shift in places[:_TRIED]), key=difference)


def mean_change(before: Image.Image, after: Image.Image, mask: Mask) -> float:
    """Return the mean absolute difference of grey values, 0 to 255, in a region."""
    grey = [np.asarray(image.convert("L"), dtype=np.float64)[mask] for image in (before, after)]
    return float(np.abs(grey[0] - grey[1]).mean())


def moved(mask: Mask, down: int, right: int) -> Mask:
    """Return a region moved by whole pixels; what leaves the image is lost."""
    there = np.zeros_like(mask)
    rows, columns = np.nonzero(mask)
    rows, columns = rows + down, columns + right
    inside = (rows >= 0) & (rows < mask.shape[0]) & (columns >= 0) & (columns < mask.shape[1])
    there[rows[inside], columns[inside]] = True
    return there


def _places(image: Image.Image, mask: Mask, taken: Mask) -> list[tuple[int, int]]:
    """Return shifts (down, right) to possible places, those with the most alike estimated change first.

    It is searched on a reduced copy. The estimate is the deviation from the mean around the place, as the fill is about
    that; places are half a diameter apart, so that the first ones are different ones.
    """
    from scipy import ndimage
    from scipy.signal import fftconvolve

    step = max(1, max(image.size) // _SEARCHED)
    size = max(1, image.width // step), max(1, image.height // step)
    grey = np.asarray(image.convert("L").resize(size, Image.Resampling.BOX), dtype=np.float64)
    field, shape, full = (_coarse(m, size, share) for m, share in ((field_mask(image), 0.999), (mask, 0), (taken, 0)))
    if not shape.any() or shape.sum() > LARGEST * field.sum():
        return []
    border = ndimage.distance_transform_edt(np.pad(field, 1))[1:-1, 1:-1]

    def over(values: NDArray[np.float64], kernel: Mask) -> NDArray[np.float64]:
        """Return the sum of values over a kernel at every place of its centre."""
        return np.asarray(fftconvolve(values, kernel[::-1, ::-1].astype(np.float64), mode="same"))

    kernel = _centred(shape)
    ring = ndimage.binary_dilation(kernel, iterations=max(1, round(0.15 * diameter_of(shape)))) & ~kernel
    free = (over((~field | full).astype(np.float64), kernel) < 0.5) & _fits(kernel, grey.shape)
    around = over(grey, ring) / np.maximum(over(np.ones_like(grey), ring), 1)
    n = shape.sum()
    estimate = np.sqrt(np.maximum(over(grey**2, kernel) / n - 2 * around * over(grey, kernel) / n + around**2, 0))
    at = _middle(shape)
    off = np.abs(border - border[at]) / min(np.ptp(np.nonzero(field), axis=1) + 1)
    free &= off <= next((most for most in ALIKE if (free & (off <= most)).any()), 0)
    rank = np.where(free, np.abs(estimate - estimate[at]), np.inf)
    found: list[tuple[int, int]] = []
    apart = max(1, round(0.25 * diameter_of(shape)))
    while len(found) < _TRIED and np.isfinite(rank).any():
        row, column = np.unravel_index(np.argmin(rank), rank.shape)
        found.append(((int(row) - at[0]) * step, (int(column) - at[1]) * step))
        rank[max(0, row - apart) : row + apart + 1, max(0, column - apart) : column + apart + 1] = np.inf
    return found


def _coarse(mask: Mask, size: tuple[int, int], share: float) -> Mask:
    """Return a reduced mask: pixels of which more than a share is true."""
    small = Image.fromarray(mask.astype(np.uint8) * 255).resize(size, Image.Resampling.BOX)
    return np.asarray(small) > share * 255


def _middle(shape: Mask) -> tuple[int, int]:
    rows, columns = np.nonzero(shape)
    return (int(rows.min()) + int(rows.max())) // 2, (int(columns.min()) + int(columns.max())) // 2


def _centred(shape: Mask) -> Mask:
    """Return the shape in the middle of an array of odd sides, with an edge."""
    rows, columns = np.nonzero(shape)
    at = _middle(shape)
    half = int(max(np.abs(rows - at[0]).max(), np.abs(columns - at[1]).max()))
    half += max(2, round(0.2 * half))
    kernel = np.zeros((2 * half + 1,) * 2, dtype=np.bool_)
    kernel[rows - at[0] + half, columns - at[1] + half] = True
    return kernel


def _fits(kernel: Mask, shape: tuple[int, ...]) -> Mask:
    """Return the places of a kernel's centre at which all of its pixels are in the image."""
    rows, columns = np.nonzero(kernel)
    middle = kernel.shape[0] // 2
    low = middle - rows.min(), middle - columns.min()
    high = rows.max() - middle, columns.max() - middle
    fits = np.zeros(shape, dtype=np.bool_)
    fits[low[0] : shape[0] - high[0], low[1] : shape[1] - high[1]] = True
    return fits


def field_mask(image: Image.Image) -> Mask:
    """Return the illuminated field of an image; all of it without a dark surround, as in OCT."""
    from scipy import ndimage

    grey = np.asarray(image.convert("L"))
    x0, y0, x1, y1 = field_of(image)
    whole = np.zeros(grey.shape, dtype=np.bool_)
    whole[y0:y1, x0:x1] = True
    bright = ndimage.binary_fill_holes(ndimage.binary_opening(grey > _DARK, iterations=2)) & whole
    corners = grey[[0, 0, -1, -1], [0, -1, 0, -1]]
    is_round = np.median(corners) <= _DARK and bright.sum() > 0.6 * whole.sum()
    return np.asarray(bright, dtype=np.bool_) if is_round else whole


def fovea_zone(mask: Mask) -> Mask:
    """Return where the fovea can lie beside an optic disc: 1.4 to 3.3 diameters away, right or left.

    It is about 15.5 degrees (2.6 diameters) away, 6 degrees below the horizontal (Rohrschneider 2004, IOVS 45). Sources
    do not state which eye it is, so both sides count. Of IDRiD's 516 foveae, 515 lie in the zone of a disc of 520 px.
    """
    rows, columns = np.indices(mask.shape)
    at, wide = _middle(mask), diameter_of(mask)
    across, down = np.abs(columns - at[1]) / wide, (rows - at[0]) / wide
    return np.asarray((across > 1.4) & (across < 3.3) & (down > -0.5) & (down < 1.1))
