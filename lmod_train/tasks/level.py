"""The level of expertise of a question, as people label it on a gold set (X-PCR, supplement, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lmod_train.core.types import Answer, Message, Part, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.expertise import ENDING
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.own_choice import parse_own
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.single_choice import without_form

NAMES: Mapping[str, str] = {"R": "resident", "A": "attending", "S": "specialist"}
"""Level of expertise -> the word by which it is labelled."""

RULE: Mapping[str, str] = {"IQA": "R", "AL": "R", "LC": "A", "DD": "A", "SG": "S", "CD": "S"}
"""Stage of a chain -> level of its questions where none is stated; ours. Other questions are attendings'."""

PROMPT = """Which level of expertise does the question below ask for? Do not answer the question itself.
resident: foundational knowledge and pattern perception of the first two years of training
attending: clinical context, differential diagnoses and their order, management by standard guidelines
specialist: subspecialty proficiency, such as uncommon subtypes, complex patterns in several images, therapy by evidence
Consider the knowledge that is required, the complexity of the diagnosis and the nuance of the decision.
Reply in this format: Level: <LEVEL>

The question:
{question}"""
"""The levels and what to consider as in X-PCR's supplement, section 4.1, shortened; the form is ours."""


class Level(Task):
    """A task's own questions, of which a level of expertise is asked instead of the answer.

    Readers label a gold set with it: `answers --blank SHEET.csv --tasks chain_level`. The reference answer is the level
    of the question where it has one (tag ``level``), otherwise that of `RULE`; the tag ``provisional`` names which.
    Scores thus say how far a reader agrees with provisional labels.

    Args:
        of: The task whose questions are labelled.

    Example:
        >>> from lmod_train.tasks.chain.chain import Chain
        >>> task = Level(Chain())
        >>> task.name, task.parse(Reply("a", "S")), task.parse(Reply("a", "Level: attending"))
        ('chain_level', 'specialist', 'attending')
    """

    name = "level"
    version = 1
    choices = tuple(NAMES.values())

    def __init__(self, of: Task) -> None:
        self.of = of
        self.name = of.name + ENDING
        self.language = of.language

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield a question for each question of the task, with its images."""
        for question in self.of.ask(sample):
            stated = question.tags.get("level", "")
            level = stated or RULE.get(question.tags.get("stage", ""), "A")
            tags = {key: value for key, value in question.tags.items() if key == "stage"}
            yield replace(
                question,
                task=self.name,
                messages=_worded(question.messages),
                choices=self.choices,
                answer=f"Level: {NAMES[level]}",
                stratum="",
                chain="",
                needs=(),
                tags=tags | {"provisional": "stated" if stated else "rule"},
            )

    @property
    def joins_parts(self) -> bool:  # type: ignore[override]  # that of the task, not of the class
        """Whether the task asks samples of one photograph as one."""
        return self.of.joins_parts

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the level in words; a single letter R, A or S is one."""
        letter = reply.reply.strip(" .\n").upper()
        return (
            NAMES[letter]
            if letter in NAMES
            else read(reply, lambda text, _: parse_own(text, self.choices), self.choices)
        )

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies against the provisional labels, F1, the account and the baselines."""
        return classification_scores(self.name, items_of(predictions, self.truth), self.choices)


def _worded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the turn that asks for the level of a question: its images, then its words without the form of a reply."""
    images = tuple(part for message in messages for part in message.parts if part.type == "image")
    words = PROMPT.replace("{question}", without_form(question_text(messages)))
    return (Message("user", (*images, Part("text", words))),)


def labelled(id: str) -> str:
    """Return the id of the record whose level a record asks for.

    Example:
        >>> labelled("chain_level/oimhs/12/DD")
        'chain/oimhs/12/DD'
    """
    task, _, rest = id.partition("/")
    return f"{task.removesuffix(ENDING)}/{rest}"
