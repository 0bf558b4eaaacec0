"""Copies among the training records, and between them and what is asked."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lmod_train.doctor.separation import separation, told
from lmod_train.doctor.subject import Subject
from tests.tiny import record

LEARNT = [record(f"glaucoma/p/{i}", image=[f"{i}.png"]) for i in range(200)]
ASKED = [record(f"glaucoma/q/{i}", image=[f"q{i}.png"], split="test") for i in range(100)]


def found(learnt=LEARNT, asked=ASKED):
    splits = {"val": [], "test": list(asked)}
    return list(separation(Subject({}, data=SimpleNamespace(training=lambda: list(learnt), records=splits.get))))


def copies(n, **fields):
    return [replace(r, split="test", **fields and {k: v(r) for k, v in fields.items()}) for r in LEARNT[:n]]


def test_records_of_other_pictures_are_apart_though_their_words_are_the_same():
    (only,) = found()
    assert (only.level, only.what) == ("ok", "200 questions to learn from, 100 others to ask; none in both, none twice")


@pytest.mark.parametrize(("n", "level"), [(1, "warn"), (2, "fail"), (50, "fail")])
@pytest.mark.parametrize("how", ["id", "content"])
def test_training_records_that_are_asked_are_found_by_id_or_by_what_they_show(n, level, how):
    other = {"id": lambda r: f"glaucoma/copy/{r.key}"} if how == "content" else {"image_sha256": lambda r: ("f" * 64,)}
    (only,) = found(asked=[*ASKED, *copies(n, **other)])
    assert only.level == level and only.what.startswith(
        f"{n} of {100 + n} records of val and test are training records"
    )


def test_another_question_about_a_picture_is_another_record():
    asked = [replace(record(f"sex/{i}", "Male or female?", [f"{i}.png"]), split="test") for i in range(9)]
    assert told(asked[0]) != told(LEARNT[0]) and [f.level for f in found(asked=asked)] == ["ok"]


@pytest.mark.parametrize(("n", "level"), [(2, "ok"), (3, "warn"), (200, "warn")])
def test_doubled_records_are_told_of_from_one_in_a_hundred(n, level):
    again = [replace(r, id=f"{r.id}/again") for r in LEARNT[:n]]
    (only,) = found(learnt=[*LEARNT, *again])
    assert only.level == level
    assert level == "ok" or only.what.startswith(f"{n} of {200 + n} training records come again")


def test_records_of_one_id_are_doubled_whatever_they_show():
    again = [replace(r, image_sha256=("e" * 64,)) for r in LEARNT[:20]]
    (only,) = found(learnt=[*LEARNT, *again])
    assert only.what.startswith("20 of 220") and only.what.endswith("glaucoma/p/0")


def test_one_question_with_two_answers_is_told_of():
    other = replace(LEARNT[7], id="glaucoma/p/other", answer="NON-GLAUCOMA")
    (only,) = found(learnt=[*LEARNT, other])
    assert only.level == "warn" and only.what.startswith("1 questions about the same picture have several answers")
    spelt = replace(LEARNT[7], id="glaucoma/p/other", answer="glaucoma ")
    assert [f.level for f in found(learnt=[*LEARNT, spelt])] == ["ok"]


def test_no_data_is_nothing_to_look_at():
    assert [f.level for f in separation(Subject({}))] == ["skip"]
