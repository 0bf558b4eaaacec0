"""The check of what splits have in common: patients, tasks, classes and pictures."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lmod_train.training.doctor.data import splits
from lmod_train.training.doctor.subject import Subject
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def made(split, n=40):
    names = [f"{split}{i}" for i in range(n)]
    paths = [f"images/phantom/{name}.png" for name in names]
    return [
        record(f"glaucoma/{name}", image=[path], answer=WORDS[i % 2], key=name, group=name, split=split)
        for i, (name, path) in enumerate(zip(names, paths, strict=True))
    ]


TRAIN, VAL, TEST = made("train"), made("val", 10), made("test", 20)


def found(train=TRAIN, val=VAL, test=TEST):
    held = {"val": list(val), "test": list(test)}
    return list(splits(Subject({}, data=SimpleNamespace(training=lambda: list(train), records=held.get))))


def test_separate_splits_pass():
    (only,) = found()
    assert only.level == "ok" and only.what.startswith("40 patients or families in training, none in val or test")


@pytest.mark.parametrize("n", [1, 20])
def test_patients_of_the_training_among_those_asked_warn(n):
    (only,) = found(test=[replace(r, group=TRAIN[i].group) if i < n else r for i, r in enumerate(TEST)])
    assert only.level == "warn" and only.what.startswith(f"{n} of 30 records of val and test are of {n} patients")


def test_the_same_group_of_another_source_is_another_patient():
    assert [f.level for f in found(test=[replace(r, group="train1", source="other") for r in TEST])] == ["ok"]


def test_tasks_and_classes_that_are_not_trained_warn():
    (only,) = found(test=[*TEST, replace(TEST[0], id="sex/1", task="sex", choices=("MALE", "FEMALE"), answer="MALE")])
    assert only.level == "warn" and only.what.endswith("absent in training: the task sex")
    (only,) = found(train=[r for r in TRAIN if r.answer != "GLAUCOMA"])
    assert only.level == "warn" and only.what.endswith("absent in training: glaucoma: GLAUCOMA")


def test_answers_in_words_of_their_own_are_no_classes():
    free = [replace(r, choices=(), answer=r.id) for r in (*TRAIN, *VAL, *TEST)]
    assert [f.level for f in found(free[:40], free[40:50], free[50:])] == ["ok"]


@pytest.mark.parametrize(("n", "level"), [(5, "warn"), (4, "ok")])
def test_a_val_of_one_class_warns_from_five_records(n, level):
    assert [f.level for f in found(val=[r for r in VAL if r.answer == "GLAUCOMA"][:n])] == [level]


@pytest.mark.parametrize(("n", "level"), [(9, "ok"), (10, "warn"), (40, "warn")])
def test_one_picture_for_many_samples_warns(n, level):
    shown = [replace(r, image_sha256=("a" * 64,)) if i < n else r for i, r in enumerate(TRAIN)]
    assert [f.level for f in found(shown)] == [level]


def test_many_questions_about_one_photograph_are_no_placeholder():
    asked = [replace(r, key="photograph", image_sha256=("a" * 64,)) for r in TRAIN]
    assert [f.level for f in found(asked)] == ["ok"]


@pytest.mark.parametrize(("n", "level"), [(2, "warn"), (40, "fail")])
def test_records_with_the_images_of_others_are_found(n, level):
    there = TRAIN[:n]
    turned = [replace(r, image_plain=o.image_plain) for r, o in zip(there, [*there[1:], there[0]], strict=True)]
    (only,) = found([*turned, *TRAIN[n:]])
    assert only.level == level and only.what.startswith(f"{n} of 70 records show another sample's image")


def test_an_image_that_several_samples_share_is_their_own():
    shared = [replace(r, image_plain=("images/phantom/shared.png",)) for r in TRAIN]
    assert [f.level for f in found(shared)] == ["ok"]


def test_every_task_with_one_class_in_val_is_named():
    from lmod_train.training.doctor.data import ENOUGH, one_class
    from tests.tiny import record

    def asked(task, answers, split):
        return [record(f"{task}/{split}/{i}", task=task, answer=a, choices=("A", "B")) for i, a in enumerate(answers)]

    learnt = asked("first", "AB", "train") + asked("second", "AB", "train")
    val = asked("first", "A" * ENOUGH, "val") + asked("second", "B" * ENOUGH, "val")
    (found,) = one_class(learnt, val)
    assert f"first: all {ENOUGH} records of val are 'A'" in found.what
    assert f"second: all {ENOUGH} records of val are 'B'" in found.what
    assert list(one_class(learnt, val[: ENOUGH - 1])) == []
