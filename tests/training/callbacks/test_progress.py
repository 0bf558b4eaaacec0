"""Lines about the progress of a run, checked against a clock whose time is known."""

from __future__ import annotations

import logging

import pytest
import torch
from lightning import Trainer
from lightning.pytorch.demos.boring_classes import BoringModel, RandomDataset

from lmod_train.training.callbacks.progress import Progress, time_left

LOGGER = "lightning.pytorch.utilities.rank_zero"


class Clock:
    """A clock that goes on by ten seconds with each training batch, and by one with each evaluation batch."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Model(BoringModel):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def training_step(self, batch, batch_idx):
        self.clock.now += 10
        self.log("train/loss", torch.tensor(0.123456789))
        return super().training_step(batch, batch_idx)

    def validation_step(self, batch, batch_idx):
        self.clock.now += 1

    test_step = predict_step = validation_step

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.00012345)

    def train_dataloader(self):
        return torch.utils.data.DataLoader(RandomDataset(32, 20), batch_size=1)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(RandomDataset(32, 4), batch_size=1)

    test_dataloader = predict_dataloader = val_dataloader


@pytest.fixture
def lines(tmp_path, caplog):
    def lines(command="fit", every=60.0, **options):
        clock = Clock()
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False,
                 "enable_checkpointing": False, "num_sanity_val_steps": 0, "max_epochs": 1}  # fmt: skip
        trainer = Trainer(
            accelerator="cpu", default_root_dir=tmp_path, callbacks=[Progress(every, clock)], **quiet | options
        )
        with caplog.at_level(logging.INFO, LOGGER):
            getattr(trainer, command)(Model(clock))
        return [r.getMessage() for r in caplog.records if " left" in r.getMessage()]

    return lines


def test_a_line_a_minute_and_one_after_each_validation_states_the_four_facts(lines):
    facts = "loss 0.1235, learning rate 0.000123"
    assert lines() == [
        f"step 6 of 20, {facts}, 2 min left",  # 60 s for 6 steps: 140 s for the 14 others
        f"step 12 of 20, {facts}, 1 min left",
        f"step 18 of 20, {facts}, 20 s left",
        f"validated at step 20 of 20, {facts}, 0 s left",
    ]


def test_steps_are_those_of_the_optimiser(lines):
    assert lines(accumulate_grad_batches=4, limit_val_batches=0)[0].startswith("step 1 of 5, ")


def test_the_last_step_has_a_line_where_nothing_is_validated(lines):
    assert lines(every=1e9, limit_val_batches=0) == ["step 20 of 20, loss 0.1235, learning rate 0.000123, 0 s left"]


def test_a_training_without_an_end_has_steps_and_no_time_left(lines, monkeypatch):
    monkeypatch.setattr(Model, "on_train_epoch_end", lambda self: setattr(self.trainer, "should_stop", True))
    assert lines(max_epochs=-1)[0] == "step 6, loss 0.1235, learning rate 0.000123, time left unknown"


@pytest.mark.parametrize("command", ["validate", "test", "predict"])
def test_an_evaluation_counts_its_batches(lines, command):
    assert lines(command, every=2) == [
        "evaluation: batch 2 of 4, 2 s left",
        "evaluation: batch 4 of 4, 0 s left",
    ]


def test_a_long_validation_during_training_counts_too(lines):
    assert "validation during training: batch 3 of 4, 1 s left" in lines(every=3)


def test_a_progress_bar_takes_the_place_of_the_lines(lines):
    assert lines(every=0, enable_progress_bar=True) == []


def test_a_missing_loss_is_called_unknown(lines, monkeypatch):
    monkeypatch.setattr(Model, "log", lambda *a, **k: None)
    assert "loss unknown" in lines()[0]


def test_time_is_rounded_to_what_is_read_at_a_glance():
    assert [time_left(s) for s in (59.4, 61, 3599, 3660)] == [
        "59 s left", "1 min left", "1 h 0 min left", "1 h 1 min left"
    ]  # fmt: skip
