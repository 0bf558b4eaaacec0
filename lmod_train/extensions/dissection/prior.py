"""Biases of choices that maximise balanced accuracy: what is answered once the prior for some choices is removed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.intervals import Floats

Classes = NDArray[np.intp]

STARTS = 20
"""Records whose likelihoods are made equal as a start of the search for biases, beside no bias and the mean."""


def prior_biases(logits: Floats, truth: Classes) -> Floats:
    """Return one bias a choice that maximises balanced accuracy; 0 for the first, all 0 if none is better.

    From several starts, one bias after the other is set to the best of all values, the nearest of equals, until none
    changes: from one start alone a strong preference for one of several choices is not undone. (A fit by cross entropy
    moves thresholds for confidence, not for answers.)

    Args:
        logits: Log-likelihoods of the choices, (records, choices); at least one record.
        truth: Index of the true choice of each record.

    Example:
        >>> logits = np.log(np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.55, 0.45]]))
        >>> (logits + prior_biases(logits, np.array([0, 0, 1, 1]))).argmax(1).tolist()
        [0, 0, 1, 1]
    """
    some = np.unique(np.linspace(0, len(logits) - 1, STARTS).round().astype(int))
    starts = [np.zeros(logits.shape[1]), -logits.mean(axis=0), *-logits[some]]
    weights = _weights(truth, logits.shape[1])
    found = [_ascended(logits, truth, weights, start) for start in starts]
    reached = [_reached(logits + biases, truth, weights) for biases in found]
    return found[int(np.argmax(np.round(reached, 9)))]


def _ascended(logits: Floats, truth: Classes, weights: Floats, start: Floats, rounds: int = 20) -> Floats:
    """Return biases of which none alone can be bettered."""
    biases = start.copy()
    for _ in range(rounds):
        changes = 0.0
        for choice in range(logits.shape[1]):
            change = _best_change(logits + biases, truth, weights, choice)
            biases[choice] += change
            changes += abs(change)
        if not changes:
            break
    made: Floats = biases - biases[0]
    return made


def _weights(truth: Classes, classes: int) -> Floats:
    """Return what each record that is right adds to the balanced accuracy."""
    sizes = np.bincount(truth, minlength=classes)
    made: Floats = 1 / (sizes[truth] * np.count_nonzero(sizes))
    return made


def _reached(logits: Floats, truth: Classes, weights: Floats) -> float:
    return float(weights[logits.argmax(axis=1) == truth].sum())


def _best_change(logits: Floats, truth: Classes, weights: Floats, choice: int) -> float:
    """Return the change of one choice's bias that maximises balanced accuracy; 0 if none is better than today's."""
    others = logits.copy()
    others[:, choice] = -np.inf
    margins = others.max(axis=1) - logits[:, choice]  # the choice is answered where the change is larger
    order = np.argsort(margins)
    ours = np.where(truth == choice, weights, 0)[order]
    theirs = np.where(others.argmax(axis=1) == truth, weights, 0)[order]
    values = np.concatenate([[0], ours.cumsum()]) + theirs.sum() - np.concatenate([[0], theirs.cumsum()])
    at = margins[order]
    cuts = np.concatenate([at[:1] - 1, (at[1:] + at[:-1]) / 2, at[-1:] + 1])
    values[1:-1][at[1:] - at[:-1] <= 1e-9] = -1  # records of one margin change together
    best = values.max()
    if best <= _reached(logits, truth, weights) + 1e-12:
        return 0.0
    equal = cuts[values >= best - 1e-12]
    return float(equal[np.abs(equal).argmin()])
