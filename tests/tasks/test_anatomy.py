"""Anatomy: the words asked, the reference reply, and that bad samples are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Patient, Region, Reply, Sample
from lmod_train.tasks.anatomy import Anatomy
from tests.contracts import TaskContract, record_from
from tests.tabled import tabled

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
        replace(SAMPLE, source="idrid", regions=(Region("hard exudates", BOX, 1), Region("optic disc", BOX, 2))),
        replace(SAMPLE, modality="LP", regions=(Region("left eye", BOX, 1), Region("iris", BOX, 2))),
        replace(SAMPLE, source="cataract_detection_2", modality="LP", regions=(Region("eye", BOX, 1),)),
        replace(SAMPLE, source="fairseg", modality="SLO", key="x", regions=(Region("optic cup", BOX, 1),)),
    )
    not_asked_of = (replace(SAMPLE, regions=()), replace(SAMPLE, regions=(Region("optic disc", BOX),)))


class TestContractOfTheFirstVersion(TestContract):
    task = Anatomy(wording="lmod_v1")


def test_the_words_of_the_first_version_are_the_printed_ones() -> None:
    # LMOD v1, section 3.1.2, and NAACL, appendix A.1: "This is an image [IMAGE DESCRIPTION] of type [IMAGE TYPE].
    # Please identify the type of each labeled bounding box in this image. Options can be: [REGION TYPE 1], [REGION TYPE
    # 2], ... Please just follow the format: Region ID: xxx; Type: xxx." The description is in sentences as in figure 4.
    eye = replace(SAMPLE, modality="OCT", regions=(Region("retina", BOX, 1),))
    known = replace(eye, patient=Patient(laterality="left", quality="signal strength low"))
    rest = (
        "of type Optical coherence tomography images. Please identify the type of each labeled bounding box in this "
        "image. Options can be: Choroid, IRC, MH, Retina. Please just follow the format: Region ID: xxx; Type: xxx."
    )
    for sample, described in (
        (eye, ""),
        (known, "(This is a left eye. Image quality: signal strength low.) "),
        (replace(eye, patient=Patient(quality="no defect noted")), "(Image quality: no defect noted.) "),
    ):
        (question,) = Anatomy(wording="lmod_v1").ask(sample)
        assert question.messages[0].parts[1].text == f"This is an image {described}{rest}"


def test_the_description_never_names_an_option() -> None:
    eye = replace(SAMPLE, source="cau001", modality="LP", regions=(Region("left eye", BOX, 1), Region("iris", BOX, 2)))
    for laterality, structure in (("left", "left eye"), ("right", "right eye")):
        sided = replace(
            eye, regions=(Region(structure, BOX, 1),), patient=Patient(laterality=laterality, quality="good")
        )
        (question,) = Anatomy(wording="lmod_v1").ask(sided)
        text = question.messages[0].parts[1].text
        assert text.startswith("This is an image (Image quality: good.) of type Lens photographs. ")
        before, after = text.split("Options can be: iris, pupil, right eye, left eye.")
        assert not [option for option in question.choices for part in (before, after) if option in part]
    left = replace(eye, regions=(Region("iris", BOX, 1),), patient=Patient(laterality="left"))
    (question,) = Anatomy({"LP": ["OD", "iris"]}, wording="lmod_v1").ask(left)  # not the right eye: the left one
    assert "left" not in question.messages[0].parts[1].text
    blurred = replace(
        eye, modality="OCT", regions=(Region("retina", BOX, 1),), patient=Patient(quality="Retina blurred")
    )
    (question,) = Anatomy(wording="lmod_v1").ask(blurred)
    assert question.messages[0].parts[1].text.startswith("This is an image of type Optical")


def test_lesions_are_options_all_four_or_none() -> None:
    exudates = replace(SAMPLE, source="idrid", regions=(Region("soft exudates", BOX, 1),))
    (question,) = Anatomy().ask(exudates)
    assert question.choices == (
        "optic disc", "fovea", "microaneurysms", "haemorrhages", "hard exudates", "soft exudates",
    )  # fmt: skip
    (question,) = Anatomy().ask(replace(exudates, regions=(Region("fovea", BOX, 1),)))
    assert question.choices == ("optic disc", "fovea")
    assert Anatomy({"CFP": ["optic disc", "optic cup"]}).choices == ("optic disc", "optic cup")
    (question,) = Anatomy({"CFP": ["fovea"]}, lesions=["SE", "HE"]).ask(exudates)
    assert (question.choices, question.answer) == (("fovea", "SE", "HE"), "Region ID: 1; Type: SE")


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


@tabled(
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
