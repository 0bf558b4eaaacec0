"""Questions about the quality of an image: their truth is that of one image, not that of the eye it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lmod_train.core.types import Need, Question, Record
from lmod_train.scoring.steps import STEPS, step_named
from lmod_train.tasks.filled import placeholders

QUALITY = STEPS[0]
"""Step of chains whose truth changes with the quality of the image: IQA."""

_Place = tuple[str, str, str]
"""Task, step and variant of a question about a sample."""


def stage_of(question: Question | Record) -> str:
    """Return the step of a question, by its own or its tag ``stage``, also under an alias; empty if it has none.

    Example:
        >>> stage_of(Question("chain", (), (), "", chain_step="qa"))
        'IQA'
    """
    return step_named(question.chain_step) or step_named(question.tags.get("stage", ""))


def without_quality(questions: Sequence[Question]) -> list[Question]:
    """Return the questions about a sample whose truth does not depend on the quality of its image.

    Those that needed one about the quality need it no more; one whose words hold the answer to it is left out, too.

    Args:
        questions: All questions of a task about one sample, of which some may be of the stage IQA.
    """
    return _without(questions, {_place(q) for q in questions if stage_of(q) == QUALITY})


def _without(questions: Sequence[Question], gone: set[_Place]) -> list[Question]:
    kept = [q for q in questions if _place(q) not in gone]
    holding = {_place(q) for q in kept if placeholders(q.messages) and any(_needed(q, n) in gone for n in q.needs)}
    if holding:
        return _without(kept, gone | holding)
    return [replace(q, needs=tuple(n for n in q.needs if _needed(q, n) not in gone)) for q in kept]


def _place(question: Question) -> _Place:
    return question.task, question.chain_step, question.variant


def _needed(question: Question, need: Need) -> _Place:
    return need.task or question.task, need.chain_step, need.variant
