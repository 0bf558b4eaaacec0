"""Probes against scikit-learn's own pipeline; folds by patient; labels permuted by patient."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from lmod_train.core.errors import BadArgument
from lmod_train.scoring import linear_probe
from lmod_train.scoring.linear_probe import STRENGTHS, best_of, coordinates, divided, permuted, probe, products_of


def drawn(n=60, width=300, classes=3, seed=0, patients=None):
    noise = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    features = noise.normal(size=(n, width))
    features[:, : classes * 4] += 1.5 * np.eye(classes)[truth].repeat(4, axis=1)
    groups = [f"p{i // 2 // classes}-{i % classes}" if patients == "two eyes" else f"p{i}" for i in range(n)]
    return features, truth, groups


def pipeline(c, width):
    """Return scikit-learn's classifier by its own solver; the strength is scaled by the number of features."""
    return LogisticRegression(C=c / width, class_weight="balanced", max_iter=50_000, tol=1e-6)


@pytest.mark.parametrize(
    ("width", "kind", "correlated"),
    [(20, np.float64, False), (300, np.float64, False), (300, np.float32, True)],
)
def test_a_probe_is_scikit_learns_behind_a_scaler_in_every_fold(width, kind, correlated):
    """The same strength is chosen, with the same loss, and the same is read with it."""
    features, truth, groups = drawn(width=width)
    if correlated:  # a few hidden values in all features, and a mean far from 0
        noise = np.random.default_rng(1)
        features += 5 * noise.normal(size=(60, 3)) @ noise.normal(size=(3, width)) + 100
    features, own = features.astype(kind), divided(truth, groups)
    found = probe(features, own, 3)
    for number, ((fit, read), inner) in enumerate(zip(own.folds, own.inner, strict=True)):
        scaler = StandardScaler().fit(features[fit].astype(float))
        x, y = scaler.transform(features[fit].astype(float)), truth[fit]
        losses = []
        for c in STRENGTHS:
            logs = [(pipeline(c, width).fit(x[a], y[a]).predict_log_proba(x[b]), y[b]) for a, b in inner]
            losses.append(np.mean([np.mean([-log[of == k, k].mean() for k in set(of)]) for log, of in logs]))
        assert found.loss[number] == pytest.approx(min(losses), abs=1e-3)
        best = pipeline(STRENGTHS[int(np.argmin(losses))], width).fit(x, y)
        expected = best.predict_proba(scaler.transform(features[read].astype(float)))
        assert found.probabilities[read] == pytest.approx(expected, abs=2e-3)
    assert correlated or (found.probabilities.argmax(1) == truth).mean() > 0.6
    assert found.probabilities.sum(1) == pytest.approx(np.ones(60))


def test_a_fit_that_float32_does_not_end_is_ended_in_float64(monkeypatch):
    features, truth, groups = drawn(n=24, width=40, classes=2)
    own, rounded = divided(truth, groups), features.astype(np.float32)
    monkeypatch.setattr(linear_probe, "TOLERANCE", 1e-10)
    exact = probe(rounded.astype(np.float64), own, 2).probabilities
    assert probe(rounded, own, 2).probabilities == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_fit_that_does_not_converge_is_not_read(kind, monkeypatch):
    features, truth, groups = drawn(n=24, width=40)
    monkeypatch.setattr(linear_probe, "TOLERANCE", 0.0)
    with pytest.raises(UserWarning, match=r"Line Search failed|failed to converge"):
        probe(features.astype(kind), divided(truth, groups), 3)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_constant_features_far_from_zero_are_left_out_in_every_type(kind):
    """A mean that is rounded in the features' type must not make a feature of its rounding."""
    constant = np.full((60, 5), 1000.1).astype(kind)
    assert not products_of(constant.astype(np.float32), np.arange(40)).any()
    features, truth, groups = drawn()
    own = divided(truth, groups)
    found = probe(features.astype(kind), own, 3).probabilities
    assert found == pytest.approx(probe(features.astype(kind).astype(float), own, 3).probabilities, abs=1e-3)


@pytest.mark.parametrize("width", [20, 300, 5000])
def test_coordinates_keep_all_products(width):
    features, _, _ = drawn(width=width)
    fit, rest = np.arange(40), np.arange(40, 60)
    fitted, read = coordinates(products_of(features, fit), fit, rest)
    whole = StandardScaler().fit(features[fit])
    a, b = (whole.transform(features[rows]) / np.sqrt(width) for rows in (fit, rest))
    assert fitted.shape[1] == min(width, 39), "the rank of centred features"
    assert fitted @ fitted.T == pytest.approx(a @ a.T) and read @ fitted.T == pytest.approx(b @ a.T)


def test_constant_features_read_nothing_and_do_not_fail():
    _, truth, groups = drawn()
    own = divided(truth, groups)
    found = probe(np.zeros((60, 300)), own, 3).probabilities
    assert found == pytest.approx(np.full((60, 3), 1 / 3), abs=1e-6)
    with_constants = np.hstack([np.full((60, 300), 1e6), drawn()[0]])  # as if there were half as many in each
    alone, mixed = (probe(features, own, 3).probabilities.argmax(1) for features in (drawn()[0], with_constants))
    assert (mixed == truth).mean() == pytest.approx((alone == truth).mean(), abs=0.1) and (mixed == truth).mean() > 0.6


