"""Prompts of the tasks as their papers print them, with the reference reply, and only of the sources that are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lmod_train.core.types import Box, Patient, Region, Sample
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.recognition import Recognition
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging
from tests.tabled import stored, tabled

TASKS = {task.name: task for task in (AgeGroup, Anatomy, Conditions, FourWay, Glaucoma, Recognition, Sex, Staging)}
LABELS = {"glaucoma": "yes", "diagnosis": "glaucoma", "age-related macular degeneration": "yes", "drusen": "no"}
SAMPLE = Sample(
    "refuge", "a", "CFP", Path("a.jpg"), "p1", "open", labels=LABELS | {"macular_hole_stage": "3"},
    regions=(Region("optic disc", Box(1, 2, 30, 40), 1),), patient=Patient(age=35, sex="female"),
)  # fmt: skip
PUPIL = (Region("pupil", Box(1, 2, 30, 40), 1),)


@tabled(("task", "arguments", "modality", "text", "answer", "stratum"), stored(__file__, "printed"))
def test_the_words_are_the_papers(
    task: str, arguments: dict[str, Any], modality: str, text: str, answer: str, stratum: str
) -> None:
    """LMOD+, Data Curation Pipeline and its prompts of each task; LMOD v1, section 3.1.2, with its image types."""
    sample = replace(SAMPLE, modality=modality, **({"regions": PUPIL} if modality == "SS" else {}))
    (question,) = TASKS[task](**arguments).ask(sample)
    assert (question.messages[0].parts[1].text, question.answer, question.stratum) == (text, answer, stratum)


@tabled("task", TASKS.values())
def test_only_the_named_sources_are_asked_about(task: type[Any]) -> None:
    sample = replace(SAMPLE, modality="OCT", regions=()) if task is Staging else SAMPLE
    for sources in (["refuge"], ["refuge", "idrid"]):
        assert list(task(sources=sources).ask(sample)) == list(task().ask(sample)) != []
    assert list(task(sources=["idrid"]).ask(sample)) == []
