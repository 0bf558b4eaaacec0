"""Anatomy: the words asked, the reference reply, and that bad samples are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.errors import BadArgument
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.types import Box, Region, Reply, Sample
from tests.contracts import TaskContract, record_from

BOX = Box(1, 2, 30, 40)
SAMPLE = Sample(
    "refuge", "train/a", "CFP", Path("a.jpg"), "p1", "open",
    regions=(Region("optic cup", BOX, 2), Region("optic disc", BOX, 1)),
)  # fmt: skip


class TestContract(TaskContract):
    task = Anatomy()
    asked_of = (
        SAMPLE,
        replace(SAMPLE, modality="OCT", regions=(Region("macular hole", BOX, 1), Region("retina", BOX, 2))),
        replace(SAMPLE, modality="SS", regions=(Region("cornea1", BOX, 1), Region("cornea", BOX, 2))),
        replace(SAMPLE, source="idrid", regions=(Region("fovea", BOX, 1),)),
    )
    not_asked_of = (replace(SAMPLE, regions=()), replace(SAMPLE, regions=(Region("optic disc", BOX),)))


def test_the_surgical_prompt_is_the_printed_one() -> None:
    # LMOD+, Data Curation Pipeline, representative prompt, word for word.
    (question,) = Anatomy().ask(replace(SAMPLE, modality="SS", regions=(Region("pupil", BOX, 1),)))
    assert question.messages[0].parts[1].text == (
        "This is an ophthalmology image of type Cataract surgery RGB images. Please identify and "
        "describe the type of each "
        "labeled bounding box in this image. Options can be Capsulorhexis Cystotome, Capsulorhexis "
        "Forceps, Cornea, Gauge, "
        "Incision Knife, Irrigation-Aspiration, Katena Forceps, Lens, Lens Injector, "
        "Phacoemulsification Tip, Pupil, Slit "
        "Knife, Spatula, cornea1. Please just follow the format: Region ID: xxx; Type: xxx."
    )


def test_question_of_a_fundus_photograph() -> None:
    (question,) = Anatomy().ask(SAMPLE)
    assert question.answer == "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup"
    assert question.choices == ("optic disc", "optic cup")
    assert question.marked
    assert [r.id for r in question.regions] == [1, 2]
    assert question.stratum == ""
    assert "type Color fundus photographs. " in question.messages[0].parts[1].text


def test_choices_follow_the_options() -> None:
    assert Anatomy({"CFP": ["optic disc", "fovea"]}).choices == ("optic disc", "fovea")


@pytest.mark.parametrize(
    ("task", "sample", "named"),
    [
        (Anatomy(), replace(SAMPLE, modality="MRI"), "options"),
        (Anatomy(image_types={}), SAMPLE, "image_types"),
        (Anatomy(), replace(SAMPLE, regions=(Region("fovea", BOX, 1),)), "fovea"),
        (Anatomy(), replace(SAMPLE, regions=(Region("optic disc", BOX, 1), Region("optic cup", BOX, 1))), "region ids"),
        (Anatomy(), replace(SAMPLE, regions=(Region("optic disc", BOX, 1), Region("optic cup", BOX))), "region ids"),
    ],
)
def test_what_cannot_be_asked_is_named(task: Anatomy, sample: Sample, named: str) -> None:
    with pytest.raises(BadArgument, match=named):
        list(task.ask(sample))


def test_scores_of_a_right_a_hallucinating_and_a_silent_reply() -> None:
    task = Anatomy()
    said = {
        "a": "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup",
        "b": "Region ID: 1; Type: optic disc\nRegion ID: 9; Type: optic cup",
        "c": "",
    }
    predictions = TaskContract.predictions_of(task, [replace(SAMPLE, key=key) for key in said], list(said.values()))
    scores = {s.metric: s.value for s in task.score(predictions) if s.subset == "all"}
    assert scores["precision"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert scores["hr"] == pytest.approx((1 + 0.5) / 2)
    assert scores["share_unparsed"] == pytest.approx(1 / 3)


def test_parse_reads_the_records_own_choices() -> None:
    (question,) = Anatomy().ask(replace(SAMPLE, modality="OCT", regions=(Region("macular hole", BOX, 1),)))
    record = record_from(question, SAMPLE, Anatomy())
    assert Anatomy().parse(Reply("x", "Region ID: 1; Type: macular hole"), record) == {1: "MH"}
