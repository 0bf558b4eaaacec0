"""The check of reference answers: read by the task's parser, not cut by a stop word, not named by the system text."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lmod_train.core.types import Box, Region
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.doctor.subject import Subject
from lmod_train.training.doctor.weights import misread, references
from tests.tabled import stored
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
RECORDS = [record(f"glaucoma/p/{i}", answer=WORDS[i % 2]) for i in range(40)]


def found(learnt=RECORDS, asked=(), tasks=None, **prompt):
    data = SimpleNamespace(tasks=tasks or {"glaucoma": Glaucoma()}, training=lambda: list(learnt))
    data.records = {"val": list(asked), "test": []}.get
    return list(references(Subject({"model": {"init_args": {"prompt": prompt}}}, data=data)))


def test_answers_that_are_read_pass():
    (only,) = found(asked=RECORDS[:3])
    assert (only.level, only.what) == ("ok", "43 reference answers, each read by its task's parser")


@pytest.mark.parametrize(("wrong", "level"), [(1, "warn"), (3, "warn"), (4, "fail"), (40, "fail")])
@pytest.mark.parametrize("answer", ["perhaps", "", "GLAUCOMA and NON-GLAUCOMA"])
def test_answers_that_the_parser_does_not_read_are_counted(wrong, level, answer):
    (only,) = found([replace(r, answer=answer) if i < wrong else r for i, r in enumerate(RECORDS)])
    assert only.level == level
    assert only.what.startswith(f"glaucoma: {wrong} of 40 reference answers are not read by the task's own parser")
    assert f"e.g. glaucoma/p/0: {answer!r} unparsed" in only.what


def test_answers_of_val_are_read_too():
    (only,) = found(asked=[replace(RECORDS[0], id="glaucoma/q/1", answer="perhaps")])
    assert only.level == "warn" and "glaucoma/q/1" in only.what


def test_records_of_other_tasks_are_passed_over():
    assert [f.level for f in found([*RECORDS, record("sex/p/1", task="sex", answer="?")])] == ["ok"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    stored(__file__, "references.every_region_is_read"),
)
def test_every_region_is_read(answer, problem):
    regions = tuple(Region(name, Box(0, 0, 9, 9), i) for i, name in enumerate(("optic disc", "optic cup"), 1))
    asked = record("anatomy/p/1", task="anatomy", answer=answer, regions=regions, choices=("optic disc", "optic cup"))
    assert misread(Anatomy(), asked) == problem


def test_a_parser_that_raises_is_reported():
    class Raising(Glaucoma):
        def parse(self, reply, record=None):
            raise KeyError("no such choice")

    assert "KeyError" in misread(Raising(), RECORDS[0])


@pytest.mark.parametrize(("stop", "level"), [(["-"], "fail"), (["###", "-"], "fail"), (["###"], None), ([], None)])
def test_a_stop_word_inside_the_answers_is_found(stop, level):
    cut = [f for f in found(stop=stop) if "stop word" in f.what]
    assert [f.level for f in cut] == ([level] if level else [])
    assert not cut or cut[0].what.startswith("20 of 40 reference answers")


@pytest.mark.parametrize(
    ("system", "warned"),
    stored(__file__, "references.a_system_text_that_names_one_answer_warns"),
)
def test_a_system_text_that_names_one_answer_warns(system, warned):
    assert [f.level for f in found(system_prompt=system)] == (["warn"] if warned else ["ok"])
