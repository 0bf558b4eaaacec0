"""The vessel tree of a phantom: arcades from the disc around the fovea, and their branches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Line: TypeAlias = npt.NDArray[np.floating[Any]]


STREAM = 1
"""Place of the vessels' random generator among those of an eye."""


@dataclass(frozen=True, slots=True)
class Vessel:
    """One vessel as a line of points; its width falls linearly from `width` to `end`, in units of the image side."""

    points: tuple[tuple[float, float], ...]
    width: float
    end: float
    vein: bool


@dataclass(frozen=True)
class Tree(Sequence[Vessel]):
    """The vessels of one eye, drawn when the first is asked for: a truth that is told without its image needs none.

    Attributes:
        seed: Seed of the eye.
        disc: Centre of the optic disc.
        fovea: Centre of the fovea.

    Example:
        >>> len(Tree(3, (0.7, 0.5), (0.35, 0.52))[:8]), Tree(3, (0.7, 0.5), (0.35, 0.52))[0].vein
        (8, False)
    """

    seed: int
    disc: tuple[float, float]
    fovea: tuple[float, float]

    @cached_property
    def _drawn(self) -> tuple[Vessel, ...]:
        own = np.random.SeedSequence(self.seed, spawn_key=(STREAM,))
        return draw_vessels(np.random.default_rng(own), self.disc, self.fovea)

    def __getitem__(self, place: Any) -> Any:
        return self._drawn[place]

    def __len__(self) -> int:
        return len(self._drawn)


def draw_vessels(rng: np.random.Generator, disc: tuple[float, float], fovea: tuple[float, float]) -> tuple[Vessel, ...]:
    """Return an artery and a vein for each quadrant, with branches; none crosses the fovea.

    Args:
        rng: Random generator.
        disc: Centre of the optic disc, where all trunks begin.
        fovea: Centre of the fovea, which the temporal arcades surround.

    Example:
        >>> tree = draw_vessels(np.random.default_rng(0), (0.7, 0.5), (0.35, 0.52))
        >>> len([v for v in tree if v.width > 0.008]) >= 8, all(len(v.points) > 1 for v in tree)
        (True, True)
    """
    trunks: list[Vessel] = []
    branches: list[Vessel] = []
    for up in (1, -1):
        for temporal in (True, False):
            for vein in (False, True):
                line = _trunk(rng, up, temporal, np.array(disc), np.array(fovea))
                width = rng.uniform(0.0105, 0.014) * (1.2 if vein else 0.9) * (1.0 if temporal else 0.8)
                trunks.append(_vessel(line, width, 0.35 * width, vein))
                branches += _branches(rng, line, 0.62 * width, vein, np.array(fovea), depth=2)
    return tuple(trunks + branches)


def _trunk(rng: np.random.Generator, up: int, temporal: bool, disc: _Line, fovea: _Line) -> _Line:
    """Return the points of one arcade in image coordinates, constructed along the axis from disc to fovea."""
    reach = float(np.hypot(*(fovea - disc)))
    along = (fovea - disc) / reach
    above = np.array([along[1], -along[0]]) * (1 if along[0] > 0 else -1)  # points up in the image for either eye
    s = np.linspace(0, 1, 26)
    if temporal:
        t = reach * rng.uniform(1.7, 2.1) * s**1.5
        v = reach * rng.uniform(0.60, 0.90) * np.sin(math.pi * 0.75 * s**0.6)
    else:
        t = -reach * rng.uniform(0.7, 1.2) * s**1.2
        v = reach * rng.uniform(0.7, 1.2) * s**0.75
    waves = rng.uniform(0.008, 0.016) * np.sin(2 * math.pi * (rng.uniform(1.5, 3) * s + rng.random())) * np.sqrt(s)
    root = rng.normal(0, 0.006, 2)
    line: _Line = disc + root + t[:, None] * along + (up * (v + waves))[:, None] * above
    return line


def _branches(
    rng: np.random.Generator, parent: _Line, width: float, vein: bool, fovea: _Line, depth: int
) -> list[Vessel]:
    """Return the branches of one line and their branches, which leave to alternating sides."""
    count = 2 * depth
    start = rng.uniform(0.25, 0.95, count)
    side = np.resize([1, -1] if rng.random() < 0.5 else [-1, 1], count)
    at = (start * (len(parent) - 2)).astype(int)
    ahead = parent[at + 1] - parent[at]
    heading = np.arctan2(ahead[:, 1], ahead[:, 0]) + side * rng.uniform(0.45, 0.95, count)
    angle = heading[:, None] + np.cumsum(rng.normal(0, 0.09, (count, 12)) - 0.03 * side[:, None], axis=1)
    length_each = rng.uniform(0.010, 0.022, (count, 1)) * (1 if depth == 2 else 0.65)
    moves = np.stack([length_each * np.cos(angle), length_each * np.sin(angle)], axis=2)
    moves[:, 0] += parent[at]
    lines = np.cumsum(moves, axis=1)
    near = ((lines - fovea) ** 2).sum(axis=2) < 0.055**2  # no vessel in the fovea
    lengths = np.where(near.any(axis=1), near.argmax(axis=1), 12).tolist()
    found: list[Vessel] = []
    for line, root, length, thin in zip(lines, parent[at], lengths, width * (1 - 0.5 * start), strict=True):
        if length < 3:
            continue
        found.append(_vessel(np.concatenate([root[None], line[:length]]), thin, 0.5 * thin, vein))
        if depth > 1:
            found += _branches(rng, line[:length], 0.7 * thin, vein, fovea, depth - 1)
    return found


def _vessel(line: _Line, width: float, end: float, vein: bool) -> Vessel:
    return Vessel(tuple((x, y) for x, y in line.tolist()), float(width), float(end), vein)
