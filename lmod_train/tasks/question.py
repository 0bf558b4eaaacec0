"""Ready single-choice questions with options of their own, as tables of VLMEvalKit hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.closed import closed_scores
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.single_choice import WORDS, worded


class ReadyQuestion(Task):
    """The single-choice questions that come with a sample, each with its options in their order.

    Args:
        sources: Names of the sources to ask about; None asks every such question.
        language: ``en`` or ``zh``, of the questions and of the words behind them.

    Raises:
        BadArgument: `language` is another.

    Example:
        >>> from lmod_train.tasks.prompt import prompt
        >>> ready = Question("question", prompt("Which part is red?"), ("disc", "macula"), "macula")
        >>> (asked,) = ReadyQuestion().ask(Sample("s", "1", "CFP", None, "1", "", asked=(ready,)))
        >>> print(asked.messages[0].parts[1].text)
        Which part is red?
        A. disc
        B. macula
        Answer with the letter of one option.
        Reply in this format: Answer: <LETTER>
    """

    name = "question"
    version = 2
    choices = ()

    def __init__(self, sources: list[str] | None = None, language: str = "en") -> None:
        if language not in WORDS:
            raise BadArgument("language", language, f"one of {', '.join(WORDS)}", "leave it out for en")
        self.sources, self.language = sources, language

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the sample's ready questions."""
        yield from (worded(question, confidence=False) for question in self.ready_questions(sample))

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of the chosen option, or why there is none (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_option, record.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, the account and the baselines, over all questions and each subset."""
        items = items_of(predictions, self.truth)
        return closed_scores(self.name, items)
