"""Facts of an image: what its masks, outlines and labels measure, for explanations to be held against.

Lengths are in pixels of the original photograph, in disc diameters (its vertical extent) or in parts of a diameter; no
source states a length scale, so none is in micrometres. What cannot be computed is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lmod_train.core.types import Fact, Sample
from lmod_train.data.curation.boxes import Shape

Mask = npt.NDArray[np.bool_]
Point = tuple[float, float]

GRADERS = 0.07
"""Error of a vertical cup-to-disc ratio measured once: the masks are exact to 0.006, the graders are not."""

SECTORS = {"superior": 90, "inferior": 270, "right": 0, "left": 180}
"""Middle of each sector of the rim, in degrees from the image's right, anticlockwise."""
HALF_SECTOR, BETWEEN_RAYS = 15, 3
THINNER = 0.02
"""By so much of a diameter is the thinnest sector thinner than the next; below it none is named."""

LESIONS = ("microaneurysms", "haemorrhages", "hard exudates", "soft exudates")
PRESENT = {**{name: f"lesion.{name}" for name in LESIONS}, "macular hole": "hole", "intraretinal cysts": "cysts"}
"""Structure -> fact of its presence; where a mask codes it and has no such pixel, it is absent."""

LABELLED = {
    "hemorrhage": "lesion.haemorrhages",
    "drusen": "lesion.drusen",
    "macular edema": "lesion.macular edema",
    "scar": "lesion.scar",
    "nevus": "lesion.nevus",
    "increased cup-to-disc ratio": "cup.large",
}
"""Label of a source -> fact that it states, yes or no."""
RISK, NEAR = "macular_edema_risk", "lesion.hard exudates.near"

CENTRAL = (0.15, 0.85)
"""Share of a hole's height between which its least width is taken: its ends are rounded by hand."""


def facts_of(sample: Sample, shapes: Sequence[Shape]) -> tuple[Fact, ...]:
    """Return the facts of a sample's own image, each name once, sorted by name.

    Args:
        sample: With regions in pixels of the upright photograph, labels, and the facts that its source states.
        shapes: Pixels of its annotated structures; none where an annotation cannot be trusted.
    """
    masks = {name: _union([s for s in shapes if s.structure == name]) for name in {s.structure for s in shapes}}
    drawn = {name: mask for name, mask in masks.items() if mask is not None}
    found = [*_labelled(sample.labels), *_presences(masks)]
    if "optic disc" in drawn and "optic cup" in drawn:
        found += _disc_facts(sample, drawn["optic disc"], drawn["optic cup"])
    found += [*_lesion_facts(drawn, _fovea(sample)), *_hole_facts(drawn)]
    stated = [replace(fact, error=GRADERS) if fact.name == "vcdr" else fact for fact in sample.facts]
    by_name = {fact.name: fact for fact in (*stated, *found)}  # a measure before a label or a statement
    return tuple(by_name[name] for name in sorted(by_name))


