"""Answers and outcomes in words, as pages show them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lmod_train.core.types import Answer, Unparsed
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.tasks.display_names import REASONS

OUTCOMES = ("right", "partly right", "wrong", "unparsed", "refused", "truncated", "failed")
"""Outcomes of a prediction, in the order of filters."""


def outcome_of(item: Item) -> str:
    """Return the outcome of an item, one of `OUTCOMES`; an image of which some regions are right is partly right.

    Example:
        >>> outcome_of(Item("a", "answered", "x", "x")), outcome_of(Item("a", "answered", {1: "a"}, {1: "a", 2: "b"}))
        ('right', 'partly right')
    """
    if item.status != "answered":
        return item.status
    score = item_score(item)
    return "right" if score == 1 else "partly right" if score else "wrong"


def answer_text(answer: Answer | Unparsed) -> str:
    """Return an answer as text; without one, the reason.

    Example:
        >>> answer_text({2: "iris", 1: "lens"}), answer_text(Unparsed("ambiguous", "1 or 2")), answer_text(0.5)
        ('1: lens; 2: iris', 'none (more than one answer: 1 or 2)', '0.5')
    """
    if isinstance(answer, Unparsed):
        return f"none ({reason_text(answer)})"
    if isinstance(answer, Mapping):
        return "; ".join(f"{region}: {structure}" for region, structure in sorted(answer.items()))
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, float) else answer


def reason_text(unparsed: Unparsed) -> str:
    """Return why there is no answer, with what was found instead of one."""
    return ": ".join(filter(None, (REASONS[unparsed.reason], unparsed.detail)))
