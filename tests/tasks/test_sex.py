"""Sex: the words of both papers, who is asked, and the scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score, f1_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Patient, Sample
from lmod_train.tasks.sex import Sex
from tests.contracts import TaskContract

SAMPLE = Sample("brset", "img1", "CFP", Path("a.jpg"), "p1", "open", patient=Patient(sex="male"))
WOMAN = replace(SAMPLE, patient=Patient(sex="female", age=50))


class TestContract(TaskContract):
    task = Sex()
    asked_of = (SAMPLE, WOMAN)
    not_asked_of = (replace(SAMPLE, patient=Patient(age=50)),)


class TestContractOfTheFirstVersion(TestContract):
    task = Sex(wording="lmod_v1")


def test_what_cannot_be_asked_is_named() -> None:
    with pytest.raises(BadArgument, match="wording='lmod'"):
        Sex(wording="lmod")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"brset/img1='MRI'.*\n.*correct the source"):
        list(Sex().ask(replace(SAMPLE, modality="MRI")))


def test_scores() -> None:
    samples = [
        replace(SAMPLE, key=k, patient=Patient(sex=s)) for k, s in zip("abcd", ["male", "female"] * 2, strict=True)
    ]
    replies = ["Sex: MALE", "Sex: M; Explanations: large disc", "The patient is a man.", "无法判断性别"]
    predictions = TaskContract.predictions_of(Sex(), samples, replies)
    assert [p.answer for p in predictions[:3]] == ["MALE", "MALE", "MALE"]
    scores = {s.metric: s.value for s in Sex().score(predictions) if s.subset == "all"}
    truths, said = ["MALE", "FEMALE", "MALE", "FEMALE"], ["MALE", "MALE", "MALE", "?"]
    assert scores["accuracy_strict"] == accuracy_score(truths, said)
    assert scores["macro_f1"] == pytest.approx(f1_score(truths, said, labels=["MALE", "FEMALE"], average="macro"))
    assert (scores["chance"], scores["share_refused"]) == (0.5, 0.25)
