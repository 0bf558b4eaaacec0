"""Which replies of a run are judged, and the text of them that a judge is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.types import Prediction, Record
from lmod_train.scoring.items import items_of, wrong_ids
from lmod_train.scoring.languages import pair_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.bilingual import bare_question
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.verdicts import given


def is_open(record: Record) -> bool:
    """Return whether a question is open-ended: it has no choices and no regions, so that its answer is free text."""
    return not record.choices and not record.regions


def to_judge(predictions: Sequence[Prediction], names: Sequence[str]) -> list[Prediction]:
    """Return the predictions of the named tasks; if none is named, of those with open-ended questions.

    Raises:
        BadArgument: A name is not that of a task of the run, no question is open-ended, or no reply can be judged.
    """
    known = sorted({p.record.task for p in predictions})
    if unknown := [name for name in names if name not in known]:
        cure = did_you_mean("--tasks", unknown, known, "name one of them")
        raise BadArgument("--tasks", ",".join(unknown), f"tasks of the run: {', '.join(known)}", cure)
    chosen = [p for p in predictions if (p.record.task in names if names else is_open(p.record))]
    if not chosen:
        expected = f"names of tasks, as no question of the run is open-ended (its tasks: {', '.join(known)})"
        raise BadArgument("--tasks", ",".join(names), expected, f"e.g. `--tasks {known[0]}`" if known else "name a run")
    if all(given(p) is None for p in chosen):
        expected = "replies to judge; all failed, were refused or cut off, or are empty"
        raise BadArgument("--tasks", ",".join(names), expected, "name other tasks, or another run")
    return chosen


def question_of(record: Record) -> str:
    """Return the words of a question as a judge is shown them: of a conversation all turns, and no image.

    Of the prompts of OphthalWeChat only the question itself is left, as its judge compares answers to that.
    """
    return bare_question(question_text(record.messages))


def in_any_language(record: Record) -> str:
    """Return what the ids of a question's records share in both languages; the id of a question in one language."""
    return pair_of(record.id) or record.id


def drawn(predictions: Sequence[Prediction], count: int) -> list[Prediction]:
    """Return the predictions of `count` questions of each task, drawn by the SHA-256 of their ids; 0 for all.

    A question in two languages is drawn in both. A larger count adds to the questions of a smaller one.
    """
    by_task: dict[str, set[str]] = {}
    for prediction in predictions:
        by_task.setdefault(prediction.record.task, set()).add(in_any_language(prediction.record))
    orders = [sorted(some, key=lambda id: hashlib.sha256(id.encode()).digest()) for some in by_task.values()]
    kept = {id for order in orders for id in (order[:count] if count else order)}
    return [p for p in predictions if in_any_language(p.record) in kept]


def wrong_of_each(predictions: Sequence[Prediction], tasks: Iterable[Task], count: int) -> list[Prediction]:
    """Return the predictions of `count` wrong replies of each task (`wrong_ids`), in their order.

    Whether an open answer is wrong is for a judge to say: there are none of these.

    Raises:
        BadArgument: No reply is wrong.
    """
    kept: set[str] = set()
    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name and not is_open(p.record)]
        kept.update(wrong_ids(map(task.as_scored, items_of(own, task.truth)), count))
    if not kept:
        raise BadArgument(
            "--wrong", count, "wrong replies to the named tasks, of those with choices", "leave it out for all"
        )
    return [p for p in predictions if p.record.id in kept]
