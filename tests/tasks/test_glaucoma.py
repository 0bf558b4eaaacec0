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
