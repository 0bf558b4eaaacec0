"""Phantoms in the layout of REFUGE whose rims differ: thinness goes with glaucoma and is not told by it.

The plain phantoms of that layout never keep the ISNT rule, and their rims are as likely thin in one sector as in
another. Here, rims keep or break the rule by a margin, and some eyes have a notch or a haemorrhage at the disc.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from lmod_train.phantom.eye import Eye, Lesion
from lmod_train.phantom.folders import refuge
from lmod_train.phantom.truth import Truth

SOURCE, LAYOUT = "refuge_rims", "refuge"
"""Name of these phantoms, and the source in whose layout they are drawn."""

KEEPS, INFERIOR, NOTCH, HAEMORRHAGE = (0.7, 0.3), (0.25, 0.55), (0.05, 0.4), (0.05, 0.25)
"""Share of the eyes without and with glaucoma that keep the ISNT rule; of those that break it, that are thinnest
below; that have a notch; that have a haemorrhage at the disc."""

GAP = (0.012, 0.020)
"""Half of the difference of opposite sectors that keep the rule, in disc diameters."""


def truth(n: int, seed: int) -> list[tuple[str, Eye]]:
    """Return key and eye of each of `n` phantoms, those of `lmod_train.phantom.folders.refuge` with other rims."""
    return [(key, with_rim(eye, eye.seed)) for key, eye in refuge.truth(n, seed)]


def truths(n: int, seed: int, size: int = 384) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options."""
    return [refuge.truth_of(key, eye, size) for key, eye in truth(n, seed)]


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms with masks and tables below ``out/REFUGE``; keep existing files.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    refuge.draw(out, truth(n, seed), {"source": SOURCE, "n": n, "seed": seed, "size": size}, workers)


def with_rim(eye: Eye, seed: int) -> Eye:
    """Return the eye with a rim that keeps or breaks the ISNT rule, and with or without a notch and a haemorrhage.

    The vertical cup-to-disc ratio stays.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> eye = draw_eye(1, "glaucoma")
        >>> with_rim(eye, 1).cup_to_disc == eye.cup_to_disc, with_rim(eye, 1).cup == eye.cup
        (True, False)
    """
    rng = np.random.default_rng([seed, 53])
    sick = eye.diagnosis == "glaucoma"
    keeps, below, notched, bleeds = (rng.random() < share[sick] for share in (KEEPS, INFERIOR, NOTCH, HAEMORRHAGE))
    eye = _keeping(eye, rng) if keeps else _breaking(eye, rng, bool(below))
    temporal = -1 if eye.laterality == "right" else 1
    if notched and not keeps:
        eye = replace(eye, notch=_notch(eye, math.radians(rng.uniform(50, 70)), temporal, 1 if below else -1))
    if bleeds:
        at = math.radians(rng.uniform(30, 70))
        place = _on_disc(eye, 0.98, temporal * math.cos(at), math.sin(at))
        eye = replace(eye, lesions=(*eye.lesions, Lesion("disc haemorrhage", *place, float(rng.uniform(0.007, 0.011)))))
    return eye


def _keeping(eye: Eye, rng: np.random.Generator) -> Eye:
    """Return the eye with sectors that get thinner from inferior to superior, nasal and temporal."""
    up, aside = rng.uniform(*GAP, 2).tolist()
    wide = min(0.97, eye.cup_to_disc + 2 * (up + aside) + float(rng.uniform(*GAP)) + 2 * GAP[1])
    temporal = -1 if eye.laterality == "right" else 1
    return _with_cup(eye, wide, (temporal * min(aside, (1 - wide) / 2 - 0.004), -up))


def _breaking(eye: Eye, rng: np.random.Generator, below: bool) -> Eye:
    """Return the eye with a cup that is moved towards one sector, below or another."""
    free = (1 - eye.cup_to_disc) / 2
    by = float(rng.uniform(0.35, 0.75)) * free
    side = (0.0, 1.0) if below else ((0.0, -1.0), (1.0, 0.0), (-1.0, 0.0))[int(rng.integers(3))]
    return _with_cup(eye, eye.cup_to_disc * float(rng.uniform(0.92, 1.0)), (by * side[0], by * side[1]))


def _with_cup(eye: Eye, wide: float, moved: tuple[float, float]) -> Eye:
    """Return the eye with a cup of a horizontal ratio, moved right and down by shares of the disc's diameters."""
    across, down = eye.disc_radii
    cup = eye.disc[0] + 2 * across * moved[0], eye.disc[1] + 2 * down * moved[1]
    return replace(eye, cup=cup, cup_radii=(across * wide, down * eye.cup_to_disc))


def _notch(eye: Eye, at: float, temporal: int, down: int) -> tuple[tuple[float, float], float]:
    place = _on_disc(eye, 0.84, temporal * math.cos(at), down * math.sin(at))
    return place, 0.13 * min(eye.disc_radii)


def _on_disc(eye: Eye, share: float, x: float, y: float) -> tuple[float, float]:
    return eye.disc[0] + share * eye.disc_radii[0] * x, eye.disc[1] + share * eye.disc_radii[1] * y
