"""A training that is continued several times makes the steps of one that was not interrupted."""

import pytest
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel

from lmod_train.models.modules.base import correct_counts
from tests.tiny import trainer

BATCHES, EPOCHS = 2, 4


class Stopped(Exception): ...


class Stop(Callback):
    """Raises after a step."""

    def __init__(self, after):
        self.after = after

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == self.after:
            raise Stopped


class Corrected(BoringModel):
    def on_train_batch_start(self, batch, batch_idx):
        correct_counts(self.trainer.fit_loop)


def fit(model, folder, every, after=None):
    """Continue the training in a folder, and return its epochs and steps."""
    last = folder / "last.ckpt"
    saved = ModelCheckpoint(folder, save_last=True, every_n_train_steps=every, enable_version_counter=False)
    options = {"max_epochs": EPOCHS, "limit_train_batches": BATCHES, "limit_val_batches": 0}
    loop = trainer(folder, callbacks=[Stop(after), saved], enable_checkpointing=True, **options)
    loop.fit(model(), ckpt_path=last if last.exists() else None, weights_only=True)
    return loop.current_epoch, loop.global_step


STOPS = {(2,): 3, (3, 5): 2, (3, 4, 6): 1, (3, 5, 7): 2, (2, 2, 7): 3}
"""After which steps a training is stopped, and every how many it saves, in a quick run."""


@pytest.mark.parametrize(
    ("stops", "every"),
    [
        pytest.param(stops, every, marks=[] if every == quick else pytest.mark.slow)
        for stops, quick in STOPS.items()
        for every in (1, 2, 3)
    ],
)
def test_stops_add_no_step(tmp_path, every, stops):
    for after in stops:
        with pytest.raises(Stopped):
            fit(Corrected, tmp_path, every, after)
    assert fit(Corrected, tmp_path, every) == (EPOCHS, EPOCHS * BATCHES)


def test_without_the_correction_lightning_repeats_an_epoch(tmp_path):
    for after in (3, 5):
        with pytest.raises(Stopped):
            fit(BoringModel, tmp_path, 2, after)
    assert fit(BoringModel, tmp_path, 2)[1] > EPOCHS * BATCHES, "mended in Lightning: correct_counts is not needed"


def test_the_buffers_of_a_batch_norm_that_is_trained_are_counted():
    from torch import nn

    from lmod_train.models.modules.base import counted

    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert set(counted(network)) == {"1.running_mean", "1.running_var", "1.num_batches_tracked"}
    network[1].weight.requires_grad_(False)
    assert counted(network) == {}
