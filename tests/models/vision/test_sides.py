"""Questions whose answers a mirrored image changes are refused."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.models.vision.sides import (
    names_a_side,
    refuse_sided_choices,
    refuse_sided_flips,
    refuse_sided_questions,
)
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.staging import Staging
from tests.tiny import record

LP = ("iris", "pupil", "right eye", "left eye")


@pytest.mark.parametrize("text", ["Left", "the right-hand side", "laterality", "OD", "oculus sinister", "右眼", "侧别"])
def test_sides_are_found_in_any_spelling(text):
    assert names_a_side(text)


@pytest.mark.parametrize(
    "text", ["", "bright", "cleft", "diagnosis", "body", "nasal", "temporal", "upper quarter", "青光眼"]
)
def test_words_that_hold_no_side_are_none(text):
    assert not names_a_side(text)


def test_choices_with_a_side_are_refused_by_name():
    with pytest.raises(BadArgument, match=r"views='flip': .*\(right eye, left eye\)\.\nNext: set .*views: none"):
        refuse_sided_choices(LP)
    for task in (Glaucoma(), FourWay(), Conditions(), Staging("icdr")):
        refuse_sided_choices(task.choices)


def test_questions_about_sides_and_regions_are_refused_by_id():
    plain, region = record("t/1"), (Region("optic disc", Box(0, 0, 9, 9), 1),)
    refuse_sided_questions([])
    refuse_sided_questions([plain])
    for wrong, why in (
        (record("t/2", text="Is this a left eye?", choices=("YES", "NO")), r"\(t/2 names a side in its question\)"),
        (record("t/2", regions=region), r"\(t/2 asks about regions\)"),
        (record("t/2", choices=LP), "right eye, left eye"),
    ):
        with pytest.raises(BadArgument, match=why):
            refuse_sided_questions([plain, wrong])


def test_training_does_not_mirror_images_of_classes_with_a_side():
    refuse_sided_flips(LP, 0)
    refuse_sided_flips(Glaucoma.choices, 0.5)
    with pytest.raises(BadArgument, match=r"augmentation.flip=0.5: .*\(right eye, left eye\)\.\nNext: .*flip: 0$"):
        refuse_sided_flips(LP, 0.5)
