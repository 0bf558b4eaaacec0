"""Glaucoma or not (LMOD, diagnosis analysis)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import PRINTED, prompt

PROMPT: str = PRINTED["glaucoma"]
"""LMOD, appendix A.2, prompt 1: verbatim."""

PARAPHRASES: tuple[str, ...] = entry("paraphrases.glaucoma")
"""Ours."""

ANSWERS = {"yes": "GLAUCOMA", "no": "NON-GLAUCOMA"}


class Glaucoma(Task):
    """GLAUCOMA or NON-GLAUCOMA: one question a sample whose ``glaucoma`` label is known.

    Args:
        image_type: Fills ``<IMAGE TYPE>``. LMOD prints the placeholder only; the default is ours, after the wording of
            its macular-hole example ("an ophthalmology OCT image").
        sources: Names of the sources to ask about, e.g. ``[origa]`` as published; None asks about every sample with the
            label.
    """

    name = "glaucoma"
    version = 5
    choices = ("GLAUCOMA", "NON-GLAUCOMA")
    wordings = ((PROMPT, *PARAPHRASES),)

    def __init__(self, image_type: str = "an ophthalmology fundus image", sources: list[str] | None = None) -> None:
        self.image_type = image_type
        self.sources = sources

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sample has the label ``glaucoma``, none otherwise.

        Raises:
            BadArgument: The label is neither ``yes`` nor ``no``.
        """
        label = sample.labels.get("glaucoma")
        if label is None or not self.asks_of(sample):
            return
        if label not in ANSWERS:
            raise BadArgument(
                f"labels['glaucoma'] of {sample.source}/{sample.key}",
                label,
                "'yes' or 'no'",
                "correct the source, which must translate its own codes",
            )
        text = PROMPT.replace("<IMAGE TYPE>", self.image_type)
        yield Question(self.name, prompt(text), self.choices, answer=ANSWERS[label], stratum=ANSWERS[label])

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return GLAUCOMA or NON-GLAUCOMA, or why neither (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_choice, self.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, sensitivity, specificity, the account and the baselines, each with n and interval."""
        items = items_of(predictions, self.truth)
        return classification_scores(self.name, items, self.choices, positive="GLAUCOMA")
