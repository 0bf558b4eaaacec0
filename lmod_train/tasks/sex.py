"""The patient's sex (LMOD, biomarker prediction; LMOD+, demographics)."""

from __future__ import annotations

from collections.abc import Iterator

from lmod_train.core.types import Answer, Question, Record, Reply, Sample, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.tasks.closed import Closed
from lmod_train.tasks.demographics import SEXES, both
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.sex import parse_sex
from lmod_train.tasks.prompt import PRINTED, Wording, image_type, known_wording, prompt

PROMPTS: dict[str, str] = PRINTED["sex"]
"""LMOD+, Patient Demographic Attribute Prediction, with its "an ophthalmology fundus image" made a placeholder; LMOD
v1, section 3.1.2, whose one template serves "sex or age"."""

PARAPHRASES: dict[str, tuple[str, ...]] = entry("paraphrases.sex")
"""Ours."""


class Sex(Closed):
    """MALE or FEMALE: one question a sample whose patient's sex is known.

    LMOD v1's one template asks for sex and age group together, so the reference reply names both where both are known
    ("Sex/Age group: MALE / 60–69"), as it does for `AgeGroup`; read, balanced and scored is the sex alone.

    Args:
        wording: ``lmod_plus`` or ``lmod_v1``.
        sources: Names of the sources to ask about; None asks about every sample whose sex is known.
    """

    name = "sex"
    version = 6
    choices = tuple(SEXES.values())
    wordings = tuple((PROMPTS[name], *PARAPHRASES[name]) for name in PROMPTS)

    def __init__(self, wording: Wording = "lmod_plus", sources: list[str] | None = None) -> None:
        self.wording = known_wording(wording)
        super().__init__(sources)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sex is known, none otherwise."""
        sex = sample.patient.sex
        if sex is None or not self.asks_of(sample):
            return
        truth = SEXES[sex]
        text = PROMPTS[self.wording].replace("<IMAGE TYPE>", image_type(sample))
        answer = both(sample.patient) if self.wording == "lmod_v1" else f"Sex: {truth}"
        yield Question(self.name, prompt(text), self.choices, answer, stratum=truth)

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return MALE or FEMALE, or why neither (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_sex, self.choices)
