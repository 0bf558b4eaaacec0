"""Both confidences of planted answers against scikit-learn."""

import random

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from lmod_train.extensions.xpcr.results import (
    at_stage,
    both,
    chain_runs,
    given,
    reliability_rows,
    scores_at,
    selective_rows,
)
from lmod_train.report.figures.curves import LIKELIHOOD, STATED
from tests.report.chained import MISSING, chain_run, planted, results_of


def drawn(n=40, seed=0, likelihoods=True):
    """Likelihoods follow the outcome, stated confidences do not; a fifth of the answers have only one of both."""
    rng = random.Random(seed)

    def held():
        right = rng.random() < 0.6
        stated = None if rng.random() < 0.1 else rng.choice([0.7, 0.8, 0.9, 1.0])
        sure = min(0.99, max(0.26, rng.gauss(0.75 if right else 0.45, 0.15)))
        return (right if rng.random() > 0.05 else MISSING, stated, sure if likelihoods and rng.random() > 0.1 else None)

    return [[held() for _ in range(6)] for _ in range(n)]


def the_run(rows):
    (run,) = chain_runs(results_of(chain_run("one", planted(rows))), "chain")
    return run


def test_areas_and_difference_on_the_answers_that_have_both():
    rows = drawn()
    held = [h for row in rows for h in row if h[0] is not MISSING and None not in h[1:]]
    right, stated, sure = (np.array([h[i] for h in held]) for i in range(3))
    expected = roc_auc_score(right, stated), roc_auc_score(right, sure)
    accuracy, areas, difference = both(the_run(rows).items)
    assert areas == pytest.approx(list(expected), abs=1e-6)
    assert difference.n == len(held) and accuracy == pytest.approx(right.mean())
    assert difference.value == pytest.approx(expected[0] - expected[1])
    assert difference.low < difference.value < difference.high < 0


def test_nothing_to_compare_without_likelihoods_or_without_errors():
    assert both(the_run(drawn(4, likelihoods=False)).items) is None
    assert both(the_run([[(True, 0.9, 0.9)] * 6] * 3).items) is None
    run = the_run(drawn(4, likelihoods=False))
    assert given(run, STATED) and not given(run, LIKELIHOOD)


def test_bins_hold_every_answer_once_and_give_the_error():
    rows = drawn()
    run = the_run(rows)
    bins = [row for row in reliability_rows(run, "LC") if row[1] == STATED]
    held = [(h[1], h[0] is True) for row in rows for h in [row[2]] if h[1] is not None]
    assert sum(row[6] for row in bins) == bins[0][2] == len(held)
    for *_, low, high, n, mean, share in bins:
        own = [(c, right) for c, right in held if low < c <= high + 1e-9]
        assert n == len(own) and (not own or (mean, share) == pytest.approx(tuple(np.mean(own, axis=0))))
    error = sum(row[6] * abs(row[8] - row[7]) for row in bins if row[6]) / len(held)
    assert bins[0][3] == pytest.approx(error) == scores_at(run, "LC", STATED)["ece_10"].value


def test_accuracy_against_coverage_ends_at_the_accuracy():
    run = the_run(drawn())
    points = list(selective_rows(run, LIKELIHOOD))
    items = [item for item in at_stage(run, "all") if item.likelihoods and item.status == "answered"]
    assert points[-1][3:] == [1.0, pytest.approx(np.mean([item.answer == item.truth for item in items]))]
    assert points[0][2].n == len(items) and points[0][2].value > points[-1][4] + 0.1
    assert [row[2] for row in points[1:]] == [None] * (len(points) - 1)
    assert list(selective_rows(the_run([[True] * 6]), STATED)) == []
