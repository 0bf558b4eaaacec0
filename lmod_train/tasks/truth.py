"""The true answers of predictions, as a task reads them from the reference replies."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from lmod_train.core.types import Answer, Prediction, Reply, Unparsed
from lmod_train.tasks.base import Task


def truth_of(task: Task) -> Callable[[Prediction], Answer | Unparsed]:
    """Return a function that reads the true answer of a prediction, each reference reply to a question only once.

    Questions of a task mostly have few reference replies, and parsing tens of thousands of them takes a minute.
    """
    known: dict[Hashable, Answer | Unparsed] = {}

    def truth(prediction: Prediction) -> Answer | Unparsed:
        record = prediction.record
        question = (record.answer, record.choices, record.messages, record.regions, record.language, record.variant)
        key = (*question, record.chain_step, tuple(sorted(record.tags.items())))
        if key not in known:
            known[key] = task.parse(Reply(record.id, record.answer), record)
        return known[key]

    return truth
