"""Linear probes: what logistic regression reads from features, cross-fitted by patient.

The products of all records are computed once a fold. The penalty depends on nothing else, so that a fit on as many
coordinates as there are records loses nothing, however many features there are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
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

TOLERANCE = 1e-6
"""Largest entry of the gradient of the mean loss behind a fit. Probabilities differ by less than 0.001 from those of
1e-8."""

COLUMNS = 4096
"""Number of features that are standardised at a time."""


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
class DividedRecords:
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


def divided(truth: Classes, groups: Sequence[str], seed: int = 0) -> DividedRecords:
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
    return DividedRecords(truth, patients, folds, inner)


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


def probe(features: NDArray[np.floating], own: DividedRecords, classes: int) -> Probe:
    """Return a probe of features, fitted on other patients than those it is read for.

    Features are standardised by the records fitted on. Classes weigh equally. The strength of the penalty has the least
    cross entropy over inner folds.

    Args:
        features: (records, features); those of at most 32 bits are fitted in float32.
        own: The records, divided.
        classes: Number of classes; those that are not fitted on have the probability 0.
    """
    features = features.astype(np.promote_types(features.dtype, np.float32), copy=False)
    probabilities, losses = np.zeros((len(own.truth), classes)), []
    for (fit, read), inner in zip(own.folds, own.inner, strict=True):
        products = products_of(features, fit)
        tried = np.mean([_losses(products, own.truth, fit[a], fit[b], features.dtype) for a, b in inner], axis=0)
        best = int(np.argmin(tried))
        fitted, reading = coordinates(products, fit, read, features.dtype)
        (model,) = _fitted(fitted, own.truth[fit], STRENGTHS[best : best + 1])
        probabilities[np.ix_(read, model.classes_)] = model.predict_proba(reading)
        losses.append(tried[best])
    return Probe(probabilities, np.array(losses))


def best_of(probes: Sequence[Probe], own: DividedRecords) -> tuple[Probe, list[int]]:
    """Return the probe that has the least loss within the training part of each fold, and which that was.

    The choice sees no record that it is read for.
    """
    losses = np.array([one.loss for one in probes])
    chosen = losses.argmin(axis=0).tolist()
    probabilities = probes[0].probabilities.copy()
    for (_, read), which in zip(own.folds, chosen, strict=True):
        probabilities[read] = probes[which].probabilities[read]
    return Probe(probabilities, losses.min(axis=0)), chosen


def permuted(own: DividedRecords, seed: int) -> DividedRecords:
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


def products_of(features: NDArray[np.floating], fit: Classes) -> Floats:
    """Return the products of records, their features standardised by some and divided by the root of their number.

    They are computed in the type of the features and added in float64, some columns at a time.

    Args:
        features: (n, features).
        fit: Indices of the records whose mean and standard deviation are taken.

    Returns:
        (n, n), float64.
    """
    total = np.zeros((len(features), len(features)))
    for first in range(0, features.shape[1], COLUMNS):
        own = features[:, first : first + COLUMNS]
        mean = own[fit].mean(axis=0, dtype=np.float64)
        centred = own - mean.astype(own.dtype)
        rest = centred[fit].mean(axis=0, dtype=np.float64)  # what rounding of the mean left
        spread = np.sqrt(np.maximum(np.square(centred[fit]).mean(axis=0, dtype=np.float64) - rest**2, 0))
        scale = np.where(spread > 1e-9 * np.maximum(1, np.abs(mean)), spread, np.inf) * np.sqrt(features.shape[1])
        centred -= rest.astype(own.dtype)
        centred /= scale.astype(own.dtype)
        total += centred @ centred.T
    return total


def coordinates(products: Floats, fit: Classes, read: Classes, kind: Any = np.float64) -> tuple[Floats, Floats]:
    """Return coordinates of records in at most as many dimensions as there are records fitted on.

    A pivoted Cholesky factor keeps all products with those fitted on up to rounding, and their rank.

    Args:
        products: Of all records, (n, n).
        fit: Indices of the records fitted on.
        read: Indices of the others.
        kind: Type of the coordinates, and of the features behind the products.

    Returns:
        (fit, dimensions) and (read, dimensions).
    """
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf

    own = products[np.ix_(fit, fit)]
    if not own.any():  # every feature is constant
        return np.zeros((len(fit), 1), kind), np.zeros((len(read), 1), kind)
    factor, pivots, rank, _ = dpstrf(own, tol=16 * np.finfo(kind).eps * own.diagonal().max(), lower=1)
    order, factor = pivots - 1, np.tril(factor)[:, :rank]
    fitted = np.empty(factor.shape, kind)
    fitted[order] = factor
    reading = solve_triangular(factor[:rank], products[np.ix_(fit[order[:rank]], read)], lower=True).T
    return fitted, np.ascontiguousarray(reading, kind)


def _losses(products: Floats, truth: Classes, fit: Classes, read: Classes, kind: Any) -> list[float]:
    """Return the mean cross entropy of the true class of each strength, classes weighing equally."""
    fitted, reading = coordinates(products, fit, read, kind)
    losses = []
    for model in _fitted(fitted, truth[fit], STRENGTHS):
        made = np.full((len(read), truth.max() + 1), 1e-12)
        made[:, model.classes_] = np.maximum(model.predict_proba(reading), 1e-12)
        own = -np.log(made[np.arange(len(read)), truth[read]])
        losses.append(float(np.mean([own[truth[read] == c].mean() for c in set(truth[read].tolist())])))
    return losses


def _fitted(features: Floats, truth: Classes, strengths: Sequence[float]) -> Iterator[Any]:
    """Yield the classifier of each strength, which starts from the one before and takes its place.

    Raises:
        UserWarning: A fit has not converged, in float64 neither: it would read too little.
    """
    from sklearn.linear_model import LogisticRegression

    options = {"class_weight": "balanced", "solver": "newton-cg", "max_iter": 1000, "tol": TOLERANCE}
    model = LogisticRegression(warm_start=True, **options)
    for c in strengths:
        model.set_params(C=c)
        try:
            yield _converged(model, features, truth)
        except UserWarning:
            if features.dtype == np.float64:
                raise
            yield _converged(model, np.asarray(features, np.float64), truth)  # float32 rounds too much


def _converged(model: Any, features: Floats, truth: Classes) -> Any:
    """Return a fitted model; raise the warning of one that has not converged."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a line search that another one repeats
        warnings.filterwarnings("error", "Line Search failed", UserWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        return model.fit(features, truth)
