"""Logistic regression: the optimum of scikit-learn, on random and separable data, and a bound of the error."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from lmod_train.vision.logistic_regression import TOLERANCE, Fit, logistic_regression


def drawn(classes, apart, rows=120, width=30, seed=0):
    """Correlated features of classes whose means are `apart`; at 8 they are separable."""
    random = np.random.default_rng(seed)
    targets = np.arange(rows) % classes
    features = random.normal(size=(rows, width)) @ random.normal(size=(width, width))
    features += apart * random.normal(size=(classes, width))[targets] * features.std()
    return (features - features.mean(0)) / features.std(0), targets


def scikit_learn_s(features, targets, c, **options):
    return LogisticRegression(C=c, tol=1e-11, max_iter=50_000, **options).fit(features, targets)


def compare(fit, model, features):
    """Coefficients, intercepts and shares of both; two classes have one vector in scikit-learn."""
    two = len(fit.weight) == 2
    weight, bias = (fit.weight[1:], fit.bias[1:]) if two else (fit.weight, fit.bias)
    assert not two or not (fit.weight[0].any() or fit.bias[0])
    assert np.abs(weight - model.coef_).max() < 1e-4
    shift = 0 if two else (bias - model.intercept_).mean()  # intercepts are only determined up to a constant
    assert np.abs(bias - shift - model.intercept_).max() < 1e-3
    assert np.abs(softmax(features @ fit.weight.T + fit.bias, 1) - model.predict_proba(features)).max() < 1e-4


@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("apart", [0.0, 8.0], ids=["random", "separable"])
def test_it_is_scikit_learn_s(classes, apart, c):
    features, targets = drawn(classes, apart)
    fit = logistic_regression(features, targets, classes, c)
    assert fit.converged
    model = scikit_learn_s(features, targets, c)
    compare(fit, model, features)
    assert apart == 0 or model.score(features, targets) == 1, "separable"


@pytest.mark.parametrize("classes", [2, 3])
def test_with_more_features_than_rows(classes):
    features, targets = drawn(classes, 0.0, rows=20, width=60)
    fit = logistic_regression(features, targets, classes)
    compare(fit, scikit_learn_s(features, targets, 1.0), features)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_the_rows_are_scikit_learn_s(classes):
    features, targets = drawn(classes, 0.1)
    targets = np.minimum(targets, np.arange(len(targets)) % 7)
    counts = np.bincount(targets)
    sample = (len(targets) / (len(counts) * counts))[targets]
    fit = logistic_regression(features, targets, classes, 0.5, sample)
    compare(fit, scikit_learn_s(features, targets, 0.5, class_weight="balanced"), features)
    logs = log_softmax(features @ fit.weight.T + fit.bias, 1)[np.arange(len(targets)), targets]
    assert fit.loss == pytest.approx(-(sample * logs).mean())


def test_the_error_is_a_bound_of_the_distance_to_the_optimum_and_says_whether_it_has_converged():
    features, targets = drawn(3, 0.3)
    best = logistic_regression(features, targets, 3)
    for iterations in (1, 3, 10, 30):
        early = logistic_regression(features, targets, 3, iterations=iterations)
        distance = np.linalg.norm(early.weight - best.weight)
        assert early.iterations <= iterations and distance <= early.error + best.error
        assert early.converged == (early.error <= TOLERANCE * max(1, np.linalg.norm(early.weight)))
    assert not logistic_regression(features, targets, 3, iterations=3).converged


def test_a_large_norm_allows_a_larger_error():
    one, ten = np.ones((1, 1)), np.full((1, 1), 10.0)
    assert not Fit(one, one[0], 0.0, 2 * TOLERANCE, 1).converged and Fit(ten, one[0], 0.0, 2 * TOLERANCE, 1).converged


def test_the_order_of_the_rows_does_not_matter():
    features, targets = drawn(4, 0.2)
    order = np.random.default_rng(1).permutation(len(targets))
    one, other = (logistic_regression(features[o], targets[o], 4) for o in (slice(None), order))
    assert np.allclose(one.weight, other.weight, atol=2 * TOLERANCE)


@pytest.mark.parametrize(("targets", "classes"), [([0, 0], 2), ([0, 1], 3), ([0, 2], 2), ([0, 0], 1)])
def test_absent_and_unknown_classes_are_refused(targets, classes):
    with pytest.raises(ValueError, match=f"classes 0 to {classes - 1}"):
        logistic_regression([[1.0], [2.0]], targets, classes)
