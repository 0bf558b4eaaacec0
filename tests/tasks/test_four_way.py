"""Four-way diagnosis: the words asked and the scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lmod_train.core.types import Sample
from lmod_train.tasks.four_way import FourWay
from tests.contracts import TaskContract

SAMPLE = Sample("eye_diseases", "glaucoma/a", "CFP", Path("a.jpg"), "p1", "open", labels={"diagnosis": "glaucoma"})


class TestContract(TaskContract):
    task = FourWay()
    asked_of = tuple(replace(SAMPLE, labels={"diagnosis": d}) for d in FourWay.choices)
    not_asked_of = (
        replace(SAMPLE, labels={}),
        replace(SAMPLE, labels={"diagnosis": "drusen"}),
        replace(SAMPLE, modality="LP", labels={"diagnosis": "cataract"}),  # it is no "colorful fundus image"
    )


def test_scores() -> None:
    samples = [replace(SAMPLE, key=d, labels={"diagnosis": d}) for d in FourWay.choices]
    replies = ["DISEASE: cataract", "DISEASE: DR; Explanations: x", "DISEASE: normal", "DISEASE: normal"]
    predictions = TaskContract.predictions_of(FourWay(), samples, replies)
    scores = {s.metric: s.value for s in FourWay().score(predictions) if s.subset == "all"}
    assert scores["accuracy_strict"] == 0.75
    assert scores["chance"] == 0.25
