"""Four-way diagnosis of a fundus photograph (LMOD+, multi-class)."""

from __future__ import annotations

from collections.abc import Iterator

from lmod_train.core.types import Answer, Question, Record, Reply, Sample, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.tasks.closed import Closed
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import PRINTED, prompt

PROMPT: str = PRINTED["four_way"]
"""LMOD+, Ophthalmologic Disease Diagnosis, multi-class: verbatim."""

PARAPHRASES: tuple[str, ...] = entry("paraphrases.four_way")
"""Ours."""


class FourWay(Closed):
    """Cataract, diabetic retinopathy, glaucoma or normal: one question a fundus photograph with such a diagnosis.

    Args:
        sources: Names of the sources to ask about; None asks about every such photograph.

    Example:
        >>> FourWay().parse(Reply("a", "DISEASE: Diabetic Retinopathy; Explanations: haemorrhages."), record=None)
        'diabetic retinopathy'
    """

    name = "four_way"
    version = 5
    choices = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
    wordings = ((PROMPT, *PARAPHRASES),)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the ``diagnosis`` of a colour fundus photograph is one of the four."""
        diagnosis = sample.labels.get("diagnosis")
        if diagnosis in self.choices and sample.modality == "CFP" and self.asks_of(sample):
            yield Question(self.name, prompt(PROMPT), self.choices, answer=f"DISEASE: {diagnosis}", stratum=diagnosis)

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the disease, or why there is none (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_choice, self.choices)
