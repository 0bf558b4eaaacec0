"""Parse replies with the task of a short name, or as a single-choice question, as an evaluation does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from lmod_train.core.types import Answer, Record, Reply, Unparsed
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import OPTIONS, Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.bilingual import OpenQuestion
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.own import Own
from lmod_train.tasks.parsing.confidence import read_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging
from tests.tabled import stored
from tests.tasks.parsing.options import OPTIONS as OPTIONS_OF

TASKS: dict[str, Task] = {
    "glaucoma": Glaucoma(),
    "four_way": FourWay(),
    "sex": Sex(),
    "age_group": AgeGroup(),
    "macular_hole_stage": Staging(),
    "icdr": Staging(scale="icdr"),
    "sdrg": Staging(scale="sdrg"),
}
OWN = {name: Own(**words) for name, words in stored(__file__, "asked.OWN").items()}
"""Questions of a clinic's own, of every kind that has choices or a number."""
SHORT = {finding.condition: finding.short for finding in FINDINGS}
ASKS = (
    *TASKS,
    *(f"conditions {name}" for name in SHORT),
    *(f"anatomy {modality}" for modality in ("OCT", "CFP", "LP", "SS")),
    *(f"option {name}" for name in ("al", "zdd")),
)
"""Short names of all questions of the labelled replies."""


def parse(ask: str, reply: str, finish: Literal["stop", "length"] = "stop") -> Answer | Unparsed:
    """Return the answer of the task `ask`, a short name with the condition, modality or options behind it."""
    kind, _, of = ask.partition(" ")
    if kind == "conditions":
        return Conditions().parse(Reply("a", reply, finish), _record(kind, Conditions.choices, f"{SHORT[of]} TRUE"))
    if kind == "option":
        return read(Reply("a", reply, finish), parse_option, OPTIONS_OF[of])
    if kind == "anatomy":
        return Anatomy().parse(Reply("a", reply, finish), _record(kind, OPTIONS[of], ""))
    if kind == "confidence":
        share = read_confidence(Reply("a", reply, finish))
        return Unparsed("no_match", "") if share is None else share
    task = (TASKS | OWN).get(kind) or OpenQuestion()
    return task.parse(Reply("a", reply, finish), _record(kind, task.choices, ""))


def _record(task: str, choices: Sequence[str], answer: str) -> Record:
    return Record(
        id="a", task=task, task_class="", task_version=1, source="s", key="k", modality="CFP", image=(), image_plain=(),
        image_sha256=(), split="test", group="", language="en", messages=(), choices=tuple(choices), answer=answer,
    )  # fmt: skip
