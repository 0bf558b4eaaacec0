"""What every task promises: to ask, to parse, to score, in one file, with a version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed


class Task(ABC):
    """A kind of question with its parser and its ruler. `version` rises whenever asking or parsing changes."""

    name: ClassVar[str]
    version: ClassVar[int]
    choices: tuple[str, ...]
    language: str = "en"

    @abstractmethod
    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the questions about a sample; none where the sample does not carry what the task needs."""

    @abstractmethod
    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return what the reply says, or why it says nothing; never raises, never guesses."""

    @abstractmethod
    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return every figure of this task over the predictions, one per unique record id; none for no predictions."""
