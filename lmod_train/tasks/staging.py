"""The stage or grade of a disease (LMOD, diagnosis analysis; LMOD+, staging assessment)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.scoring.grading import grading_scores
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.stage import parse_stage
from lmod_train.tasks.prompt import PRINTED, image_type, known_wording, prompt

PROMPTS: dict[str, str] = PRINTED["staging"]
"""LMOD+, Ophthalmologic Disease Staging Assessment, with its "an ophthalmology OCT image" made a placeholder; LMOD v1,
section 3.1.2, LMOD NAACL, appendix A.2 prompt 2, and its example of an input in appendix G, with their "macular hole"
made one."""

PARAPHRASES: dict[str, tuple[str, ...]] = entry("paraphrases.staging")
"""Ours."""

_WORDS = {row.name: row.words for row in SCALES}


class Staging(Task):
    """One whole number of an ordered scale: one question a sample that carries a level of it.

    The name of the task is the scale's, so that several scales can be asked in one run.

    Args:
        scale: Name of a row of `SCALES`; what a sample's label is called.
        wording: ``lmod_plus``, ``lmod_v1``, ``lmod_naacl``, or ``lmod_naacl_example`` for LMOD's printed example.
        disease: Fills ``<DISEASE>``; None takes the scale's. Two scales of one disease have the same prompt but for
            this, and no paper states how it distinguished them.
        sources: Names of the sources to ask about; None asks about every sample that carries a level.
    """

    name = "staging"
    version = 5
    wordings = tuple((PROMPTS[name], *PARAPHRASES[name]) for name in PROMPTS)

    def __init__(
        self,
        scale: str = "macular_hole_stage",
        wording: Literal["lmod_plus", "lmod_v1", "lmod_naacl", "lmod_naacl_example"] = "lmod_plus",
        disease: str | None = None,
        sources: list[str] | None = None,
    ) -> None:
        row = next((row for row in SCALES if row.name == scale), None)
        if row is None:
            known = ", ".join(row.name for row in SCALES)
            cure = "a new scale is a row of lmod_train/core/vocabulary/scales.toml"
            raise BadArgument("scale", scale, f"one of {known}", cure)
        self.name = self.scale = scale
        self.wording = known_wording(wording, tuple(PROMPTS))
        self.disease = row.disease if disease is None else disease
        self.sources = sources
        self.choices = row.levels

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sample carries a level of the scale, none otherwise.

        Raises:
            BadArgument: The level is not one of the scale.
        """
        level = sample.labels.get(self.scale)
        if level is None or not self.asks_of(sample):
            return
        if level not in self.choices:
            cure = "correct the source, which must list what is no level as dropped"
            raise BadArgument(f"labels[{self.scale!r}] of {sample.source}/{sample.key}", level, str(self.choices), cure)
        text = PROMPTS[self.wording].replace("<IMAGE TYPE>", image_type(sample)).replace("<DISEASE>", self.disease)
        yield Question(self.name, prompt(text), self.choices, answer=f"Stage: {level}", stratum=level)

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the level, or why there is none (see `lmod_train.tasks.parsing`)."""
        return read(reply, partial(parse_stage, words=_WORDS[self.scale]), self.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, kappa, error, figures of each stage, the account and the baselines."""
        items = items_of(predictions, self.truth)
        return grading_scores(self.name, items, self.choices)