def test_no_patient_is_fitted_and_read():
    _, truth, groups = drawn(patients="two eyes")
    own = divided(truth, groups)
    assert sorted(i for _, read in own.folds for i in read) == list(range(60))
    for (fit, read), inner in zip(own.folds, own.inner, strict=True):
        assert not set(own.groups[fit]) & set(own.groups[read])
        assert all(not set(own.groups[fit][a]) & set(own.groups[fit][b]) for a, b in inner)


def test_labels_of_patients_alone_are_not_read():
    """Features that tell patients apart, labels by patient: a probe that saw a patient's other eye would be right."""
    noise = np.random.default_rng(0)
    patient = np.repeat(np.arange(40), 3)
    features = noise.normal(size=(40, 200))[patient] + 0.01 * noise.normal(size=(120, 200))
    truth = noise.permutation(np.arange(40) % 2)[patient]
    found = probe(features, divided(truth, [f"p{p}" for p in patient]), 2).probabilities.argmax(1)
    assert abs((found == truth).mean() - 0.5) < 0.2


def test_permuted_labels_stay_with_patients_and_cannot_be_read():
    features, truth, groups = drawn(n=120, patients="two eyes")
    own = divided(truth, groups)
    mixed = permuted(own, 1)
    assert sorted(mixed.truth) == sorted(truth) and (mixed.truth != truth).any()
    assert all(len(set(mixed.truth[own.groups == g])) == len(set(truth[own.groups == g])) for g in set(groups))
    assert (probe(features, mixed, 3).probabilities.argmax(1) == mixed.truth).mean() < 0.6


def test_the_best_is_chosen_where_it_is_not_read():
    features, truth, groups = drawn()
    own = divided(truth, groups)
    noise = np.random.default_rng(1).normal(size=features.shape)
    both = [probe(noise, own, 3), probe(features, own, 3)]
    best, chosen = best_of(both, own)
    assert chosen == [1] * len(own.folds) and np.array_equal(best.probabilities, both[1].probabilities)


@pytest.mark.parametrize(("truth", "said"), [([0] * 20, "1 classes"), ([0] * 17 + [1] * 3, "3 patients")])
def test_too_few_patients_are_refused(truth, said):
    with pytest.raises(BadArgument, match=said):
        divided(np.array(truth), [f"p{i}" for i in range(20)])


def test_four_patients_of_a_class_are_enough():
    truth = np.array([0] * 16 + [1] * 4)
    own = divided(truth, [f"p{i}" for i in range(20)])
    assert len(own.folds) == 2
    features = np.random.default_rng(0).normal(size=(20, 30)) + 3 * truth[:, None]
    assert (probe(features, own, 2).probabilities.argmax(1) == truth).all()


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_every_fold_is_fitted_on_every_class_however_many_records_a_patient_has(seed):
    """Patients of one to twenty records each, of one class: none is too large for the others to be read."""
    noise = np.random.default_rng(seed)
    classes = int(noise.integers(2, 5))
    held = np.concatenate([np.arange(4 * classes) % classes, np.zeros(noise.integers(20), int)])
    patient = np.repeat(np.arange(len(held)), noise.choice([1, 1, 2, 8, 20], len(held)))
    truth = held[patient]
    own = divided(truth, [f"p{p}" for p in patient])
    assert sorted(i for _, read in own.folds for i in read) == list(range(len(truth)))
    for (fit, _), inner in zip(own.folds, own.inner, strict=True):
        assert set(truth[fit]) == set(range(classes))
        assert all(set(truth[fit][a]) == set(range(classes)) and len(b) for a, b in inner)


def test_a_patient_who_holds_nearly_all_of_a_class_is_refused_or_read_without_a_crash():
    patients = ["all", "all", "all", "all", *(f"p{i}" for i in range(8)), *(f"q{i}" for i in range(3))]
    truth = np.array([0, 1, 0, 1, *([1] * 8), *([0] * 3)])
    own = divided(truth, patients)
    assert probe(np.eye(15), own, 2).probabilities.shape == (15, 2)


@pytest.mark.parametrize("scale", [0.0, 1e-6])
def test_features_that_hold_nothing_are_at_chance_though_classes_and_patients_are_uneven(scale):
    """A constant answer of a fold that followed its own share of classes would be above or below chance by luck."""
    noise = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), noise.choice([1, 2, 6], 60))
    truth = (np.arange(60) % 5 == 0).astype(int)[patient]
    read = probe(scale * noise.normal(size=(len(truth), 40)) + 1, divided(truth, [f"p{p}" for p in patient]), 2)
    recalls = [np.mean(read.probabilities.argmax(1)[truth == c] == c) for c in (0, 1)]
    assert np.mean(recalls) == pytest.approx(0.5, abs=0.15 if scale else 1e-12)
