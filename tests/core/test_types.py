"""The nouns: what each answer is counted as, and a batch that Lightning can move without looking into it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import pytest

from lmod_train.core.types import (
    Batch,
    Box,
    Patient,
    Prediction,
    Reason,
    Record,
    Reply,
    Sample,
    Status,
    Unparsed,
    own_part,
    status_of,
)
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.sex import Sex

RECORD = Record(
    id="t/s/1", task="t", task_class="m.T", task_version=1, source="s", key="1", modality="CFP", image=("a.jpg",),
    image_plain=("a.jpg",), image_sha256=("0",), split="val", group="g", language="en", messages=(),
    choices=("YES", "NO"), answer="YES",
)  # fmt: skip

ACCOUNT: dict[Reason, Status] = {
    "empty": "unparsed",
    "no_match": "unparsed",
    "ambiguous": "unparsed",
    "out_of_range": "unparsed",
    "repetition": "unparsed",
    "parser_error": "unparsed",
    "refused": "refused",
    "truncated": "truncated",
    "failed": "failed",
}


class Moving:
    """Something with a `to`, as a tensor has, that remembers where it went."""

    def __init__(self, *place: Any, **how: Any) -> None:
        self.place, self.how = place, how

    def to(self, *place: Any, **how: Any) -> Moving:
        return Moving(*place, **how)


class Shown(Batch):
    """A kind of batch with two attributes that move and one that does not."""

    def __init__(self, records: list[Record], images: Any, ids: Any, counts: list[int]) -> None:
        super().__init__(records)
        self.images, self.ids, self.counts = images, ids, counts


def test_every_reason_has_its_account():
    assert set(ACCOUNT) == set(get_args(Reason))
    assert {reason: status_of(Unparsed(reason)) for reason in ACCOUNT} == ACCOUNT
    assert {*ACCOUNT.values(), "answered"} == set(get_args(Status))


@pytest.mark.parametrize("answer", ["NORMAL", "", 0.0, 3.5, {1: "optic disc"}, {}, MappingProxyType({2: "cup"})])
def test_an_answer_is_answered_whatever_its_kind(answer: str | float | Mapping[int, str]):
    assert status_of(answer) == "answered"
    assert Prediction(RECORD, Reply("t/s/1", "x"), answer).status == "answered"


def test_a_prediction_has_the_status_of_its_answer():
    assert Prediction(RECORD, Reply("t/s/1", ""), Unparsed("truncated")).status == "truncated"


def test_a_batch_moves_what_can_move_and_nothing_else():
    batch = Shown([RECORD, RECORD], Moving("cpu"), Moving("cpu"), [1, 2])
    moved = batch.to("cuda:1", non_blocking=True)
    assert [(m.place, m.how) for m in (moved.images, moved.ids)] == [(("cuda:1",), {"non_blocking": True})] * 2
    assert (type(moved), moved.counts, moved.records, len(moved)) == (Shown, [1, 2], [RECORD, RECORD], 2)
    assert batch.images.place == ("cpu",), "the batch that was moved stays where it was"
    assert moved.records[0] is RECORD


def test_a_batch_is_plain_so_that_lightning_does_not_walk_into_it():
    assert not dataclasses.is_dataclass(Batch)
    assert not issubclass(Batch, Mapping | list | tuple)
    assert callable(Batch.to)


def test_an_empty_batch_moves_too():
    assert len(Batch([]).to("cpu")) == 0


def test_a_real_tensor_changes_its_type_with_its_place():
    torch = pytest.importorskip("torch")
    batch = Shown([RECORD], torch.ones(1, 3, 2, 2), None, [])
    assert batch.to("meta").images.device.type == "meta"
    assert batch.to("cpu", torch.bfloat16).images.dtype is torch.bfloat16


def test_a_batch_of_another_kind_is_refused_with_both_names():
    batch = Shown([RECORD], None, None, [])
    assert Shown.of(batch) is batch and Batch.of(batch) is batch
    with pytest.raises(TypeError, match=r"batch=lmod_train\.core\.types\.Batch: expected a .*\.Shown\.\nNext: collate"):
        Shown.of(Batch([RECORD]))


def test_nouns_are_frozen_and_equal_by_value():
    assert dataclasses.replace(RECORD) == RECORD != dataclasses.replace(RECORD, answer="NO")
    with pytest.raises(dataclasses.FrozenInstanceError):
        RECORD.answer = "NO"  # type: ignore[misc]
    assert (Box(1, 1, 1, 4).width, Box(1, 1, 1, 4).height, Box(1, 1, 1, 4).area) == (0, 3, 0)


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