@dataclass(frozen=True, slots=True)
class _Placed:
    """Pixels of a structure in the frame of the upright photograph: rows from `y`, columns from `x`."""

    inside: Mask
    x: int
    y: int

    def within(self, x0: int, y0: int, x1: int, y1: int) -> Mask:
        """Return the pixels in a window of the photograph."""
        made = np.zeros((y1 - y0, x1 - x0), dtype=np.bool_)
        left, top, right, bottom = self.window
        x0, y0, x, y = max(left, x0), max(top, y0), x0, y0
        right, bottom = max(min(right, x1), x0), max(min(bottom, y1), y0)
        shared = self.inside[y0 - top : bottom - top, x0 - left : right - left]
        made[y0 - y : bottom - y, x0 - x : right - x] = shared
        return made

    @property
    def window(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom, the last two exclusive."""
        return self.x, self.y, self.x + self.inside.shape[1], self.y + self.inside.shape[0]


def _union(shapes: Sequence[Shape]) -> _Placed | None:
    """Return the pixels of several shapes of a structure; None without any."""
    shown = [_Placed(s.inside, s.x, s.y) for s in shapes if s.inside.size]
    if len(shown) < 2:
        return shown[0] if shown else None
    window = _around(shown)
    inside = np.zeros((window[3] - window[1], window[2] - window[0]), dtype=np.bool_)
    for one in shown:
        inside |= one.within(*window)
    return _Placed(inside, window[0], window[1])


def _around(several: Sequence[_Placed]) -> tuple[int, int, int, int]:
    left, top, right, bottom = zip(*(one.window for one in several), strict=True)
    return min(left), min(top), max(right), max(bottom)


def _labelled(labels: Mapping[str, str]) -> Iterator[Fact]:
    """Yield what labels state: `LABELLED` findings, and hard exudates by the risk of macular edema."""
    for label, name in LABELLED.items():
        if labels.get(label) in ("yes", "no"):
            yield Fact(name, labels[label], origin=f"label {label}")
    if labels.get(RISK) in ("0", "1", "2"):
        yield Fact(PRESENT["hard exudates"], "no" if labels[RISK] == "0" else "yes", origin=f"label {RISK}")
        yield Fact(NEAR, "yes" if labels[RISK] == "2" else "no", origin=f"label {RISK}")
    for name in LESIONS:
        if labels.get(name) in ("yes", "no"):
            yield Fact(PRESENT[name], labels[name], origin="masks of the lesions")


def _presences(masks: Mapping[str, _Placed | None]) -> Iterator[Fact]:
    """Yield whether each structure that masks code is there; in the retina nothing is absent unless it is outlined."""
    for name, fact in PRESENT.items():
        if masks.get(name) is not None:
            yield Fact(fact, "yes", origin=f"mask of {name}")
        elif name in masks and (name in LESIONS or masks.get("retina") is not None):
            yield Fact(fact, "no", origin=f"mask of {name}")


def _disc_facts(sample: Sample, disc: _Placed, cup: _Placed) -> Iterator[Fact]:
    """Yield the vertical cup-to-disc ratio, the rim's sectors and the thinnest of all four."""
    window = _around([disc, cup])
    inner = cup.within(*window)
    outer = disc.within(*window) | inner
    high = [np.flatnonzero(mask.any(axis=1)) for mask in (inner, outer)]
    ratio = float(np.ptp(high[0]) + 1) / float(np.ptp(high[1]) + 1)
    stated = next((fact for fact in sample.facts if fact.name == "vcdr"), None)
    if stated is None or not isinstance(stated.value, float):
        yield Fact("vcdr", ratio, "ratio", GRADERS, "outlines of disc and cup")
    else:
        middle, apart = (ratio + stated.value) / 2, abs(ratio - stated.value) / 2
        yield Fact("vcdr", middle, "ratio", apart, f"mean of the outlines and {stated.origin}")
    centre = _mean(np.count_nonzero(outer, axis=1)), _mean(np.count_nonzero(outer, axis=0))
    nasal = _nasal_side(sample, window[0] + centre[1])
    names = {"superior": "superior", "inferior": "inferior"}
    names |= {nasal: "nasal", "left" if nasal == "right" else "right": "temporal"} if nasal else {}
    measured = zip(names.values(), _rims(outer, inner, centre, [SECTORS[side] for side in names]), strict=True)
    rims = {name: rim for name, rim in measured if np.isfinite(rim)}
    for name, rim in rims.items():
        yield Fact(f"rim.{name}", rim, "disc diameters", GRADERS / 2, "outlines of disc and cup")
    first, second, *_ = [*sorted(rims, key=rims.__getitem__), "", ""]
    if len(rims) == len(SECTORS) and rims[second] - rims[first] >= THINNER:
        yield Fact("rim.thinnest", first, origin="outlines of disc and cup")


def _mean(counts: npt.NDArray[np.int64]) -> float:
    """Return the mean place of things counted by their place."""
    return float(np.arange(len(counts)) @ counts / counts.sum())


def _nasal_side(sample: Sample, disc: float) -> str:
    """Return on which side of the image the nose is: by the fovea and the stated eye; empty if unknown or at odds."""
    fovea = _fovea(sample)
    by_fovea = "" if fovea is None else "left" if fovea[0] > disc else "right"
    by_eye = sample.patient.laterality or ""  # the disc of a right eye is on the right, towards the nose
    return by_fovea or by_eye if not (by_fovea and by_eye) or by_fovea == by_eye else ""


def _fovea(sample: Sample) -> Point | None:
    """Return x and y of the fovea, as its source states them or as the middle of its box; None if unknown."""
    stated = {fact.name: fact.value for fact in sample.facts if isinstance(fact.value, float)}
    if {"fovea.x", "fovea.y"} <= stated.keys():
        return stated["fovea.x"], stated["fovea.y"]
    box = next((region.box for region in sample.regions if region.structure == "fovea"), None)
    return None if box is None else ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)


def _rims(disc: Mask, cup: Mask, centre: Point, middles: Sequence[int]) -> list[float]:
    """Return the width of the rim in each sector, in disc diameters along each ray, the mean of its rays.

    It is NaN in a sector with a ray that meets no disc on either side, as in one that is drawn as a ring in parts.
    """
    rays = [np.arange(middle - HALF_SECTOR, middle + HALF_SECTOR + 1, BETWEEN_RAYS) for middle in middles]
    angles = np.deg2rad(np.concatenate(rays))
    ahead, inside = _reach((disc, cup), centre, angles)
    (behind,) = _reach((disc,), centre, angles + np.pi)
    across = np.where(ahead + behind > 0, ahead + behind, np.nan)
    return [float(np.mean(rim)) for rim in np.split((ahead - inside) / across, len(rays))]


