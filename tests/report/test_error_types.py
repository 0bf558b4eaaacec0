"""Failures by record, as the page filters by them."""

from dataclasses import replace

from lmod_train.report.report import error_types, failures_by_record
from tests.tasks.failures.asked import prediction_of
from tests.tasks.failures.labelled import Labelled


def prediction(id, reply):
    found = prediction_of(Labelled("glaucoma", reply, frozenset(), "develop"))
    return replace(found, record=replace(found.record, id=id))


def test_only_records_with_a_failure_are_named():
    replies = {"a": "GLAUCOMA", "b": "GLAUCOMA; Explanation: thin rim.", "c": "</s>"}
    predictions = [prediction(id, reply) for id, reply in replies.items()]
    assert error_types(predictions) == {"a": ("no explanation",), "c": ("empty reply", "special tokens")}
    assert failures_by_record(predictions)["b"] == []
