"""Glaucoma or not (LMOD, diagnosis analysis)."""

from __future__ import annotations

from collections.abc import Iterator

from lmod_train.core.types import Answer, Question, Record, Reply, Sample, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.tasks.closed import Closed
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import PRINTED, check_yes_no, prompt

PROMPT: str = PRINTED["glaucoma"]
"""LMOD, appendix A.2, prompt 1: verbatim."""

PARAPHRASES: tuple[str, ...] = entry("paraphrases.glaucoma")
"""Ours."""

ANSWERS = {"yes": "GLAUCOMA", "no": "NON-GLAUCOMA"}


class Glaucoma(Closed):
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
    positive = "GLAUCOMA"
    wordings = ((PROMPT, *PARAPHRASES),)

    def __init__(self, image_type: str = "an ophthalmology fundus image", sources: list[str] | None = None) -> None:
        self.image_type = image_type
        super().__init__(sources)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sample has the label ``glaucoma``, none otherwise.

        Raises:
            BadArgument: The label is neither ``yes`` nor ``no``.
        """
        label = sample.labels.get("glaucoma")
        if label is None or not self.asks_of(sample):
            return
        check_yes_no(sample, "glaucoma")
        text = PROMPT.replace("<IMAGE TYPE>", self.image_type)
        yield Question(self.name, prompt(text), self.choices, answer=ANSWERS[label], stratum=ANSWERS[label])

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return GLAUCOMA or NON-GLAUCOMA, or why neither (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_choice, self.choices)
