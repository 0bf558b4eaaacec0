"""Has the patient one condition or not, twelve times over (LMOD+, binary diagnosis)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.core.vocabulary.findings import FINDINGS, Finding
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import Item, items_of
from lmod_train.scoring.macro import macro_accuracy
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.finding import parse_finding
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import PRINTED, check_yes_no, image_type, prompt

PROMPT: str = PRINTED["conditions"]
"""LMOD+, Ophthalmologic Disease Diagnosis, binary, with what it prints for AMD in fundus images made placeholders."""

PARAPHRASES: tuple[str, ...] = entry("paraphrases.conditions")
"""Ours."""

ANSWERS = {"yes": "TRUE", "no": "FALSE"}


class Conditions(Task):
    """TRUE or FALSE: one question a sample for each condition of which it has a label.

    Args:
        conditions: Names of the conditions to ask, in the words of `FINDINGS`; None asks all twelve.
        sources: Names of the sources to ask about; None asks about every sample with such a label.

    Example:
        >>> record = Record(id="", task="", task_class="", task_version=1, source="", key="", modality="CFP", image=(),
        ...     image_plain=(), image_sha256=(), split="test", group="", language="en", messages=(), choices=(),
        ...     answer="DRUSEN TRUE")
        >>> Conditions().parse(Reply("a", "The patient does not have drusen."), record)
        'FALSE'
    """

    name = "conditions"
    version = 6
    choices = ("TRUE", "FALSE")
    wordings = ((PROMPT, *PARAPHRASES),)

    def __init__(self, conditions: list[str] | None = None, sources: list[str] | None = None) -> None:
        known = {finding.condition: finding for finding in FINDINGS}
        self.conditions = list(known) if conditions is None else list(conditions)
        self.sources = sources
        unknown = [c for c in self.conditions if c not in known]
        if unknown or not self.conditions or len(set(self.conditions)) < len(self.conditions):
            expected = f"different names among {', '.join(known)}"
            cure = "a new condition is a row of lmod_train/core/vocabulary/findings.toml"
            raise BadArgument("conditions", unknown or self.conditions, expected, cure)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question a condition that the sample has a label of.

        Raises:
            BadArgument: A label is neither ``yes`` nor ``no``.
        """
        for finding in FINDINGS:
            label = sample.labels.get(finding.condition)
            if label is None or finding.condition not in self.conditions or not self.asks_of(sample):
                continue
            check_yes_no(sample, finding.condition)
            text = PROMPT.replace("<IMAGE TYPE>", image_type(sample))
            text = text.replace("<CONDITION>", finding.asked).replace("<SHORT>", finding.short)
            truth = ANSWERS[label]
            answer = f"{finding.short} {truth}"
            yield Question(
                self.name, prompt(text), self.choices, answer, variant=variant_of(finding.condition), stratum=truth
            )

    def asked_label(self, question: Question) -> str:
        """Return the condition that is asked about."""
        return asked_of(question).condition

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return TRUE or FALSE, or why neither (see `lmod_train.tasks.parsing`)."""
        asked = asked_of(record)
        return read(reply, lambda text, choices: parse_finding(text, choices, asked), self.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, sensitivity, specificity, the account and the baselines, each ``condition=...`` apart.

        ``accuracy_macro`` is the mean over the conditions, each counted alike.
        """

        def condition_of(item: Item) -> str:
            return item.variant

        items = items_of(predictions, self.truth)
        scores = classification_scores(self.name, items, self.choices, "TRUE", {"condition": condition_of})
        return scores[:1] + macro_accuracy(self.name, items, condition_of) + scores[1:]

    def example(self) -> Record:
        """Return a record about its first condition."""
        short = next(finding.short for finding in FINDINGS if finding.condition == self.conditions[0])
        return replace(super().example(), answer=f"{short} TRUE", variant=variant_of(self.conditions[0]))


def variant_of(condition: str) -> str:
    """Return the name that ids and subsets carry.

    Example:
        >>> variant_of("increased cup-to-disc ratio")
        'increased_cup_to_disc_ratio'
    """
    return condition.replace(" ", "_").replace("-", "_")


def asked_of(record: Record | Question) -> Finding:
    """Return what a record or question asks: its reference reply begins with the short word.

    Raises:
        BadArgument: It begins with none.
    """
    short = record.answer.rpartition(" ")[0]
    for finding in FINDINGS:
        if finding.short == short:
            return finding
    known = ", ".join(finding.short for finding in FINDINGS)
    cure = "curate it again"
    name = record.id if isinstance(record, Record) else record.task
    raise BadArgument(f"answer of record {name}", record.answer, f"it to begin with one of {known}", cure)
