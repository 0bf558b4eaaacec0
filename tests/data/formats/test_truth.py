"""The right choice is what the record's own task reads in its reference reply."""

from __future__ import annotations

from lmod_train.data.formats.true_answer import Truths
from tests.data.formats.conftest import anatomy, record, talk
from tests.tabled import tabled


@tabled(
    ("fields", "truth"),
    [
        ({}, "NON-GLAUCOMA"),
        (
            {
                "task": "four_way",
                "task_class": "lmod_train.tasks.four_way.FourWay",
                "choices": ("cataract", "diabetic retinopathy", "glaucoma", "normal"),
                "answer": "DISEASE: diabetic retinopathy",
            },
            "diabetic retinopathy",
        ),
        ({"task_class": "nowhere.to.be.Found"}, "NON-GLAUCOMA"),
        ({"task_class": "nowhere.to.be.Found", "answer": "DRUSEN TRUE", "choices": ("TRUE", "FALSE")}, "TRUE"),
        ({"answer": "7", "choices": ()}, ""),
        ({"answer": "neither"}, ""),
    ],
)
def test_the_right_choice_or_nothing(fields: dict, truth: str):
    assert Truths().of(record(fields.pop("task", "glaucoma"), 1, **fields)) == truth


def test_regions_and_free_text_have_none():
    assert [Truths().of(r) for r in (anatomy(0, "train"), *talk())] == ["", "", ""]
