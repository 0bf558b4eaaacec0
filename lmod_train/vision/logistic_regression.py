"""Logistic regression with an L2 penalty, fitted to convergence: the optimum that scikit-learn's has, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-4
"""Largest error of the coefficients: Euclidean distance to the optimum, relative to their norm if that is above 1."""

ITERATIONS = 10_000
"""Largest number of iterations of L-BFGS; a few hundred are usual."""


@dataclass(frozen=True)
class Fit:
    """A fitted logistic regression.

    Attributes:
        weight: Coefficients (classes, width); of two classes, those of the first are 0.
        bias: Intercepts (classes), likewise.
        loss: Mean cross-entropy over the rows in nats, weighted if the fit was, without the penalty.
        error: Upper bound of the distance of `weight` from the optimum: the norm of the gradient of the objective,
            which is strongly convex in the coefficients with constant 1.
        iterations: Number of iterations.
    """

    weight: Floats
    bias: Floats
    loss: float
    error: float
    iterations: int

    @property
    def converged(self) -> bool:
        """Whether the coefficients are as close to the optimum as `TOLERANCE` requires."""
        return self.error <= TOLERANCE * max(1.0, float(np.linalg.norm(self.weight)))


@dataclass(frozen=True)
class Objective:
    """Half the squared norm of the coefficients plus `c` times the sum of the losses, all divided by (`c` x rows).

    Attributes:
        features: Rows to fit (rows, width).
        targets: Class of each row, from 0.
        classes: Number of classes, from 2.
        c: Inverse strength of the penalty.
        sample: Weight of each row (rows).
    """

    features: Floats
    targets: npt.NDArray[np.int64]
    classes: int
    c: float
    sample: Floats

    @property
    def first(self) -> int:
        """First class with coefficients: two classes have one vector, of the second against the first."""
        return 1 if self.classes == 2 else 0

    def shaped(self, flat: Floats) -> Floats:
        """Return parameters as (classes with coefficients, width + 1), the intercept last."""
        return flat.reshape(self.classes - self.first, -1)

    def losses(self, own: Floats) -> tuple[float, Floats]:
        """Return the mean loss, and its derivatives by the logits (classes with coefficients, rows)."""
        rows = np.arange(len(self.targets))
        logits = np.zeros((self.classes, len(rows)))  # in this order, as sums over a short last axis are slow
        logits[self.first :] = own[:, :-1] @ self.features.T + own[:, -1:]
        logits -= logits.max(0)
        truth = logits[self.targets, rows]
        shares = np.exp(logits, out=logits)
        total = shares.sum(0)
        shares /= total
        shares[self.targets, rows] -= 1
        shares *= self.sample / len(rows)
        return float(self.sample @ (np.log(total) - truth)) / len(rows), shares[self.first :]

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """Return the value of the objective and its gradient."""
        own, penalty = self.shaped(flat), 1 / (self.c * len(self.targets))
        loss, slopes = self.losses(own)
        gradient = np.empty_like(own)
        gradient[:, :-1] = slopes @ self.features + penalty * own[:, :-1]
        gradient[:, -1] = slopes.sum(1)
        return loss + 0.5 * penalty * float(np.square(own[:, :-1]).sum()), gradient.ravel()


def logistic_regression(
    features: npt.ArrayLike,
    targets: npt.ArrayLike,
    classes: int,
    c: float = 1.0,
    sample: npt.ArrayLike | None = None,
    iterations: int = ITERATIONS,
) -> Fit:
    """Return the logistic regression of all rows, fitted by L-BFGS from 0 until it has converged, see `TOLERANCE`.

    The objective is scikit-learn's ``LogisticRegression``: ``0.5 * |w|^2 + c * sum of cross-entropies``, with
    intercepts that are not penalised; multinomial, and binomial for two classes. It has one optimum, so that neither a
    seed nor the order of the rows matters.

    References: Byrd et al. 1995 (L-BFGS-B, as in scipy and scikit-learn).

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
    from scipy.optimize import minimize  # takes long to import

    x, y = np.asarray(features, np.float64), np.asarray(targets, np.int64)
    if sorted(set(y.tolist())) != list(range(classes)) or classes < 2:
        raise ValueError(f"expected each of the classes 0 to {classes - 1}, found {sorted(set(y.tolist()))}")
    objective = Objective(x, y, classes, c, np.ones(len(y)) if sample is None else np.asarray(sample, np.float64))
    start = np.zeros((classes - objective.first) * (x.shape[1] + 1))
    aim = TOLERANCE / (c * len(y) * np.sqrt(start.size))  # then the norm of the gradient is at most TOLERANCE
    options = {"gtol": aim, "ftol": 0.0, "maxiter": iterations, "maxfun": 4 * iterations, "maxls": 50}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return _fit(objective, found)


def _fit(objective: Objective, found: Any) -> Fit:
    """Return the result of the optimisation, with a row for each class."""
    own, before = objective.shaped(found.x), ((objective.first, 0), (0, 0))
    error = float(np.linalg.norm(objective.shaped(found.jac))) * objective.c * len(objective.targets)
    whole = np.pad(own, before)
    return Fit(whole[:, :-1], whole[:, -1], objective.losses(own)[0], error, int(found.nit))
