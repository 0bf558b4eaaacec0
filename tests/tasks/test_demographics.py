"""Sex and age group: the edges of the groups, and one target for the words and the image that two tasks share."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from lmod_train.core.types import Patient, Reply, Sample
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.demographics import both, label_of_age
from lmod_train.tasks.sex import Sex
from tests.tabled import stored, tabled


@tabled(("age", "label"), stored(__file__, "demographics.edges"))
def test_edges(age: float, label: str) -> None:
    assert label_of_age(age) == label


@tabled(("sex", "age"), list(product(("male", "female"), (5, 18, 39.5, 40, 59, 64, 79.9, 80))))
def test_one_image_and_one_prompt_have_one_target_of_which_each_task_reads_its_part(sex: str, age: float) -> None:
    sample = Sample("fairseg", "1", "SLO", Path("a.png"), "1", "open", patient=Patient(sex=sex, age=age))
    tasks = Sex(wording="lmod_v1"), AgeGroup(wording="lmod_v1")
    asked = [question for task in tasks for question in task.ask(sample)]
    assert len({question.messages for question in asked}) == 1
    assert {question.answer for question in asked} == {f"Sex/Age group: {sex.upper()} / {label_of_age(age)}"}
    read = [task.parse(Reply("a", question.answer)) for task, question in zip(tasks, asked, strict=True)]
    assert read == [question.stratum for question in asked] == [sex.upper(), label_of_age(age)]


def test_what_is_not_known_is_not_said() -> None:
    assert both(Patient(sex="female")) == "Sex/Age group: FEMALE"
    assert both(Patient(age=5)) == "Sex/Age group: <18"
    assert both(Patient(laterality="left")) == ""
