"""Precision and recall against counts by hand, scikit-learn and the exact binomial interval."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import precision_score, recall_score

from scripts.benchmarks.error_rules import detection_scores


def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(50):
        found, labelled = rng.random((2, 40)) < rng.random((2, 1))
        scores = detection_scores("r", list(found), list(labelled), [str(i) for i in range(40)])
        wanted = (precision_score, recall_score)
        for score, reference, held in zip(scores, wanted, (found, labelled), strict=True):
            if held.any():
                assert score.value == pytest.approx(reference(labelled, found))
                assert score.n == held.sum()
            else:
                assert (score.n, score.value) == (0, None)


def test_a_perfect_rule_has_the_exact_interval_of_independent_items():
    precision, recall = detection_scores("r", [True] * 30, [True] * 30, [str(i) for i in range(30)])
    exact = binomtest(30, 30).proportion_ci(method="exact")
    assert (precision.low, precision.high) == pytest.approx((exact.low, exact.high))
    assert recall == precision.__class__("", "r", "recall", 30, 1.0, precision.low, precision.high)


def test_replies_of_one_patient_widen_the_interval():
    found, labelled = [True] * 40, [True, True, True, False] * 10
    alone, _ = detection_scores("r", found, labelled, [str(i) for i in range(40)])
    clustered, _ = detection_scores("r", found, sorted(labelled), [str(i // 10) for i in range(40)])
    assert clustered.value == alone.value == 0.75
    assert clustered.low < alone.low and clustered.high > alone.high
