"""Which choice is right: what a record's own task reads in its reference reply."""

from __future__ import annotations

from lmod_train.core.errors import LmodError, Untrusted
from lmod_train.core.types import Record, Reply
from lmod_train.data.formats.lmms_eval_task import named_choice
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import NOTHING_ELSE, tasks_asked
from lmod_train.tasks.trust import Trust


class Truths:
    """Reads the right choice of records.

    A task is built once, with its defaults. One that cannot be built so (it needs arguments, or there is nothing of its
    name on this machine) leaves the reference reply to `named_choice`, which reads only what names exactly one choice.

    Args:
        trust: Whose classes may be imported beside this package's; the records of another raise `Untrusted`.
    """

    def __init__(self, trust: Trust = NOTHING_ELSE) -> None:
        self._trust = trust
        self._tasks: dict[tuple[str, str], Task | None] = {}

    def of(self, record: Record) -> str:
        """Return the choice that is right; empty where the answer is none of them (regions, numbers, free text)."""
        if not record.choices or record.regions:
            return ""
        task = self._task(record)
        answer = task.parse(Reply(record.id, record.answer), record) if task else None
        word = f"{answer:g}" if isinstance(answer, int | float) else answer
        if isinstance(word, str) and word in record.choices:
            return word
        return named_choice(record.answer, record.choices)

    def _task(self, record: Record) -> Task | None:
        place = record.task, record.task_class
        if place not in self._tasks:
            try:
                (self._tasks[place],) = tasks_asked([record], trust=self._trust)
            except Untrusted as error:
                if error.place is not None:
                    raise
                self._tasks[place] = None
            except LmodError:
                self._tasks[place] = None
        return self._tasks[place]
