"""Base class of the tasks that are answered by one of a few classes, the same for every question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from lmod_train.core.types import Prediction, Score
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task


class Closed(Task):
    """A task whose answers are scored as classes.

    Args:
        sources: Names of the sources to ask about; None asks about every sample that carries what the task needs.

    Attributes:
        positive: The class whose sensitivity and specificity are scored; None for none.
    """

    positive: ClassVar[str | None] = None

    def __init__(self, sources: list[str] | None = None) -> None:
        self.sources = sources

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, F1, the account and the baselines, each with n and interval."""
        items = [self.as_scored(item) for item in items_of(predictions, self.truth)]
        return classification_scores(self.name, items, self.classes, self.positive)
