"""Logistic regression: an optimum by its own gradient, on random and separable data, and when it has converged."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from lmod_train.models.vision.logistic_regression import TOLERANCE, logistic_regression


def drawn(classes, apart, rows=120, width=30, seed=0):
    """Correlated features of classes whose means are `apart`; at 8 they are separable."""
    random = np.random.default_rng(seed)
    targets = np.arange(rows) % classes
    features = random.normal(size=(rows, width)) @ random.normal(size=(width, width))
    features += apart * random.normal(size=(classes, width))[targets] * features.std()
    return (features - features.mean(0)) / features.std(0), targets


def distance(fit, features, targets, c, sample=None):
    """Bound of the distance to the optimum: the norm of the gradient of 0.5 |w|^2 + c * losses, by the formula."""
    shares = softmax(features @ fit.weight.T + fit.bias, 1)
    slopes = (shares - np.eye(len(fit.weight))[targets]) * (1 if sample is None else sample[:, None]) / len(targets)
    by_weight = slopes.T @ features + fit.weight / (c * len(targets))
    first = 1 if len(fit.weight) == 2 else 0  # two classes have one vector, of the second
    return np.hypot(np.linalg.norm(by_weight[first:]), np.linalg.norm(slopes.sum(0)[first:])) * c * len(targets)


@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("apart", [0.0, 8.0], ids=["random", "separable"])
def test_no_derivative_is_left_at_the_optimum(classes, apart, c):
    features, targets = drawn(classes, apart)
    fit = logistic_regression(features, targets, classes, c)
    assert fit.converged
    assert distance(fit, features, targets, c) < 2 * TOLERANCE * max(1, np.linalg.norm(fit.weight))
    assert apart == 0 or ((features @ fit.weight.T + fit.bias).argmax(1) == targets).all(), "separable"
    assert classes > 2 or not (fit.weight[0].any() or fit.bias[0])


@pytest.mark.parametrize("classes", [2, 3])
def test_with_more_features_than_rows(classes):
    features, targets = drawn(classes, 0.0, rows=20, width=60)
    fit = logistic_regression(features, targets, classes)
    assert fit.converged and distance(fit, features, targets, 1.0) < 2 * TOLERANCE


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_the_rows_count(classes):
    features, targets = drawn(classes, 0.1)
    targets = np.minimum(targets, np.arange(len(targets)) % 7)
    counts = np.bincount(targets)
    sample = (len(targets) / (len(counts) * counts))[targets]
    fit = logistic_regression(features, targets, classes, 0.5, sample)
    assert distance(fit, features, targets, 0.5, sample) < 2 * TOLERANCE < distance(fit, features, targets, 0.5)
    balanced = LogisticRegression(C=0.5, tol=1e-9, max_iter=5000, class_weight="balanced").fit(features, targets)
    shares = softmax(features @ fit.weight.T + fit.bias, 1)
    assert np.abs(shares - balanced.predict_proba(features)).max() < 1e-5
    logs = log_softmax(features @ fit.weight.T + fit.bias, 1)[np.arange(len(targets)), targets]
    assert fit.loss == pytest.approx(-(sample * logs).mean())


def test_a_fit_that_was_stopped_early_says_so():
    features, targets = drawn(3, 0.3)
    early = logistic_regression(features, targets, 3, iterations=3)
    assert early.iterations == 3 and not early.converged and distance(early, features, targets, 1.0) > 0.1
    assert logistic_regression(features, targets, 3).converged


def test_the_order_of_the_rows_does_not_matter():
    features, targets = drawn(4, 0.2)
    order = np.random.default_rng(1).permutation(len(targets))
    one, other = (logistic_regression(features[o], targets[o], 4) for o in (slice(None), order))
    assert np.allclose(one.weight, other.weight, atol=2 * TOLERANCE)


@pytest.mark.parametrize(("targets", "classes"), [([0, 0], 2), ([0, 1], 3), ([0, 2], 2), ([0, 0], 1)])
def test_absent_and_unknown_classes_are_refused(targets, classes):
    with pytest.raises(ValueError, match=f"classes 0 to {classes - 1}"):
        logistic_regression([[1.0], [2.0]], targets, classes)
