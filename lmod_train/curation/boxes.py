"""Masks to boxes: Algorithm 1 of the LMOD papers, first step, with numpy and Pillow only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.curation.images import UNREADABLE, decode
from lmod_train.types import Box, Dropped, MaskFile, Region, Sample

BACKGROUND = "background"
Pixels = npt.NDArray[np.int64]
Coding = Mapping[str, tuple[int, ...]]


def read_boxes(sample: Sample) -> Sample | Dropped:
    """Return the sample with a region for every structure found in its masks, after those the source gave itself.

    A structure's box is the bounding box of all its pixels, specks included: nothing is silently cleaned away. A
    structure without pixels gives no region. `sample.size` must be known.

    A mask that cannot be trusted drops the sample: ``mask_unreadable``, ``mask_size_differs``, or
    ``mask_coding_unknown`` with the values present.
    """
    regions = list(sample.regions)
    for mask in sample.masks:
        found = _regions_in(mask, sample.size)
        if isinstance(found, list):
            regions += found
            continue
        reason, detail = found
        return Dropped(sample.source, sample.key, str(mask.path), "boxes", reason, detail)
    return replace(sample, regions=tuple(regions))


def _regions_in(mask: MaskFile, size: tuple[int, int]) -> list[Region] | tuple[str, str]:
    try:
        image = decode(mask.path.read_bytes())
    except UNREADABLE as error:
        return "mask_unreadable", f"{type(error).__name__}: {error}".replace(str(mask.path), mask.path.name)
    if image.size != size:
        return "mask_size_differs", f"mask {image.size[0]}x{image.size[1]}, image {size[0]}x{size[1]}"
    seen = []
    for pixels in _readings(image):
        coding = coding_of(pixels, mask.codings)
        if coding is not None:
            return [
                Region(name, box)
                for name, values in coding.items()
                if name != BACKGROUND and (box := bounding_box(np.isin(pixels, values))) is not None
            ]
        seen.append(_listed(np.unique(pixels)))
    return "mask_coding_unknown", "values present: " + (" or ".join(seen) or f"colours (mode {image.mode})")


def _readings(image: Image.Image) -> Iterator[Pixels]:
    """Yield what the pixels may mean as single numbers: as stored, and for a palette of greys also as shown."""
    if image.mode in ("RGB", "RGBA", "LA", "PA"):
        channels = np.asarray(image.convert("RGB" if image.mode == "RGB" else "RGBA")).astype(np.int64)
        if (channels[..., 0] == channels[..., 1]).all() and (channels[..., 1] == channels[..., 2]).all():
            yield channels[..., 0]
        return
    stored = np.asarray(image)
    yield stored.astype(np.int64) * (255 if stored.dtype == np.bool_ else 1)
    if stored.dtype == np.bool_:
        yield stored.astype(np.int64)
    if image.mode == "P":
        colours = np.asarray(image.convert("RGB")).astype(np.int64)
        if (colours == colours[..., :1]).all():
            yield colours[..., 0]


def coding_of(pixels: Pixels, codings: tuple[Coding, ...]) -> Coding | None:
    """Return the first coding that covers every value present and whose background holds most of the border.

    The border settles what values alone cannot: REFUGE masks circulate with 0 as the cup and with 0 as the background.

    Args:
        pixels: Mask values (height, width).
        codings: Name -> values, ``background`` among the names.

    Returns:
        None where no coding holds; nothing else is ever accepted.

    Example:
        >>> inverted = {"background": (255,), "optic disc": (0, 128), "optic cup": (0,)}
        >>> usual = {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)}
        >>> coding_of(np.zeros((4, 4), dtype=np.int64), (inverted, usual)) is usual
        True
    """
    present = set(np.unique(pixels).tolist())
    border = np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]])
    values, counts = np.unique(border, return_counts=True)
    outside = int(values[counts.argmax()])
    for coding in codings:
        covered = {value for named in coding.values() for value in named}
        if present <= covered and outside in coding[BACKGROUND]:
            return coding
    return None


def bounding_box(inside: npt.NDArray[np.bool_]) -> Box | None:
    """Return the smallest box around all true pixels (height, width), None where there is none.

    Example:
        >>> inside = np.zeros((5, 6), dtype=bool); inside[1:3, 2] = True
        >>> bounding_box(inside)
        Box(x0=2, y0=1, x1=3, y1=3)
    """
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    if not len(columns):
        return None
    return Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def _listed(values: Pixels, most: int = 12) -> str:
    shown = ", ".join(str(v) for v in values[:most].tolist())
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")
