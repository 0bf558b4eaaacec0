"""Eyes with known facts, and explainers whose specific share is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lmod_train.core.types import Fact
from lmod_train.extensions.reason.claims import SECTORS, Claim, Facts
from lmod_train.extensions.reason.scores import Explained

TRUTHS = ("GLAUCOMA", "NON-GLAUCOMA")

Explainer = Callable[[np.random.Generator, Facts, Sequence[Facts], str], tuple[float, str]]
"""Returns the ratio and the thinnest sector that are claimed of an eye, one of several with one answer."""


def eye(rng: np.random.Generator, truth: str) -> Facts:
    ratio = float(rng.uniform(0.62, 0.85) if truth == TRUTHS[0] else rng.uniform(0.20, 0.45))
    rims = {f"rim.{s}": Fact(f"rim.{s}", float(rng.uniform(0.05, 0.25)), "disc diameters", 0.035) for s in SECTORS}
    thinnest = Fact("rim.thinnest", str(rng.choice(SECTORS)))
    return {"vcdr": Fact("vcdr", ratio, "ratio", 0.07), "rim.thinnest": thinnest, **rims}


def _of(facts: Facts) -> tuple[float, str]:
    return float(facts["vcdr"].value), str(facts["rim.thinnest"].value)


def truthful(rng: np.random.Generator, own: Facts, others: Sequence[Facts], truth: str) -> tuple[float, str]:
    return _of(own)


def textbook(rng: np.random.Generator, own: Facts, others: Sequence[Facts], truth: str) -> tuple[float, str]:
    return (0.75 if truth == TRUTHS[0] else 0.3), "inferior"


def random(rng: np.random.Generator, own: Facts, others: Sequence[Facts], truth: str) -> tuple[float, str]:
    return float(rng.uniform(0.1, 0.9)), str(rng.choice(SECTORS))


def other_eye(rng: np.random.Generator, own: Facts, others: Sequence[Facts], truth: str) -> tuple[float, str]:
    return _of(others[rng.integers(len(others))])


def one_in_five(rng: np.random.Generator, own: Facts, others: Sequence[Facts], truth: str) -> tuple[float, str]:
    return truthful(rng, own, others, truth) if rng.random() < 0.2 else textbook(rng, own, others, truth)


def replies(explainer: Explainer, patients: int, seed: int) -> list[Explained]:
    """Return the replies of an explainer about so many patients of each answer."""
    rng = np.random.default_rng(seed)
    made = []
    for truth in TRUTHS:
        eyes = [eye(rng, truth) for _ in range(patients)]
        for i, own in enumerate(eyes):
            ratio, sector = explainer(rng, own, eyes[:i] + eyes[i + 1 :], truth)
            claims = (Claim("vcdr", "=", round(ratio, 2), round(ratio, 2)), Claim("rim", "thin", place=sector))
            made.append(Explained(f"{truth}/{i}", "phantoms", truth, truth, f"{truth}{i}", own, claims))
    return made
