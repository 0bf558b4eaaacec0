"""Probes against scikit-learn's own pipeline; folds by patient; labels permuted by patient."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.dissection.callback import STRENGTHS, best_of, divided, permuted, probe, reduced


def drawn(n=60, width=300, classes=3, seed=0, patients=None):
    noise = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    features = noise.normal(size=(n, width))
    features[:, : classes * 4] += 1.5 * np.eye(classes)[truth].repeat(4, axis=1)
    groups = [f"p{i // 2 // classes}-{i % classes}" if patients == "two eyes" else f"p{i}" for i in range(n)]
    return features, truth, groups


@pytest.mark.parametrize("width", [20, 300])
def test_a_probe_is_scikit_learns_behind_a_scaler_in_every_fold(width):
    features, truth, groups = drawn(width=width)
    own = divided(truth, groups)
    found = probe(features, own, 3)
    for fit, read in own.folds:
        expected = []
        for c in STRENGTHS:  # the strength is scaled by the number of features
            model = make_pipeline(
                StandardScaler(), LogisticRegression(C=c / width, class_weight="balanced", max_iter=50_000, tol=1e-8)
            )
            expected.append(model.fit(features[fit], truth[fit]).predict_proba(features[read]))
        nearest = min(np.abs(e - found.probabilities[read]).max() for e in expected)
        assert nearest < 2e-3
    assert (found.probabilities.argmax(1) == truth).mean() > 0.6
    assert found.probabilities.sum(1) == pytest.approx(np.ones(60))


def test_reduction_keeps_all_products():
    features, _, _ = drawn()
    fitted, read = reduced(features[:40], features[40:])
    whole = StandardScaler().fit(features[:40])
    a, b = (whole.transform(part) / np.sqrt(300) for part in (features[:40], features[40:]))
    assert (
        fitted.shape[1] < 40
        and fitted @ fitted.T == pytest.approx(a @ a.T)
        and read @ fitted.T == pytest.approx(b @ a.T)
    )


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
