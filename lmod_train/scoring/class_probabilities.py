"""The probabilities of all classes for the items of one run, with their truths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.classification import label_of
from lmod_train.scoring.intervals import Floats
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import probabilities_of


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """Items with likelihoods of all choices.

    Attributes:
        ids: Record id of each item.
        groups: Patient of each item.
        truths: Index of the true class, (items).
        probabilities: Probability of each class, (items, classes), each row summing to 1.
    """

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    truths: NDArray[np.intp]
    probabilities: Floats

    def of_class(self, place: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the probability of one class, and whether it is the true one, each (items)."""
        return self.probabilities[:, place], self.truths == place


def class_probabilities(items: Sequence[Item], choices: Sequence[str]) -> ClassProbabilities:
    """Return the probabilities and truths of the items that have likelihoods of all choices; of none, empty arrays.

    Args:
        items: Items of one run, in any order.
        choices: The classes, the truths among them.

    Raises:
        ValueError: A truth is not among `choices`.

    Example:
        >>> sure = Item("a", "answered", "x", "y", likelihoods={"x": 0.0, "y": 0.0}, group="p")
        >>> found = class_probabilities([sure, Item("b", "answered", "x", "x")], ("x", "y"))
        >>> found.ids, found.truths, found.probabilities
        (('a',), array([1]), array([[0.5, 0.5]]))
    """
    rows, probabilities = probabilities_of(items, choices)
    own = [items[row] for row in rows]
    truths = np.array([list(choices).index(label_of(item.truth)) for item in own], dtype=np.intp)
    return ClassProbabilities(tuple(i.id for i in own), tuple(i.group for i in own), truths, probabilities)


def of_runs(runs: Sequence[Sequence[Item]], choices: Sequence[str]) -> list[ClassProbabilities]:
    """Return the probabilities of several runs on the same items; an empty list if the items differ, or there are none.

    Args:
        runs: Items of each run, in the same order.
        choices: The classes.
    """
    found = [class_probabilities(items, choices) for items in runs]
    same = bool(found) and bool(found[0].ids) and all(own.ids == found[0].ids for own in found)
    return found if same else []
