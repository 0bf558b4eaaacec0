"""What each item contributes to the headline score of its task."""

from __future__ import annotations

from collections.abc import Mapping

from lmod_train.scoring.items import Item
from lmod_train.scoring.region_scores import image_score
from lmod_train.scoring.text import words_of


def item_score(item: Item) -> float:
    """Return an item's contribution to the headline score: 1 or 0, or for regions the image's F1 (LMOD+).

    An answer in words to a question without choices is right if its words are those of the reference.

    Example:
        >>> item_score(Item("a", "answered", "NORMAL", "NORMAL"))
        1.0
        >>> item_score(Item("b", "answered", {1: "x"}, {1: "x", 2: "y"}))
        0.666...
    """
    if isinstance(item.truth, Mapping):
        return image_score(item.answer, item.truth).f1
    if not item.choices and isinstance(item.answer, str) and isinstance(item.truth, str):
        return float(words_of(item.answer) == words_of(item.truth))
    return float(item.answer == item.truth)
