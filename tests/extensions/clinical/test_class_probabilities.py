"""Probabilities and truths of the items with likelihoods."""

import numpy as np
import pytest

from lmod_train.extensions.clinical.chosen_on import class_probabilities, of_runs
from tests.scoring.make import item

CHOICES = ("a", "b")


def sure(name, truth="a", **likelihoods):
    return item(name, truth, truth, CHOICES, group=f"p{name}", likelihoods=likelihoods)


def test_items_without_likelihoods_are_left_out_with_their_truths_and_patients():
    items = [sure("1", "b", a=0.0, b=np.log(3)), sure("2", a=0.0), sure("3"), sure("4", "a", a=0.0, b=0.0)]
    found = class_probabilities(items, CHOICES)
    assert (found.ids, found.groups, found.truths.tolist()) == (("1", "4"), ("p1", "p4"), [1, 0])
    assert found.probabilities == pytest.approx(np.array([[0.25, 0.75], [0.5, 0.5]]))
    probabilities, true = found.of_class(1)
    assert probabilities == pytest.approx([0.75, 0.5]) and true.tolist() == [True, False]


def test_no_items_are_empty_and_a_truth_must_be_a_choice():
    assert class_probabilities([], CHOICES).probabilities.shape == (0, 2)
    with pytest.raises(ValueError, match="c"):
        class_probabilities([sure("1", "c", a=0.0, b=0.0)], CHOICES)


def test_runs_on_other_items_have_none():
    run = [sure("1", a=0.0, b=0.0), sure("2", a=0.0, b=1.0)]
    assert len(of_runs([run, run], CHOICES)) == 2
    assert of_runs([run, run[:1]], CHOICES) == of_runs([run, [run[0], sure("2")]], CHOICES) == []
    assert of_runs([run, run[::-1]], CHOICES) == of_runs([], CHOICES) == of_runs([[]], CHOICES) == []
