"""What can be read at each place: logistic regression, cross-fitted by patient."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.errors import BadArgument

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]

FOLDS, INNER = 5, 3
"""Folds of patients in which a probe is read, and in which its strength is chosen."""

STRENGTHS = tuple(10.0**power for power in range(-1, 4))
"""Inverse strengths of the penalty on features divided by the root of their number, scikit-learn's ``C``."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A cross-fitted probe.

    Attributes:
        probabilities: (records, classes), each record's by a probe that was fitted without its patient.
        loss: Cross entropy within the training part of each fold, of the strength that was chosen, (folds).
    """

    probabilities: Floats
    loss: Floats


@dataclass(frozen=True, slots=True)
class Divided:
    """Records divided into folds of patients.

    Attributes:
        truth: Index of the true class of each record.
        groups: Patient of each record.
        folds: Indices of the records that are fitted on and read, a pair a fold.
        inner: For each fold the pairs of indices, among those fitted on, by which a strength is chosen.
    """

    truth: Classes
    groups: NDArray[np.str_]
    folds: tuple[tuple[Classes, Classes], ...]
    inner: tuple[tuple[tuple[Classes, Classes], ...], ...]


def divided(truth: Classes, groups: Sequence[str], seed: int = 0) -> Divided:
    """Return records divided into folds of patients, each with the patients of the classes in proportion.

    Raises:
        BadArgument: There are fewer than two classes, or a class has fewer patients than two folds need.
    """
    patients = np.asarray(groups, dtype=str)
    counts = {c: len(set(patients[truth == c])) for c in sorted(set(truth.tolist()))}
    least = min(counts.values(), default=0)
    if len(counts) < 2 or least < 4:
        raise _too_few(f"{len(counts)} classes, {least} patients in the smallest")
    folds = _folds(truth, patients, min(FOLDS, least // 2), seed)
    inner = tuple(_folds(truth[fit], patients[fit], min(INNER, least // 2), seed) for fit, _ in folds)
    fitted = [truth[fit] for fit, _ in folds] + [
        truth[fit][a] for (fit, _), pairs in zip(folds, inner, strict=True) for a, _ in pairs
    ]
    if any(len(set(some.tolist())) < 2 for some in fitted):
        raise _too_few("patients who hold nearly all records of a class or several classes at once")
    return Divided(truth, patients, folds, inner)


def _too_few(found: str) -> BadArgument:
    expected = "at least two classes with four patients each in the splits that are read"
    cure = (
        "read more records: without `--data.limit` (it takes the first by id) and `--data.subset`, or all splits of a "
        "model that is not tuned on them: `--split all`; or curate more samples"
    )
    return BadArgument("CURATED", found, expected, cure)


def _folds(truth: Classes, groups: NDArray[np.str_], count: int, seed: int) -> tuple[tuple[Classes, Classes], ...]:
    """Return folds of patients; one with records of several classes counts for the rarest of them.

    Patients count alike, however many records they have: of a class of few patients, each fold must have some.
    """
    from sklearn.model_selection import StratifiedKFold

    names, place = np.unique(groups, return_inverse=True)
    order = np.argsort(np.bincount(truth))[::-1]  # the rarest last
    rarity = np.argsort(order)[truth]
    stratum = np.zeros(len(names), dtype=np.intp)
    np.maximum.at(stratum, place, rarity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class whose patients nearly all count for another
        pairs = list(StratifiedKFold(max(2, count), shuffle=True, random_state=seed).split(names, stratum))
    return tuple((np.flatnonzero(np.isin(place, fit)), np.flatnonzero(np.isin(place, read))) for fit, read in pairs)


def probe(features: NDArray[np.floating], own: Divided, classes: int) -> Probe:
    """Return a probe of features, fitted on other patients than those it is read for.

    Features are standardised by the records fitted on and reduced by an exact SVD onto them, which loses nothing under
    an L2 penalty. Classes weigh equally. The strength of the penalty has the least cross entropy over inner folds.

    Args:
        features: (records, features).
        own: The records, divided.
        classes: Number of classes; those that are not fitted on have the probability 0.
    """
    probabilities = np.zeros((len(own.truth), classes))
    losses = []
    for (fit, read), inner in zip(own.folds, own.inner, strict=True):
        fitted, reading = reduced(np.asarray(features[fit], float), np.asarray(features[read], float))
        truth = own.truth[fit]
        tried = [_inner_loss(fitted, truth, inner, c) for c in STRENGTHS]
        best = int(np.argmin(tried))
        model = _fitted(fitted, truth, STRENGTHS[best])
        probabilities[np.ix_(read, model.classes_)] = model.predict_proba(reading)
        losses.append(tried[best])
    return Probe(probabilities, np.array(losses))


def best_of(probes: Sequence[Probe], own: Divided) -> tuple[Probe, list[int]]:
    """Return the probe that has the least loss within the training part of each fold, and which that was.

    The choice sees no record that it is read for.
    """
    losses = np.array([one.loss for one in probes])
    chosen = losses.argmin(axis=0).tolist()
    probabilities = probes[0].probabilities.copy()
    for (_, read), which in zip(own.folds, chosen, strict=True):
        probabilities[read] = probes[which].probabilities[read]
    return Probe(probabilities, losses.min(axis=0)), chosen


def permuted(own: Divided, seed: int) -> Divided:
    """Return the records with the labels of whole patients exchanged, among patients with as many records."""
    noise = np.random.default_rng(seed)
    truth = own.truth.copy()
    names, place = np.unique(own.groups, return_inverse=True)
    members = [np.flatnonzero(place == i) for i in range(len(names))]
    for size in {len(m) for m in members}:
        alike = [m for m in members if len(m) == size]
        for one, other in zip(alike, noise.permutation(len(alike)), strict=True):
            truth[one] = own.truth[alike[other]]
    return divided(truth, own.groups.tolist(), seed)


def reduced(fitted: Floats, read: Floats) -> tuple[Floats, Floats]:
    """Return features standardised by those fitted on, divided by the root of their number, in at most n dimensions.

    Distances and products between records are kept exactly.

    Args:
        fitted: Features of the records fitted on, (n, features).
        read: Features of the others, (m, features).
    """
    mean, spread = fitted.mean(axis=0), fitted.std(axis=0)
    scale = np.where(spread > 1e-9 * np.maximum(1, np.abs(mean)), spread, np.inf) * np.sqrt(fitted.shape[1])
    first, second = (fitted - mean) / scale, (read - mean) / scale
    if first.shape[1] <= len(first):
        return first, second
    values, vectors = np.linalg.eigh(first @ first.T)
    kept = values > max(values[-1], 0) * 1e-12
    if not kept.any():  # every feature is constant
        return np.zeros((len(first), 1)), np.zeros((len(second), 1))
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, (second @ first.T) @ vectors[:, kept] / roots


def _inner_loss(features: Floats, truth: Classes, folds: Sequence[tuple[Classes, Classes]], c: float) -> float:
    """Return the mean cross entropy of the true class over inner folds, classes weighing equally."""
    losses = []
    for fit, read in folds:
        model = _fitted(features[fit], truth[fit], c)
        made = np.full((len(read), truth.max() + 1), 1e-12)
        made[:, model.classes_] = np.maximum(model.predict_proba(features[read]), 1e-12)
        own = -np.log(made[np.arange(len(read)), truth[read]])
        losses.append(np.mean([own[truth[read] == c].mean() for c in set(truth[read].tolist())]))
    return float(np.mean(losses))


def _fitted(features: Floats, truth: Classes, c: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # a probe that has not converged reads too little
        return LogisticRegression(C=c, class_weight="balanced", solver="newton-cg", max_iter=1000, tol=1e-8).fit(
            features, truth
        )
