"""Which choice is right: what a record's own task reads in its reference reply."""

from __future__ import annotations

from lmod_train.errors import BadArgument
from lmod_train.tasks.base import Task
from lmod_train.tasks.judging import tasks_asked
from lmod_train.types import Record, Reply


class Truths:
    """Reads the right choice of records; each task is built once, with its defaults (parsing needs no more)."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task | None] = {}

    def of(self, record: Record) -> str:
        """Return the choice that is right; empty where the answer is none of the choices (regions, numbers, free text).

        Also empty where the task's class cannot be found or built on this machine: its answers are exported as text.
        """
        task = self._task(record)
        if task is None or not record.choices or record.regions:
            return ""
        answer = task.parse(Reply(record.id, record.answer), record)
        word = f"{answer:g}" if isinstance(answer, int | float) else answer
        return word if isinstance(word, str) and word in record.choices else ""

    def _task(self, record: Record) -> Task | None:
        if record.task_class not in self._tasks:
            try:
                (self._tasks[record.task_class],) = tasks_asked([record], {})
            except (BadArgument, TypeError):
                self._tasks[record.task_class] = None
        return self._tasks[record.task_class]
