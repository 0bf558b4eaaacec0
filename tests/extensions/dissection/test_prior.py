"""Biases of choices reach what all thresholds reach, and change nothing where nothing is gained."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from lmod_train.extensions.dissection.prior import prior_biases


def reached(logits, truth, biases):
    return balanced_accuracy_score(truth, (logits + biases).argmax(1))


def brute(logits, truth):
    """The best balanced accuracy over all cells into which the records divide the plane of biases."""
    ends = logits[:, 0] - logits[:, 1]
    if logits.shape[1] == 3:  # the lines of third against first and second cross at these too
        third = (logits[:, :1] - logits[:, 2:]) + (logits[:, 2] - logits[:, 1])[None]
        firsts = between(np.concatenate([ends, third.ravel()]))
        return max(best_of_third(logits + np.array([0, first, 0]), truth) for first in firsts)
    return max(reached(logits, truth, np.array([0, b])) for b in between(ends))


def between(ends):
    ends = np.unique(np.round(ends, 9))
    return np.concatenate([[ends[0] - 1], (ends[1:] + ends[:-1]) / 2, [ends[-1] + 1]])


def best_of_third(logits, truth):
    biased = logits[:, :, None] + np.eye(3)[2][None, :, None] * between(logits[:, :2].max(1) - logits[:, 2])
    right = biased.argmax(1) == truth[:, None]
    return np.mean([right[truth == c].mean(0) for c in range(3)], axis=0).max()


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["plain", "biased", "ties", "one answer"])
def test_biases_reach_what_all_thresholds_reach(classes, kind):
    for seed in (0, 6, 9, 21, 23):  # from one start, several of them end below the best
        noise = np.random.default_rng(seed)
        truth = noise.permutation(np.arange(16 if classes == 3 else 40) % classes)
        logits = noise.normal(size=(len(truth), classes)) + 1.2 * np.eye(classes)[truth]
        logits += {"plain": 0, "biased": np.arange(classes) * 2.0, "ties": 0, "one answer": np.eye(classes)[-1] * 9}[
            kind
        ]
        logits = np.round(logits) if kind == "ties" else logits
        biases = prior_biases(logits, truth)
        assert biases[0] == 0 and reached(logits, truth, biases) == pytest.approx(brute(logits, truth))


@settings(max_examples=30)
@given(st.integers(2, 5), st.integers(0, 99))
def test_biases_never_make_it_worse_and_stay_0_where_nothing_is_gained(classes, seed):
    noise = np.random.default_rng(seed)
    truth = np.arange(20) % classes
    logits = np.round(noise.normal(size=(20, classes)))
    biases = prior_biases(logits, truth)
    assert reached(logits, truth, biases) >= reached(logits, truth, np.zeros(classes)) - 1e-12
    assert not prior_biases(np.eye(classes)[truth], truth).any()
    assert not prior_biases(np.zeros((20, classes)), truth).any(), "equal likelihoods give nothing away"
