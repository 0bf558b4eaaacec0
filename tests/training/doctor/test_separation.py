"""The check for duplicates among the training records and for overlap with val and test."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lmod_train.training.doctor.reply_checks import model_input, separation
from lmod_train.training.doctor.subject import Subject
from tests.tiny import record

LEARNT = [record(f"glaucoma/p/{i}", image=[f"{i}.png"]) for i in range(200)]
ASKED = [record(f"glaucoma/q/{i}", image=[f"q{i}.png"], split="test") for i in range(100)]


def found(learnt=LEARNT, asked=ASKED):
    splits = {"val": [], "test": list(asked)}
    return list(separation(Subject({}, data=SimpleNamespace(training=lambda: list(learnt), records=splits.get))))


def copies(n, **fields):
    return [replace(r, split="test", **fields and {k: v(r) for k, v in fields.items()}) for r in LEARNT[:n]]


def test_records_of_different_images_pass_though_their_words_are_the_same():
    (only,) = found()
    assert (only.level, only.what) == (
        "ok",
        "200 training records, 100 of val and test; no record in both, no duplicates",
    )


@pytest.mark.parametrize(("n", "level"), [(1, "warn"), (2, "fail"), (50, "fail")])
@pytest.mark.parametrize("how", ["id", "content"])
def test_training_records_in_val_or_test_are_found_by_id_or_content(n, level, how):
    other = {"id": lambda r: f"glaucoma/copy/{r.key}"} if how == "content" else {"image_sha256": lambda r: ("f" * 64,)}
    (only,) = found(asked=[*ASKED, *copies(n, **other)])
    assert only.level == level and only.what.startswith(
        f"{n} of {100 + n} records of val and test are training records"
    )


def test_another_question_about_the_same_image_is_another_record():
    asked = [replace(record(f"sex/{i}", "Male or female?", [f"{i}.png"]), split="test") for i in range(9)]
    assert model_input(asked[0]) != model_input(LEARNT[0]) and [f.level for f in found(asked=asked)] == ["ok"]


@pytest.mark.parametrize(("n", "level"), [(2, "ok"), (3, "warn"), (200, "warn")])
def test_more_than_one_duplicate_in_a_hundred_warns(n, level):
    again = [replace(r, id=f"{r.id}/again") for r in LEARNT[:n]]
    (only,) = found(learnt=[*LEARNT, *again])
    assert only.level == level
    assert level == "ok" or only.what.startswith(f"{n} of {200 + n} training records are duplicates")


def test_records_of_the_same_id_are_duplicates_whatever_their_images():
    again = [replace(r, image_sha256=("e" * 64,)) for r in LEARNT[:20]]
    (only,) = found(learnt=[*LEARNT, *again])
    assert only.what.startswith("20 of 220") and only.what.endswith("glaucoma/p/0")


def test_one_question_with_two_answers_warns():
    other = replace(LEARNT[7], id="glaucoma/p/other", answer="NON-GLAUCOMA")
    (only,) = found(learnt=[*LEARNT, other])
    assert only.level == "warn" and only.what.startswith("1 questions about the same image have several answers")
    spelt = replace(LEARNT[7], id="glaucoma/p/other", answer="glaucoma ")
    assert [f.level for f in found(learnt=[*LEARNT, spelt])] == ["ok"]
