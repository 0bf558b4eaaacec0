"""Failures of replies by record, for tables and for the filter of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lmod_train.core.types import Prediction
from lmod_train.core.vocabulary.error_types import TITLES
from lmod_train.tasks.failures.rules import Failure, failures_of


def failures_by_record(predictions: Iterable[Prediction]) -> dict[str, list[Failure]]:
    """Return record id -> the failures that rules find in its reply, also where there are none."""
    return {prediction.record.id: failures_of(prediction) for prediction in predictions}


def error_types(predictions: Iterable[Prediction]) -> Mapping[str, tuple[str, ...]]:
    """Return record id -> names of the failures that rules find in its reply; records without failure are absent.

    Example:
        >>> error_types([])
        {}
    """
    found = failures_by_record(predictions)
    return {id: tuple(TITLES[failure.rule] for failure in failures) for id, failures in found.items() if failures}
