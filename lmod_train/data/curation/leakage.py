"""List what a split lets through: one patient, one image or one photograph in two splits, within and across sources.

Same files are found by their hash, copies of a photograph by their pixels (see `copies`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lmod_train.core.types import Split
from lmod_train.data.curation.copies import NEAR
from lmod_train.data.curation.families import Likeness

LISTED = 50
"""Pairs that the manifest lists; ``leakage.csv`` has all."""


@dataclass(frozen=True, slots=True, order=True)
class Shown:
    """An image as the check sees it, with its source's labels; `split` is empty where it is in none."""

    source: str
    key: str
    split: Split | Literal[""]
    group: str
    sha256: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ImagePair:
    """Two images with something in common: ``group``, ``exact`` (same file) or ``near`` (same photograph).

    Attributes:
        kind: One of the three.
        first: One image.
        second: The other.
        orientation: Of a near pair: what must be done to one to lay it upon the other.
        correlation: Of a near pair: of their local detail.
    """

    kind: str
    first: Shown
    second: Shown
    orientation: str = ""
    correlation: float | None = None

    @property
    def crosses(self) -> bool:
        """Whether the two are in different splits."""
        return bool(self.first.split and self.second.split) and self.first.split != self.second.split

    @property
    def contradiction(self) -> str:
        """What the two are labelled differently, empty where nothing is; a group may differ, a photograph not."""
        ours, theirs = dict(self.first.labels), dict(self.second.labels)
        differ = [f"{c}: {ours[c]} / {theirs[c]}" for c in sorted(ours.keys() & theirs.keys()) if ours[c] != theirs[c]]
        return "; ".join(differ) if self.kind != "group" else ""

    def row(self) -> dict[str, Any]:
        """Return the pair as a row of ``leakage.csv``."""
        row: dict[str, Any] = {"kind": self.kind, "orientation": self.orientation, "correlation": self.correlation}
        for side, image in (("first", self.first), ("second", self.second)):
            row |= {f"{side}_{name}": getattr(image, name) for name in ("source", "key", "split", "group")}
        return row | {"contradiction": self.contradiction}


def find_pairs(images: Iterable[Shown], alike: Iterable[Likeness] = ()) -> list[ImagePair]:
    """Return the pairs of images that share a group across splits, a file, or a photograph.

    A cluster of m images of one group or file gives at most 3 pairs an image (each with the first of every split),
    never m squared: a cluster that crosses splits always shows it. Time is linear in images and pairs.

    Args:
        images: In any order; the result does not depend on it.
        alike: Pairs that show one photograph; an exact copy is not named again as near, and pairs of which one image
            is not among `images` are passed over.
    """
    ordered = sorted(set(images))
    pairs = list(_clustered("group", ((i, (i.source, i.group)) for i in ordered if i.split), crossing_only=True))
    pairs += _clustered("exact", ((i, i.sha256) for i in ordered))
    by_place = {(i.source, i.key): i for i in ordered}
    for one in sorted(alike):
        first, second = by_place.get(one.first), by_place.get(one.second)
        if first and second and first.sha256 != second.sha256:
            pairs.append(ImagePair("near", first, second, one.orientation, one.correlation))
    return pairs


def _clustered(kind: str, keyed: Iterable[tuple[Shown, object]], crossing_only: bool = False) -> Iterator[ImagePair]:
    firsts: defaultdict[object, dict[str, Shown]] = defaultdict(dict)
    for image, key in keyed:
        for first in firsts[key].values():
            if not crossing_only or first.split != image.split:
                yield ImagePair(kind, first, image)
        firsts[key].setdefault(image.split, image)


def account(pairs: Sequence[ImagePair]) -> dict[str, Any]:
    """Return the manifest's account: counts by kind, and the first pairs that cross splits.

    Kinds without a pair are there with 0: the check was made.
    """
    counts: dict[str, Any] = {}
    for kind in ("group", "exact", "near"):
        of_kind = [p for p in pairs if p.kind == kind]
        crossing = [p for p in of_kind if p.crosses]
        counts[kind] = {
            "pairs": len(of_kind),
            "crossing_splits": len(crossing),
            "across_sources": sum(p.first.source != p.second.source for p in of_kind),
            "images_crossing": len({(i.source, i.key) for p in crossing for i in (p.first, p.second)}),
        }
    between = Counter(" / ".join(sorted((p.first.source, p.second.source))) for p in pairs if p.kind != "group")
    rows = [p.row() for p in pairs if p.crosses]
    return {
        "near": NEAR,
        "counts": counts,
        "copies_between": dict(sorted(between.items())),
        "crossing": rows[:LISTED],
        "contradicting_pairs": sum(bool(p.contradiction) for p in pairs),
        "crossing_not_listed": max(0, len(rows) - LISTED),
    }


def copies_to_drop(pairs: Iterable[ImagePair]) -> set[tuple[str, str]]:
    """Return source and key of exact copies to drop so that no file is in two splits.

    Test keeps its images, then val: what is measured on stays whole, and training loses the copies.
    """
    rank = {"": -1, "train": 0, "val": 1, "test": 2}
    return {
        (lower.source, lower.key)
        for p in pairs
        if p.kind == "exact" and p.crosses
        for lower in (min((p.first, p.second), key=lambda i: rank[i.split]),)
    }