def _reach(masks: Sequence[Mask], centre: Point, angles: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Return how far each mask reaches from a point along each angle, in pixels; 0 where it has no pixel there."""
    height, width = masks[0].shape
    corner = np.hypot(max(centre[0], height - centre[0]), max(centre[1], width - centre[1]))
    away = np.arange(0.125, float(corner) + 1, 0.25)
    rows = np.rint(centre[0] - np.outer(np.sin(angles), away)).astype(np.int64)
    columns = np.rint(centre[1] + np.outer(np.cos(angles), away)).astype(np.int64)
    within = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    hits = [within & mask[rows.clip(0, height - 1), columns.clip(0, width - 1)] for mask in masks]
    return [(np.where(hit, away, -0.125).max(axis=1) + 0.125) * hit.any(axis=1) for hit in hits]


def _lesion_facts(drawn: Mapping[str, _Placed], fovea: Point | None) -> Iterator[Fact]:
    """Yield number and area of lesions of each kind, and the distance of the nearest to the fovea if that is known."""
    disc = drawn["optic disc"].inside if "optic disc" in drawn else None
    for name in LESIONS:
        if name not in drawn:
            continue
        from scipy import ndimage  # a fifth of a second, which most sources need not wait for

        own, origin = drawn[name], f"masks of {name} and optic disc"
        number = int(ndimage.label(own.inside, structure=np.ones((3, 3), dtype=np.int8))[1])
        yield Fact(f"lesion.{name}.number", float(number), "components", origin=f"mask of {name}")
        if disc is None:
            continue
        yield Fact(f"lesion.{name}.area", float(own.inside.sum() / disc.sum()), "disc areas", origin=origin)
        if fovea is not None:
            rows, columns = np.nonzero(own.inside)
            nearest = np.hypot(columns + own.x + 0.5 - fovea[0], rows + own.y + 0.5 - fovea[1]).min()
            diameter = np.ptp(np.flatnonzero(disc.any(axis=1))) + 1
            yield Fact(f"lesion.{name}.fovea", float(nearest / diameter), "disc diameters", 0.02, f"{origin}, fovea")


def _hole_facts(drawn: Mapping[str, _Placed]) -> Iterator[Fact]:
    """Yield whether a macular hole passes the whole retina in this scan, and its least width."""
    hole, retina, choroid = (drawn.get(name) for name in ("macular hole", "retina", "choroid"))
    if hole is None:
        return
    x0, y0, x1, y1 = hole.window
    if retina is not None:
        above = retina.within(x0, min(y0, retina.y), x1, y1)
        top = np.array([np.flatnonzero(column)[:1].sum() for column in hole.inside.T]) + y0 - min(y0, retina.y)
        held = hole.inside.any(axis=0)
        covered = np.array([above[:row, i].any() for i, row in enumerate(top.tolist())])
        full = "yes" if (~covered & held).sum() >= held.sum() / 2 else "no"
        yield Fact("hole.full", full, origin="masks of macular hole and retina")
    level = _epithelium(choroid, x0, x1)
    if level is not None:
        width = _least_width(hole, level)
        yield Fact("hole.width", width, "px", 1.0, "masks of macular hole and choroid")


def _epithelium(choroid: _Placed | None, x0: int, x1: int) -> npt.NDArray[np.int64] | None:
    """Return the row of the pigment epithelium, the choroid's upper edge, in columns x0 to x1; None if unknown."""
    if choroid is None:
        return None
    there = np.flatnonzero(choroid.inside.any(axis=0))
    rows = choroid.inside[:, there].argmax(axis=0) + choroid.y
    level: npt.NDArray[np.int64] = np.rint(np.interp(np.arange(x0, x1), there + choroid.x, rows)).astype(np.int64)
    return level


def _least_width(hole: _Placed, level: npt.NDArray[np.int64]) -> float:
    """Return the least number of columns of a hole at one height above the epithelium, its ends left out.

    By rows of the image a tilted hole is measured across: on 90 drawn scans the error is 17 pixels by rows, 0.3 so.
    """
    rows, columns = np.nonzero(hole.inside)
    heights = level[columns] - (rows + hole.y)
    counts = np.bincount(heights - heights.min())
    low, high = (round(share * (len(counts) - 1)) for share in CENTRAL)
    return float(counts[low : high + 1].min())
