"""The words of a reply that a task read its answer from."""

from __future__ import annotations

from dataclasses import replace

from lmod_train.core.types import Answer, Prediction, Unparsed
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.answer_spans import Span, taken


def spans_taken(task: Task, prediction: Prediction) -> list[Span]:
    """Return the spans of a reply that its answer was read from, in order; none where they are not known.

    Args:
        task: The task of the record.
        prediction: A reply with the answer that this task parsed.
    """

    def parse(text: str) -> Answer | Unparsed:
        return task.parse(replace(prediction.reply, reply=text), prediction.record)

    return taken(prediction.reply.reply, prediction.answer, prediction.record.choices, parse)
