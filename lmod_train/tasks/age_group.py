"""The patient's age group (LMOD, biomarker prediction; LMOD+, demographics)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from lmod_train.core.errors import check_one_of
from lmod_train.core.types import Answer, Question, Record, Reply, Sample, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS, MERGED
from lmod_train.scoring.items import Item
from lmod_train.tasks.closed import Closed
from lmod_train.tasks.demographics import both, label_of_age
from lmod_train.tasks.parsing.age_group import parse_age_group
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import PRINTED, Wording, image_type, known_wording, prompt
from lmod_train.tasks.sex import PARAPHRASES as EITHER_PARAPHRASES

PROMPTS: dict[str, str] = PRINTED["age_group"]
"""LMOD+, Patient Demographic Attribute Prediction, with its "an ophthalmology fundus image" made a placeholder; LMOD
v1, section 3.1.2, whose one template serves "sex or age" and does not list the groups."""

PARAPHRASES: dict[str, tuple[str, ...]] = {**entry("paraphrases.age_group"), "lmod_v1": EITHER_PARAPHRASES["lmod_v1"]}
"""Ours."""

BROADER = {group.label: group.merged for group in AGE_GROUPS}
"""Each of the eight groups -> the one that LMOD+ scores it as."""


class AgeGroup(Closed):
    """One of eight age groups: one question a sample whose patient's age is known.

    Both wordings ask the groups that LMOD+ prints. LMOD v1 writes them with shared ends (18-30, 30-40, ..., and 18 with
    the youngest), which leaves an age of 30 open; a reply in that form is read as the group that begins there. Its one
    template asks for sex and age group together, so there the reference reply names both where both are known
    ("Sex/Age group: MALE / 60–69"), as it does for `Sex`; read, balanced and scored is the age group alone.

    Merged, as LMOD+ scores, 18-29 and 30-39 become 18-40, the next two 40-60 and the last three 60+. Of the paper's
    fourth group, Invalid ("missing or inconsistent data"), three things are ours: under 18 counts as ``invalid``, as it
    fits none of the others; a sample without an age is not asked about; and a reply that cannot be read stays unparsed
    and wrong, it is no answer "invalid". A reply that spans several of the eight but one broader group ("60+", "40-60")
    is read as that group where the broader ones are scored, and is ambiguous where the eight are.

    Args:
        wording: ``lmod_plus`` or ``lmod_v1``.
        scored_as: ``eight`` groups (LMOD v1: 37 x 8 = 296 items) or ``merged``.
        sources: Names of the sources to ask about; None asks about every sample whose age is known.
    """

    name = "age_group"
    version = 6
    choices = tuple(group.label for group in AGE_GROUPS)
    wordings = tuple((PROMPTS[name], *PARAPHRASES[name]) for name in PROMPTS)

    def __init__(
        self,
        wording: Wording = "lmod_plus",
        scored_as: Literal["eight", "merged"] = "eight",
        sources: list[str] | None = None,
    ) -> None:
        check_one_of("scored_as", scored_as, ("eight", "merged"), "LMOD v1 scores eight, LMOD+ merged")
        self.wording = known_wording(wording)
        self.scored_as = scored_as
        super().__init__(sources)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the age is known, none otherwise."""
        if sample.patient.age is None or not self.asks_of(sample):
            return
        truth = label_of_age(sample.patient.age)
        text = PROMPTS[self.wording].replace("<IMAGE TYPE>", image_type(sample))
        answer = both(sample.patient) if self.wording == "lmod_v1" else f"Age Group: {truth}"
        yield Question(self.name, prompt(text), self.choices, answer, stratum=truth)

    def listed(self, record: Record) -> Sequence[str]:
        """Return the groups with their numbers, which they keep in any order."""
        return [f"Group {number}: {label}" for number, label in enumerate(record.choices, 1)]

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return one of the eight groups, a broader one where only that is given and scored, or why none."""
        broader = BROADER if self.scored_as == "merged" else None
        return read(reply, lambda text, choices: parse_age_group(text, choices, broader), self.choices)

    @property
    def classes(self) -> tuple[str, ...]:
        """The eight groups, or the broader ones."""
        return MERGED if self.scored_as == "merged" else self.choices

    def as_scored(self, item: Item) -> Item:
        """Return the item with truth, answer and likelihoods among `classes`.

        Where likelihoods of all eight groups are known, a broader group has the sum of its groups' probabilities.
        """
        if self.scored_as == "eight":
            return item
        answer = BROADER.get(item.answer, item.answer) if isinstance(item.answer, str) else item.answer
        likelihoods = _broader(item.likelihoods)
        return replace(item, answer=answer, truth=BROADER[str(item.truth)], choices=MERGED, likelihoods=likelihoods)


def _broader(likelihoods: Mapping[str, float]) -> Mapping[str, float]:
    """Return log-likelihoods of the broader groups, or the mapping itself where one of the eight groups is missing."""
    if any(group.label not in likelihoods for group in AGE_GROUPS):
        return likelihoods
    parts = {name: [likelihoods[g.label] for g in AGE_GROUPS if g.merged == name] for name in MERGED}
    return {name: float(np.logaddexp.reduce(logs)) for name, logs in parts.items()}
