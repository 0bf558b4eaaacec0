"""The check of steps, epochs, validations and checkpoints, on lengths with a known number of steps."""

from types import SimpleNamespace

import pytest

from lmod_train.training.doctor.recipe import length_of, schedule
from lmod_train.training.doctor.subject import Subject
from tests.tabled import stored
from tests.tiny import record

RECORDS = [record(f"glaucoma/p/{i}") for i in range(330)]
USUAL = {"max_epochs": 3, "accelerator": "cpu", "devices": 1}


def subject(trainer=None, batch_size=16, val=True, n=330, environment=None, **more):
    data = SimpleNamespace(training=lambda: RECORDS[:n], records=lambda split: RECORDS[: 9 * val])
    config = {"trainer": USUAL | (trainer or {}), "data": {"batch_size": batch_size}, **more}
    return Subject(config, data=data, environment=environment or {})


COUNTED = stored(__file__, "schedule.COUNTED")


def test_steps_are_counted_as_lightning_counts_them():
    lengths = [(trainer, length_of(subject(trainer))) for trainer, *_ in COUNTED]
    wrong = [
        (trainer, length)
        for (trainer, length), (_, *expected) in zip(lengths, COUNTED, strict=True)
        if [length.in_epoch, length.total] != expected
    ]
    assert not wrong


def test_a_launcher_multiplies_the_batch():
    assert length_of(subject(environment={"WORLD_SIZE": "4"})).in_epoch == 6


WARNED = {
    "one step an epoch": (subject(batch_size=512), "3 optimiser steps, 1 an epoch"),
    "limit 1": (subject({"limit_train_batches": 1}), "3 optimiser steps, 1 an epoch"),
    "few steps": (subject({"max_steps": 19}), "19 optimiser steps"),
    "no end given": (subject({"max_epochs": None}), "neither max_epochs nor max_steps"),
    "no val": (subject(val=False), "no validation: no record in the split val"),
    "val off": (subject({"limit_val_batches": 0}), "no validation: limit_val_batches=0"),
    "val too late": (subject({"check_val_every_n_epoch": 5}), "no validation: a validation every 5 epochs, of 3"),
    "checkpoint too late": (subject(checkpoint={"every_n_train_steps": 64}), "a checkpoint every 64 steps, of 63"),
}
HEALTHY = {
    "usual": subject(),
    "one epoch of 20 steps": subject({"max_epochs": 1}),
    "80 steps of an epoch": subject({"max_epochs": 1, "max_steps": 80}, batch_size=2),
    "validation at the end": subject({"check_val_every_n_epoch": 3}),
    "validation by steps": subject({"check_val_every_n_epoch": 5, "val_check_interval": 10}),
    "checkpoints": subject(checkpoint={"every_n_train_steps": 63}),
    "a classifier's 100 epochs": subject({"max_epochs": 100}),
}


def test_a_length_that_may_not_be_meant_warns():
    wrong = {}
    for name, (examined, start) in WARNED.items():
        results = list(schedule(examined))
        warned = results[0]
        if [r.level for r in results] != ["warn", "ok"] or not (
            warned.what.startswith(start) and warned.why and warned.cure
        ):
            wrong[name] = results
    assert not wrong


def test_usual_lengths_pass():
    results = {name: list(schedule(examined)) for name, examined in HEALTHY.items()}
    assert {name: found for name, found in results.items() if [f.level for f in found] != ["ok"]} == {}


@pytest.mark.parametrize("trainer", [{"max_epochs": 0}, {"max_steps": 0}, {"limit_train_batches": 0.0}])
def test_no_step_fails(trainer):
    assert "fail" in [f.level for f in schedule(subject(trainer))]


@pytest.mark.parametrize("option", ["fast_dev_run", "overfit_batches"])
def test_options_for_tests_warn(option):
    assert any(f.what.startswith(f"trainer.{option}=") for f in schedule(subject({option: 1})) if f.level == "warn")


def test_many_epochs_warn_for_a_language_model():
    tuned = subject({"max_epochs": 51})
    tuned.module = SimpleNamespace(lora=None, optimisation=SimpleNamespace(lr=2e-5))
    assert [f.level for f in schedule(tuned)] == ["warn", "ok"]
