"""Replies in, predictions and scores out: the one path for every evaluation, live or of saved replies.

Pure: the evaluation callback and `rescore` both read and write the files around it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmod_train.errors import BadArgument
from lmod_train.tasks.base import Task
from lmod_train.types import Prediction, Record, Reply, Score, Unparsed


def judge(task: Task, records: Iterable[Record], replies: Mapping[str, Reply]) -> list[Prediction]:
    """Let a task read the replies to its own records.

    Args:
        task: Whose parser reads; records of other tasks are passed over.
        records: What was asked. A record id that comes twice (padding of a distributed sampler) counts once.
        replies: Record id -> the reply that counts.

    Returns:
        One prediction per answered record, in the order of the records. A record without a reply is absent: the run
        has not come to it yet. A reply that carries an error is `Unparsed("failed")`, whatever text came with it.
    """
    own = {r.id: r for r in records if r.task == task.name}
    predictions = []
    for record in own.values():
        reply = replies.get(record.id)
        if reply is None:
            continue
        failed = bool(reply.error) or reply.finish_reason == "error"
        answer = Unparsed("failed", reply.error) if failed else task.parse(reply, record)
        predictions.append(Prediction(record, reply, answer))
    return predictions


def scores_of(tasks: Iterable[Task], predictions: Iterable[Prediction]) -> list[Score]:
    """Return every figure of every task, tasks in the order given; a task without predictions gives none.

    Raises:
        BadArgument: There are predictions of a task that was not given; a figure must not go missing in silence.
    """
    by_task: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        by_task.setdefault(prediction.record.task, []).append(prediction)
    scores = [score for task in tasks for score in task.score(by_task.pop(task.name, []))]
    if by_task:
        raise BadArgument("tasks", sorted(by_task), "each task of the predictions among the tasks", "name it too")
    return scores


def newest(replies: Iterable[Reply]) -> dict[str, Reply]:
    """Return record id -> the reply of the highest checkpoint step; of equal steps the later one.

    Example:
        >>> newest([Reply("a", "late", step=9), Reply("a", "early", step=3)])["a"].reply
        'late'
    """
    chosen: dict[str, Reply] = {}
    for reply in replies:
        if reply.id not in chosen or reply.step >= chosen[reply.id].step:
            chosen[reply.id] = reply
    return chosen


def tasks_asked(records: Iterable[Record], arguments: Mapping[str, Mapping[str, Any]]) -> list[Task]:
    """Build the tasks that records were asked by, in the order of their first record.

    Args:
        records: Each names its task's class path.
        arguments: Class path -> constructor arguments; a class that is not named is built with its defaults.

    Raises:
        BadArgument: A class path leads nowhere, or to something that is not a task.
    """
    paths = dict.fromkeys(r.task_class for r in records)
    return [_task_class(path)(**arguments.get(path, {})) for path in paths]


def _task_class(path: str) -> type[Task]:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        cure = "install the package that defines it, or see `python -m lmod_train list tasks`"
        raise BadArgument("task_class", path, f"the class path of a task ({error})", cure) from error
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise BadArgument("task_class", path, "a subclass of Task", "see `python -m lmod_train list tasks`")
    return found


def task_arguments(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return class path -> constructor arguments of the tasks in a run's resolved configuration; {} where it has none.

    Example:
        >>> task_arguments({"data": {"tasks": [{"class_path": "a.B", "init_args": {"language": "zh"}}]}})
        {'a.B': {'language': 'zh'}}
    """
    data = config.get("data") or {}
    tasks: Sequence[Any] = (data.get("init_args") or data).get("tasks") or []
    return {t["class_path"]: t.get("init_args") or {} for t in tasks if isinstance(t, Mapping)}
