"""Tasks that ask another task's questions in other ways; words, options and parser stay that task's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Question, Record, Reply, Unparsed
from lmod_train.scoring.items import Item
from lmod_train.tasks.base import Task
from lmod_train.tasks.wordings import Wordings


class Derived(Task):
    """Base class of tasks whose questions are those of another task, each in several variants.

    Args:
        of: The other task.
    """

    def __init__(self, of: Task) -> None:
        self.of = of
        self.name = f"{of.name}_{type(self).name}"
        self.choices = of.choices
        self.language = of.language

    def _as_asked(self, record: Record) -> Record:
        """Return the record as the task itself would ask it, under its own id."""
        return record

    def asked_label(self, question: Question) -> str:
        """Return that of the task."""
        return self.of.asked_label(question)

    def _named(self, question: Question, variant: str) -> Question:
        """Return a question under this task's name; its needs are those of the same variant."""

        def named(own: str) -> str:
            return "-".join(filter(None, (own, variant)))

        own = ("", self.of.name)
        return replace(
            question,
            task=self.name,
            variant=named(question.variant),
            stratum="",
            chain=question.chain and named(question.chain),
            needs=tuple(replace(n, task="", variant=named(n.variant)) if n.task in own else n for n in question.needs),
        )

    @property
    def wordings(self) -> Wordings:  # type: ignore[override]  # an attribute would count in `settings`
        """Those of the task."""
        return self.of.wordings

    def listed(self, record: Record) -> Sequence[str]:
        """Return those of the task."""
        return self.of.listed(self._as_asked(record))

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return what the task reads."""
        return self.of.parse(reply, self._as_asked(record))

    @property
    def classes(self) -> tuple[str, ...]:
        """Those of the task."""
        return self.of.classes

    def as_scored(self, item: Item) -> Item:
        """Return the item as the task scores it."""
        return self.of.as_scored(item)


class Variants(Derived):
    """Base class of tasks that ask another task's questions about changed images, with its chains and confidence."""

    def _check(self, question: Question) -> None:
        """Check that a question is about the sample's own, unchanged image.

        Raises:
            BadArgument: It is not.
        """
        if question.perturbation or "perturbation" in question.tags or question.shows != "own":
            expected = "a task that asks about the sample's own, unchanged image"
            raise BadArgument("of", self.of.name, expected, "name a task without perturbations and probes of its own")

    @property
    def joins_parts(self) -> bool:  # type: ignore[override]  # that of the task, not of the class
        """Whether the task asks samples of one photograph as one."""
        return self.of.joins_parts

    def confidence(self, reply: Reply, record: Record) -> float | None:
        """Return the confidence that the task reads."""
        return self.of.confidence(reply, self._as_asked(record))

    @property
    def steps(self) -> tuple[str, ...]:  # type: ignore[override]  # an attribute would count in `settings`
        """Those of the task."""
        return self.of.steps

    def states(self, earlier: Record, answer: str, before: Record | None = None) -> str:  # type: ignore[override]
        """Return what the task states."""
        return self.of.states(earlier, answer, before)

    def implied(self, record: Record, stated: Mapping[str, str]) -> tuple[str, ...]:
        """Return what the task finds."""
        return self.of.implied(record, stated)
