"""Probes against scikit-learn's own pipeline; folds by patient; labels permuted by patient."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lmod_train.core.errors import BadArgument
from lmod_train.training.dissection.probes import STRENGTHS, best_of, divided, permuted, probe, reduced


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
