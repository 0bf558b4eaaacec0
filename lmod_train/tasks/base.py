"""What every task promises: to ask, to parse, to score, in one file, with a version."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import (
    Answer,
    Box,
    Prediction,
    Question,
    Record,
    Region,
    Reply,
    Sample,
    Score,
    Unparsed,
    class_path,
)
from lmod_train.scoring.items import Item
from lmod_train.tasks.forms import Form, only_options
from lmod_train.tasks.settings import plain
from lmod_train.tasks.wordings import Wordings

if TYPE_CHECKING:
    from lmod_train.scoring.metrics.named import TaskMetrics

_LOG = logging.getLogger(__name__)


class Task(ABC):
    """A kind of question with its parser and its ruler. `version` rises whenever asking or parsing changes.

    Attributes:
        name: What records, scores and files call the task. A class may give each instance a name of its own.
        version: Of the class.
        choices: Every word that any of its questions may be answered with.
        language: ISO 639-1 code of the prompts.
        sources: Names of the sources that are asked about; None for all.
        wordings: For each of its prompts the template as published, followed by paraphrases with the same placeholders,
            choices and format, in which a question can be asked too (`lmod_train.tasks.wordings`).
        steps: Names of the steps of its chains of questions, in their order; empty without chains.
        evidence: Structures that are removed from images that it asks about; empty for none.
        joins_parts: Whether samples of one photograph in two parts of a source are asked as one, with the labels and
            boxes of both (`lmod_train.data.curation.question_records`).
    """

    name: str
    version: ClassVar[int]
    choices: tuple[str, ...]
    language: str = "en"
    sources: list[str] | None = None
    wordings: Wordings = ()
    steps: ClassVar[tuple[str, ...]] = ()
    evidence: Sequence[str] = ()
    joins_parts: ClassVar[bool] = False

    def asks_of(self, sample: Sample) -> bool:
        """Return whether the sample is of one of the `sources`."""
        return self.sources is None or sample.source in self.sources

    def ready_questions(self, sample: Sample) -> Iterator[Question]:
        """Yield the questions that come with a sample and are this task's own: of its name and language."""
        if self.asks_of(sample):
            yield from (q for q in sample.asked if (q.task, q.language) == (self.name, self.language))

    def settings(self) -> dict[str, Any]:
        """Return all that changes what it asks, as JSON holds it: its attributes, paths by the content of their files.

        Curation compares it with that of the start before. A task that holds what JSON cannot overrides it. What is
        computed once and kept (`functools.cached_property`) does not count.

        Raises:
            BadArgument: An attribute is something else, see `lmod_train.tasks.settings.plain`.
        """
        kind = type(self)
        own = [name for name in sorted(vars(self)) if not isinstance(getattr(kind, name, None), cached_property)]
        return {name: plain(vars(self)[name], f"{kind.__name__}.{name}", _of_task) for name in own}

    @property
    def classes(self) -> tuple[str, ...]:
        """What its answers are scored among: the choices, unless a task scores broader classes than it asks for."""
        return self.choices

    def as_scored(self, item: Item) -> Item:
        """Return the item with truth and answer among `classes`; the same item unless a task scores broader ones."""
        return item

    def is_scored(self, record: Record) -> bool:
        """Return whether the task's scores are over a record; not if it only serves comparisons with another one."""
        return True

    def listed(self, record: Record) -> Sequence[str]:
        """Return the choices of a record as its prompt lists them, for other orders (`lmod_train.tasks.ways`)."""
        return record.choices

    @abstractmethod
    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the questions about a sample; none where the sample does not carry what the task needs."""

    def placed(self, sample: Sample, question: Question, place: int) -> Question:
        """Return the question with its right option at a place of the list, for curation, which balances the places.

        Args:
            sample: That is asked about.
            question: One of `ask`.
            place: From 0, below the number of options.

        Returns:
            The same question where options have no letters, or where their order is not the task's own.
        """
        return question

    def asks_as(self, question: Question) -> tuple[str, str]:
        """Return task and variant of the question whose order of options this one has: its own, but for a probe's."""
        return question.task, question.variant

    def asked_label(self, question: Question) -> str:
        """Return the label of a sample that the answer to a question states; a fact of it would be the answer again."""
        return self.name

    def in_form(self, sample: Sample, question: Question, form: Form) -> Question | None:
        """Return a question with other words, for probes; None where the sample lacks what it takes.

        Args:
            sample: That is asked about.
            question: One of `ask`.
            form: ``options``, its lettered options alone; ``stem``, all but these; ``other_language``, asked for a
                reply in another language.

        Raises:
            BadArgument: The task has no such form.
        """
        if form == "options":
            return replace(question, messages=only_options(question.messages))
        raise BadArgument("kinds", form, f"one of none, another, foreign and options for {self.name}", "leave it out")

    @staticmethod
    def states(earlier: Record, answer: str, before: Record | None = None) -> str:
        """Return the sentence by which a later question states the answer to an earlier one of this task.

        Args:
            earlier: The earlier question.
            answer: Its answer, or a placeholder for it.
            before: The later question, if the sentence is to lead to it; None for any later one.
        """
        return f"{earlier.chain_step or earlier.task}: {answer}."

    def implied(self, record: Record, stated: Mapping[str, str]) -> tuple[str, ...]:
        """Return the choices of a question that agree with stated answers (step -> answer); none by default."""
        return ()

    def is_about_quality(self, question: Question | Record) -> bool:
        """Return whether the truth of a question is that of the photograph and not that of the eye it shows."""
        return False

    def measure(self, curated: Path) -> None:  # noqa: B027 - most tasks have nothing to measure
        """Measure what belongs to a curated folder as a whole, once it is written; nothing by default."""

    def account(self, samples: Iterable[Sample]) -> dict[str, Any]:
        """Return what the manifest states of the samples besides the counts of records; nothing by default."""
        return {}

    @abstractmethod
    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the answer in the reply, or the reason why there is none; never raises, never guesses."""

    def truth(self, of: Prediction | Record) -> Answer | Unparsed:
        """Return the true answer of a record or a prediction, as `parse` reads it in the reference reply.

        Each reference reply to a question is parsed once: there are few, and tens of thousands take a minute.
        """
        record = of.record if isinstance(of, Prediction) else of
        question = (record.answer, record.choices, record.messages, record.regions, record.language, record.variant)
        key = (*question, record.chain_step, tuple(sorted(record.tags.items())))
        if key not in self._truths:
            self._truths[key] = self.parse(Reply(record.id, record.answer), record)
        return self._truths[key]

    @cached_property
    def _truths(self) -> dict[Hashable, Answer | Unparsed]:
        return {}

    def confidence(self, reply: Reply, record: Record) -> float | None:
        """Return the confidence that the reply states, 0 to 1; None where it states none or the task asks for none."""
        return None

    @abstractmethod
    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return every figure of this task over the predictions, one per unique record id; none for no predictions."""

    def prediction(self, record: Record, reply: Reply) -> Prediction:
        """Return record and reply with the answer and the confidence read from the reply.

        A reply that carries an error is `Unparsed("failed")`, whatever text came with it; one that the parser raises on
        is `Unparsed("parser_error")` and logged, so that no reply ends a run.

        Raises:
            LmodError: A record or a setting cannot be used, which no reply is to blame for.
        """
        if reply.error or reply.finish_reason == "error":
            return Prediction(record, reply, Unparsed("failed", reply.error))
        return Prediction(record, reply, self._answer(reply, record), self._stated(reply, record))

    def _answer(self, reply: Reply, record: Record) -> Answer | Unparsed:
        try:
            return self.parse(reply, record)
        except LmodError:
            raise
        except Exception as error:
            _LOG.exception("The parser of task %s failed on the reply to %s; it is unparsed.", self.name, record.id)
            return Unparsed("parser_error", f"{type(error).__name__}: {error}"[:200])

    def _stated(self, reply: Reply, record: Record) -> float | None:
        """Return the stated confidence; None without one, or where the task fails to read it or it is not 0 to 1."""
        try:
            stated = self.confidence(reply, record)
        except LmodError:
            raise
        except Exception:
            _LOG.exception("The task %s failed to read the confidence in the reply to %s.", self.name, record.id)
            return None
        return stated if stated is not None and 0 <= stated <= 1 else None

    def metrics(self, names: Sequence[str] = (), **options: Any) -> TaskMetrics:
        """Return a `torchmetrics.MetricCollection` of this task's metrics over all records, with one state.

        Args:
            names: Names of metrics, which are the keys of the collection; default: those of `metric_names`.
            **options: Options of `torchmetrics.Metric`.

        Example:
            >>> from lmod_train.tasks.glaucoma import Glaucoma
            >>> metrics = Glaucoma().metrics(["sensitivity", "specificity"])
            >>> metrics.update([])
            >>> metrics.compute()
            {'sensitivity': tensor(nan), 'specificity': tensor(nan)}
        """
        from lmod_train.scoring.metrics.named import TaskMetrics  # it imports torch

        return TaskMetrics(self, names, **options)

    def metric_names(self, records: Iterable[Record] = ()) -> list[str]:
        """Return the names of the metrics over all records, as ``scores.csv`` has them.

        Args:
            records: Some of its records, where metrics depend on what is asked; default: `example`.

        Raises:
            BadArgument: The metrics depend on the records, and none is given.
        """
        own = list(records)
        unread = [Prediction(r, Reply(r.id, "-"), Unparsed("no_match")) for r in own or self._examples()]
        try:
            names = dict.fromkeys(s.metric for s in self.score(unread) if s.subset == "all")
        except BadArgument:
            if own:
                raise
            names = {}
        if not names and not own:
            cure = "give some: `task.metrics(task.metric_names(records))`"
            raise BadArgument("records", "none", f"records of {self.name}, on which its metrics depend", cure)
        return [*names, "share_failed"]

    def _examples(self) -> Iterator[Record]:
        """Yield `example` in two modalities and each language of the task: some metrics are of several alone."""
        for modality, language in product(("CFP", "OCT"), self.language.split("+")):
            yield replace(self.example(), id=f"example/{modality}/{language}", modality=modality, language=language)

    def example(self) -> Record:
        """Return a record whose reference reply the task can read; `metric_names` scores it without an answer."""
        choices = tuple(getattr(self, "choices", ())) or ("yes", "no")
        regions = (Region(choices[0], Box(0, 0, 1, 1), 1),)
        return Record(
            "example", self.name, "", self.version, "", "", "", (), (), (), "val", "", self.language, (), choices,
            choices[0], regions,
        )  # fmt: skip


def _of_task(value: object) -> dict[str, Any] | None:
    """Return what a task within a task asks as; None for anything else."""
    if not isinstance(value, Task):
        return None
    kind = type(value)
    return {"class": class_path(kind), "version": kind.version, "settings": value.settings()}
