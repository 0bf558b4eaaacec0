"""Logistic regression with an L2 penalty, fitted to convergence by scikit-learn in float64."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-4
"""Largest distance of the coefficients from the optimum. The objective is strongly convex with constant 1, so that the
norm of its gradient bounds the distance."""

ITERATIONS = 10_000
"""Largest number of iterations of L-BFGS; a few hundred are usual."""


@dataclass(frozen=True)
class Fit:
    """A fitted logistic regression.

    Attributes:
        weight: Coefficients (classes, width); of two classes, those of the first are 0.
        bias: Intercepts (classes), likewise.
        loss: Mean cross-entropy over the rows in nats, weighted if the fit was, without the penalty.
        iterations: Number of iterations.
        converged: Whether the number of iterations sufficed.
    """

    weight: Floats
    bias: Floats
    loss: float
    iterations: int
    converged: bool


def logistic_regression(
    features: npt.ArrayLike,
    targets: npt.ArrayLike,
    classes: int,
    c: float = 1.0,
    sample: npt.ArrayLike | None = None,
    iterations: int = ITERATIONS,
) -> Fit:
    """Return scikit-learn's ``LogisticRegression`` of all rows, fitted by L-BFGS from 0.

    The objective is ``0.5 * |w|^2 + c * sum of cross-entropies``, with intercepts that are not penalised; multinomial,
    and binomial for two classes. It has one optimum, so that neither a seed nor the order of the rows matters.

    Args:
        features: Standardised features (rows, width), at least one row.
        targets: Class of each row, 0 to ``classes - 1``, each at least once: an absent class has no finite intercept.
        classes: Number of classes, from 2.
        c: Inverse strength of the penalty, above 0.
        sample: Weight of each row's loss (rows); None for 1.
        iterations: Largest number of iterations.

    Raises:
        ValueError: A class is absent, or not below `classes`.

    Example:
        >>> fit = logistic_regression([[-1.0], [1.0], [2.0]], [0, 1, 1], 2)
        >>> fit.weight.round(3).tolist(), fit.converged
        ([[0.0], [0.848]], True)
    """
    from sklearn.exceptions import ConvergenceWarning  # takes long to import
    from sklearn.linear_model import LogisticRegression

    x, y = np.asarray(features, np.float64), np.asarray(targets, np.int64)
    if sorted(set(y.tolist())) != list(range(classes)) or classes < 2:
        raise ValueError(f"expected each of the classes 0 to {classes - 1}, found {sorted(set(y.tolist()))}")
    rows = np.ones(len(y)) if sample is None else np.asarray(sample, np.float64)
    largest = TOLERANCE / (c * len(y) * np.sqrt(classes * (x.shape[1] + 1)))  # entry of the gradient of the mean
    model = LogisticRegression(C=c, tol=largest, max_iter=iterations)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(x, y, rows)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    before = ((2 - len(model.coef_) if classes == 2 else 0, 0), (0, 0))
    losses = -model.predict_log_proba(x)[np.arange(len(y)), y]
    weight, bias = np.pad(model.coef_, before), np.pad(model.intercept_, before[0])
    return Fit(weight, bias, float(rows @ losses) / len(y), int(model.n_iter_[0]), converged)
