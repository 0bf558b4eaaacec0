from pathlib import Path

from lmod_train.curation.classes import own_part
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.sex import Sex
from lmod_train.types import Patient, Sample


def test_a_reply_for_two_tasks_is_cut_to_each_ones_own_class():
    patients = [Patient(sex=sex, age=age) for sex in ("male", "female") for age in (5, 25, 64, 90)]
    for task, classes in ((Sex("lmod_v1"), 2), (AgeGroup("lmod_v1"), 4)):
        questions = [q for p in patients for q in task.ask(Sample("s", "1", "SLO", Path(), "1", "", patient=p))]
        assert len({q.answer for q in questions}) == 8
        parts = [own_part(q.answer, q.choices) for q in questions]
        assert parts == [f"Sex/Age group: {q.stratum}" for q in questions] and len(set(parts)) == classes


def test_any_other_reply_stays_as_it_is():
    for answer in ("GLAUCOMA", "Stage: 2", "Region ID: 1; Type: optic disc", "A pale disc / cup: both.", ""):
        assert own_part(answer, Glaucoma.choices) == answer
    assert own_part("MALE / FEMALE", Sex.choices) == "MALE / FEMALE"
