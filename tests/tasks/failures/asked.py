"""Predictions of labelled replies: the question of a short name, with its own prompt, parsed by its own task."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from lmod_train.core.types import Box, Prediction, Record, Region, Reply
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.age_group import PROMPTS as AGE
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import IMAGE_TYPES, OPTIONS, PROMPTS, Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.bilingual import OPEN, OpenQuestion
from lmod_train.tasks.conditions import PROMPT as CONDITION
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import PROMPT as FOUR
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import PROMPT as GLAUCOMA
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies
from lmod_train.tasks.prompt import prompt
from lmod_train.tasks.sex import PROMPTS as SEX
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import PROMPTS as STAGE
from lmod_train.tasks.staging import Staging
from tests.tasks.failures.labelled import Labelled


@lru_cache(maxsize=64)
def question(ask: str) -> tuple[Task, Record]:
    """Return the task and the record of a short name: the task, then a condition, ``explained``, modality and number of
    boxes, or language and expected answer.
    """
    kind, _, of = ask.partition(" ")
    if kind == "open":
        language, _, expected = of.partition(" ")
        return OpenQuestion(), replace(_record("open_question", OPEN[language], (), expected), language=language)
    if kind == "conditions":
        finding = next(f for f in FINDINGS if f.condition == of)
        text = CONDITION.replace("<CONDITION>", finding.asked).replace("<SHORT>", finding.short)
        return Conditions(), _record(kind, text, Conditions.choices, f"{finding.short} TRUE")
    if kind == "anatomy":
        modality, count = of.split()
        options = tuple(OPTIONS[modality])
        text = (
            PROMPTS["lmod_plus"].replace("<IMAGE TYPE>", IMAGE_TYPES[modality]).replace("<OPTIONS>", ", ".join(options))
        )
        return Anatomy(), _record(kind, text, options, "", boxes=int(count))
    if kind in {scale.name for scale in SCALES}:
        task = Staging(scale=kind)
        return task, _record(
            kind,
            STAGE["lmod_naacl" if of else "lmod_plus"].replace("<DISEASE>", task.disease),
            task.choices,
            "Stage: 2",
        )
    plain = {
        "glaucoma": (Glaucoma(), GLAUCOMA, "GLAUCOMA"),
        "four_way": (FourWay(), FOUR, "DISEASE: normal"),
        "sex": (Sex(), SEX["lmod_plus"], "Sex: MALE"),
        "age_group": (AgeGroup(), AGE["lmod_plus"], "Age Group: 60–69"),
    }
    other, text, answer = plain[kind]
    return other, _record(kind, text, other.choices, answer)


def _record(task: str, text: str, choices: tuple[str, ...], answer: str, boxes: int = 0) -> Record:
    return Record(
        id="a", task=task, task_class="", task_version=1, source="s", key="k", modality="CFP", image=(), image_plain=(),
        image_sha256=(), split="test", group="", language="en", choices=tuple(choices), answer=answer,
        messages=prompt(text.replace("<IMAGE TYPE>", "an ophthalmology fundus image")),
        regions=tuple(Region(choices[0], Box(0, 0, 9, 9), i) for i in range(1, boxes + 1)),
    )  # fmt: skip


def prediction_of(row: Labelled) -> Prediction:
    """Return the prediction that an evaluation makes of a labelled reply."""
    task, record = question(row.ask)
    return parse_replies(task, [record], {"a": Reply("a", row.reply, row.finish)})[0]
