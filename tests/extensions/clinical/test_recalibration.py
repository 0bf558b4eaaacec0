"""Recalibration on validation records, applied to test records: numbers, section, and what it may not depend on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from lmod_train.core.extension import named
from lmod_train.core.tables import Table
from lmod_train.extensions.clinical.chosen_on import class_probabilities
from lmod_train.extensions.clinical.recalibration import Recalibration, calibration_change, recalibrated
from lmod_train.report.figures.lines import lines
from lmod_train.report.results import read_results
from tests.report.operating import evaluate
from tests.scoring.make import item

CHOICES = ("yes", "no")


def items(seed, n=300, sharp=3.0, choices=CHOICES):
    """Items whose stored log-likelihoods are `sharp` times those from which their truths were drawn; two a patient."""
    rng, made = np.random.default_rng(seed), []
    for i in range(n):
        logs = rng.normal(size=len(choices))
        truth = choices[rng.choice(len(choices), p=softmax(logs))]
        kept = dict(zip(choices, (sharp * log_softmax(logs)).tolist(), strict=True))
        made.append(item(f"{i:04}", truth, truth, choices, group=f"p{i // 2}", likelihoods=kept))
    return made


def of(seed, **options):
    return class_probabilities(items(seed, **options), options.get("choices", CHOICES))


@pytest.mark.parametrize("choices", [CHOICES, ("a", "b", "c")])
def test_overconfident_probabilities_are_better_on_test_after_either_way(choices):
    validation, test = of(1, choices=choices, n=1500), of(2, choices=choices, n=1500)
    (_, stored), (named, tempered), (last, isotonic) = recalibrated([validation], [test])
    assert last == "isotonic" and float(named.removeprefix("temperature ")) == pytest.approx(3.0, abs=0.4)
    for probabilities in (tempered, isotonic):
        brier, ece, change = calibration_change("t", [test], probabilities)
        before, error, none = calibration_change("t", [test], stored)
        assert change.value == pytest.approx(brier.value - before.value) and none.value == 0
        assert change.low < change.value < change.high < 0
        assert ece.value < error.value / 2 and (ece.low, ece.high) == (None, None)
        assert brier.n == change.n == 1500 and brier.low < brier.value < brier.high


def test_the_isotonic_probabilities_of_test_are_those_of_scikit_learn():
    validation, test = of(1), of(2)
    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    fitted.fit(validation.probabilities[:, 0], validation.truths == 0)
    expected = fitted.predict(test.probabilities[:, 0])
    (own,) = dict(recalibrated([validation], [test]))["isotonic"]
    assert np.abs(own[:, 0] - expected).max() < 1e-9 and np.allclose(own.sum(axis=1), 1)


def test_truths_of_test_have_no_part_in_the_fit_and_those_of_validation_have():
    validation, test = of(1), of(2)
    turned = replace(test, truths=1 - test.truths)
    own, other = (dict(recalibrated([validation], [one])) for one in (test, turned))
    assert own.keys() == other.keys() and all(np.array_equal(own[how], other[how]) for how in own)
    wrong = dict(recalibrated([replace(validation, truths=1 - validation.truths)], [test]))
    assert not np.allclose(wrong["isotonic"], own["isotonic"])


def test_each_seed_has_a_fit_of_its_own_and_the_row_is_their_mean():
    validation, test = [of(1), of(1, sharp=0.5)], [of(2), of(2, sharp=0.5)]
    found = dict(recalibrated(validation, test))
    (named,) = (how for how in found if how.startswith("temperature"))
    low, high = map(float, named.removeprefix("temperature ").split(" to "))
    assert low < 1 < high
    brier, _, _ = calibration_change("t", test, found["isotonic"])
    each = [calibration_change("t", [t], [p])[0].value for t, p in zip(test, found["isotonic"], strict=True)]
    assert brier.value == pytest.approx(np.mean(each)) and brier.n == 300


def test_without_a_class_in_validation_there_is_no_curve_and_without_items_no_fit():
    validation, test = of(1), of(2)
    one = replace(validation, truths=np.zeros_like(validation.truths))
    assert [how.split()[0] for how, _ in recalibrated([one], [test])] == ["as", "temperature"]
    empty = class_probabilities([], CHOICES)
    assert [how for how, _ in recalibrated([empty], [test])] == ["as stored"]


def shown(*runs):
    """The rows of the table, and all parts."""
    found = list(Recalibration().parts(read_results(runs)))
    return [row for part in found if isinstance(part, Table) for row in lines(part)], found


def test_the_report_shows_before_and_after_and_on_what_it_was_fitted(tmp_path):
    rows, (note, _) = shown(evaluate(tmp_path / "ALL", ("val", "test"), n=120))
    assert "test records have no part in the fit" in " ".join(note.text.split())
    assert [r["probabilities"].split()[0] for r in rows] == ["as", "temperature", "isotonic"]
    assert [r["fitted on"] for r in rows] == ["", "same run: 120", "same run: 120"]
    assert {r["n"] for r in rows} == {120} and rows[0]["change of Brier"] is None
    for row in rows[1:]:
        assert row["change of Brier"] == pytest.approx(row["Brier"].value - rows[0]["Brier"].value)


def test_a_second_run_of_the_same_weights_serves_and_test_alone_shows_nothing(tmp_path):
    test, val = evaluate(tmp_path / "TEST", ("test",)), evaluate(tmp_path / "VAL", ("val",))
    assert shown(test) == ([], [])
    rows, _ = shown(test, val)
    assert {row["fitted on"] for row in rows} == {"", "cnn (VAL): 60"}
    other = evaluate(tmp_path / "OTHER", ("val",), weights="b" * 64)
    assert shown(test, other)[0] == []


def test_it_stands_behind_the_operating_points():
    from lmod_train.extensions.clinical import EXTENSION

    path = "lmod_train.extensions.clinical.recalibration.Recalibration"
    assert EXTENSION.sections[path] == "OperatingPoints" and named(path.replace(".Recal", ":Recal")) is Recalibration
