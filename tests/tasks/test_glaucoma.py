"""Glaucoma: the words asked and that a label of another kind is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Sample
from lmod_train.tasks.glaucoma import Glaucoma
from tests.contracts import TaskContract

SAMPLE = Sample("refuge", "train/a", "CFP", Path("a.jpg"), "p1", "open", labels={"glaucoma": "yes"})


class TestContract(TaskContract):
    task = Glaucoma()
    asked_of = (SAMPLE, replace(SAMPLE, labels={"glaucoma": "no"}))
    not_asked_of = (replace(SAMPLE, labels={}), replace(SAMPLE, labels={"diagnosis": "glaucoma"}))


def test_the_words_are_the_papers() -> None:
    (question,) = Glaucoma().ask(SAMPLE)
    assert question.messages[0].parts[1].text == (
        "This is an ophthalmology fundus image. Based on the image, please tell me whether this image "
        "contains glaucoma, then "
        "give justifications. Follow the format: GLAUCOMA / NON-GLAUCOMA; Explanation: <JUSTIFICATION>."
    )
    assert (question.answer, question.stratum, question.marked) == ("GLAUCOMA", "GLAUCOMA", False)


def test_the_image_type_can_be_told() -> None:
    (question,) = Glaucoma("an ophthalmology SLO image").ask(SAMPLE)
    assert question.messages[0].parts[1].text.startswith("This is an ophthalmology SLO image. Based")


def test_only_the_named_sources_are_asked_about() -> None:
    task = Glaucoma(sources=["origa", "g1020"])
    assert [len(list(task.ask(replace(SAMPLE, source=name)))) for name in ("refuge", "origa", "g1020")] == [0, 1, 1]


def test_a_label_of_another_kind_is_named() -> None:
    with pytest.raises(BadArgument, match=r"refuge/train/a.*'suspect'"):
        list(Glaucoma().ask(replace(SAMPLE, labels={"glaucoma": "suspect"})))


def test_scores() -> None:
    samples = [
        replace(SAMPLE, key=key, labels={"glaucoma": label})
        for key, label in zip("abcd", ("yes", "yes", "no", "no"), strict=True)
    ]
    replies = ["GLAUCOMA", "NON-GLAUCOMA", "No signs of glaucoma.", "Please consult an eye doctor."]
    predictions = TaskContract.predictions_of(Glaucoma(), samples, replies)
    scores = {s.metric: s.value for s in Glaucoma().score(predictions) if s.subset == "all"}
    assert scores["accuracy_strict"] == 0.5
    assert scores["accuracy_answered"] == pytest.approx(2 / 3)
    assert scores["sensitivity"] == 0.5
    assert scores["specificity"] == 0.5
    assert scores["share_refused"] == 0.25
