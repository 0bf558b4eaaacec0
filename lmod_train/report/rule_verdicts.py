"""Verdicts of rules on replies, for comparison with judges: the parser's, and by the words of open answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lmod_train.core.artifacts.run import CONTAINMENT, EXACT, PARSER
from lmod_train.core.types import Prediction, Reply
from lmod_train.scoring.items import Item, items_of
from lmod_train.scoring.text import contains, words_of
from lmod_train.tasks.base import Task


def _equal(reply: str, reference: str) -> bool:
    return words_of(reply) == words_of(reference)


WORD_RULES: Mapping[str, Callable[[str, str], bool]] = {EXACT: _equal, CONTAINMENT: contains}
"""Name of a rule on open answers -> whether a reply is right by it, given the reference answer."""


def rule_verdicts(task: Task, predictions: Sequence[Prediction]) -> dict[str, dict[str, bool]]:
    """Return rule -> record id -> whether the answer is right by it; rules without an answer to read are left out.

    `PARSER` compares answers to questions with choices or regions with the truth, `EXACT` and `CONTAINMENT` the words
    of open answers with those of the reference answer. Replies without an answer have no verdict.

    Args:
        task: The task.
        predictions: Its predictions.
    """
    closed = [p for p in predictions if p.record.choices or p.record.regions]
    open_ended = [p for p in predictions if not (p.record.choices or p.record.regions)]
    scored: list[Item] = [task.as_scored(item) for item in _answered(task, closed)]
    found = {PARSER: {item.id: item.answer == item.truth for item in scored if item.status == "answered"}}
    texts = [(i.id, i.answer, str(i.truth)) for i in _answered(task, open_ended)]
    for name, rule in WORD_RULES.items():
        found[name] = {id: rule(answer, truth) for id, answer, truth in texts if isinstance(answer, str)}
    return {name: verdicts for name, verdicts in found.items() if verdicts}


def _answered(task: Task, predictions: Sequence[Prediction]) -> list[Item]:
    items = items_of(predictions, lambda p: task.parse(Reply(p.record.id, p.record.answer), p.record))
    return [item for item in items if item.status == "answered"]
