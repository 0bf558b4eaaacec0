"""Find what a split lets through: one patient, one image or one photograph in two splits, within and across sources.

Copies of a photograph are found by a 256-bit perceptual hash (Zauner 2010, DCT). The usual 64 bits do not serve here:
fundus photographs share their dark surround, and among 624 of them 18 pairs lay within distance 4, most of them
different eyes. With 256 bits the pairs up to 20 of the same 624 were real copies, the first false one came at 22, and a
copy made by shrinking to half and saving at JPEG quality 50 lay at 6 (median) to 22 (largest of 39). A copy that was
cropped or flipped is not found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.fft import dct

from lmod_train.types import Split

HASH_SIDE = 16
BITS = HASH_SIDE * HASH_SIDE
NEAR = 20
"""Largest Hamming distance, of 256 bits, at which two images count as one photograph."""

LISTED = 50
"""Pairs that the manifest lists; ``leakage.csv`` has all."""


@dataclass(frozen=True, slots=True, order=True)
class Shown:
    """An image as the check sees it; `phash` is 64 hexadecimal digits, empty where there is none."""

    source: str
    key: str
    split: Split
    group: str
    sha256: str
    phash: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two images with something in common: ``group``, ``exact`` (same file) or ``near`` (same photograph)."""

    kind: str
    distance: int
    first: Shown
    second: Shown

    @property
    def crosses(self) -> bool:
        """Whether the two are in different splits."""
        return self.first.split != self.second.split

    def row(self) -> dict[str, Any]:
        """Return the pair as a row of ``leakage.csv``."""
        row: dict[str, Any] = {"kind": self.kind, "distance": self.distance}
        for side, image in (("first", self.first), ("second", self.second)):
            row |= {f"{side}_{name}": getattr(image, name) for name in ("source", "key", "split", "group")}
        return row


def perceptual_hash(image: Image.Image) -> str:
    """Return the 256-bit DCT hash of an image as 64 hexadecimal digits, bit for bit that of the `imagehash` package.

    The grey image is shrunk to 64 x 64 by Lanczos; the 16 x 16 lowest frequencies of its cosine transform are above
    their median or not. (The package brings wavelets along, which every worker would carry.)
    """
    side = 4 * HASH_SIDE
    grey = np.asarray(image.convert("L").resize((side, side), Image.Resampling.LANCZOS), dtype=np.float64)
    low = dct(dct(grey, axis=0), axis=1)[:HASH_SIDE, :HASH_SIDE]
    return np.packbits(low > np.median(low)).tobytes().hex()


def find_pairs(images: Iterable[Shown], near: int = NEAR) -> list[Pair]:
    """Return the pairs of images that share a group across splits, a file, or a photograph.

    A cluster of m equal images gives at most 3 pairs an image (each with the first of every split), never m squared: a
    cluster that crosses splits always shows it. An exact copy is not named again as near.

    Time is linear in the number of images for groups and exact copies. Near ones are looked for in `near` + 1 bands of
    bits, in one of which two hashes within `near` must agree (pigeonhole): an expected n / 2^12 comparisons a band and
    image where hashes are spread; quadratic only in the number of different hashes that share a whole band.

    Args:
        images: In any order; the result does not depend on it.
        near: Largest Hamming distance, 0 to 255.
    """
    ordered = sorted(set(images))
    pairs = list(_clustered("group", ((i, (i.source, i.group)) for i in ordered), crossing_only=True))
    pairs += _clustered("exact", ((i, i.sha256) for i in ordered))
    hashed = [i for i in ordered if i.phash]
    pairs += [p for p in _clustered("near", ((i, i.phash) for i in hashed)) if p.first.sha256 != p.second.sha256]
    return pairs + _near(hashed, near)


def _clustered(kind: str, keyed: Iterable[tuple[Shown, object]], crossing_only: bool = False) -> Iterator[Pair]:
    firsts: defaultdict[object, dict[str, Shown]] = defaultdict(dict)
    for image, key in keyed:
        for first in firsts[key].values():
            if not crossing_only or first.split != image.split:
                yield Pair(kind, 0, first, image)
        firsts[key].setdefault(image.split, image)


def _near(images: Sequence[Shown], near: int) -> list[Pair]:
    heads: defaultdict[str, dict[str, Shown]] = defaultdict(dict)  # hash -> the first image of every split
    for image in images:
        heads[image.phash].setdefault(image.split, image)
    hashes = sorted(heads)
    pairs = []
    for i, j, distance in sorted(_close(hashes, near)):
        for a, b in product(heads[hashes[i]].values(), heads[hashes[j]].values()):
            if a.sha256 != b.sha256:
                first, second = sorted((a, b))
                pairs.append(Pair("near", distance, first, second))
    return pairs


def _close(hashes: Sequence[str], near: int) -> set[tuple[int, int, int]]:
    """Return (i, j, distance) with i < j for all different hashes within `near`, without comparing all with all."""
    if not hashes:
        return set()
    octets = np.frombuffer(bytes.fromhex("".join(hashes)), dtype=np.uint8).reshape(len(hashes), -1)
    words = octets.view(np.uint64)
    bits = np.unpackbits(octets, axis=1)
    found: set[tuple[int, int, int]] = set()
    for band in np.array_split(np.arange(BITS), near + 1):
        order, ends = _buckets(np.packbits(bits[:, band], axis=1))
        at, step = np.arange(len(order)), 1
        while len(at := at[at + step < ends[at]]):  # every hash with the step-th behind it in its bucket, all at once
            first, second = order[at], order[at + step]
            distances = np.bitwise_count(words[first] ^ words[second]).sum(axis=1, dtype=np.int64)
            close = distances <= near
            found.update(zip(first[close].tolist(), second[close].tolist(), distances[close].tolist(), strict=True))
            step += 1
    return found


def _buckets(keys: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows in an order in which equal ones stand together, rising, and for each place where its like end.

    Example:
        >>> [part.tolist() for part in _buckets(np.array([[7], [2], [7]], dtype=np.uint8))]
        [[1, 0, 2], [1, 3, 3]]
    """
    _, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    ranks = inverse.ravel()[order]
    return order, np.searchsorted(ranks, ranks, side="right")


def account(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return what the manifest says: counts by kind, and the first pairs that cross splits.

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
        "hash": f"DCT, {BITS} bits",
        "near": NEAR,
        "counts": counts,
        "copies_between": dict(sorted(between.items())),
        "crossing": rows[:LISTED],
        "crossing_not_listed": max(0, len(rows) - LISTED),
    }


def torn_copies(pairs: Iterable[Pair]) -> set[tuple[str, str]]:
    """Return source and key of exact copies to drop so that no file is in two splits.

    Test keeps its images, then val: what is measured on stays whole, and training loses the copies.
    """
    rank = {"train": 0, "val": 1, "test": 2}
    return {
        (lower.source, lower.key)
        for p in pairs
        if p.kind == "exact" and p.crosses
        for lower in (min((p.first, p.second), key=lambda i: rank[i.split]),)
    }
