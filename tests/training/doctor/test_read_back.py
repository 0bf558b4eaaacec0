"""The callback that compares the first checkpoint with the trainable weights; strategies: test_sharding.py."""

import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Batch
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.base import LmodModule
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.doctor.read_back import ReadBack
from tests.tiny import record, trainer, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], split="train") for i in range(6)]


class Learner(LmodModule):
    """A module of two trainable tensors; the second may be saved with wrong values."""

    def __init__(self, lost=False):
        super().__init__()
        self.first, self.second = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
        self.lost = lost

    def collate(self, records, root):
        return Batch(records)

    def respond(self, batch):
        raise AssertionError("nothing is asked")

    def training_step(self, batch, batch_idx):
        return (self.first - 1).square().sum() + (self.second + 1).square().sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

    def on_save_checkpoint(self, checkpoint):
        super().on_save_checkpoint(checkpoint)
        if self.lost:
            checkpoint["state_dict"]["second"] = torch.zeros(2)


class Changed(ReadBack):
    """Reads back after a tensor has changed in memory."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        pl_module.second.data += 1
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)


def fit(place, module, back, ckpt=None, epochs=2):
    data = RecordsDataModule(write_curated(place, RECORDS), [Glaucoma()], batch_size=1)
    kept = ModelCheckpoint(place / "kept", save_last=True, save_top_k=0, every_n_train_steps=4)
    options = {"max_epochs": epochs, "limit_val_batches": 0, "enable_checkpointing": True}
    trainer(place, callbacks=[kept, back], **options).fit(module, data, ckpt_path=ckpt)


def test_a_complete_checkpoint_passes_and_so_does_a_resumed_run(tmp_path):
    back, again = ReadBack(), ReadBack()
    fit(tmp_path, Learner(), back, epochs=1)
    assert back.compared == 2
    fit(tmp_path, Learner(), again, tmp_path / "kept" / "last.ckpt")
    assert again.compared == 2


def test_a_resumed_run_reads_the_checkpoint_that_it_was_resumed_from(tmp_path):
    fit(tmp_path, Learner(), ReadBack(), epochs=1)
    last, back = tmp_path / "kept" / "last.ckpt", ReadBack()
    last.rename(tmp_path / "kept" / "last.ckpt.before")  # its own path, which it restores, leads to no file
    fit(tmp_path, Learner(), back, tmp_path / "kept" / "last.ckpt.before")
    assert back.compared == 2
    with pytest.raises(LmodError, match=r"last.ckpt.before: 1 of 2 trainable tensors .*second"):
        fit(tmp_path, Learner(), Changed(), tmp_path / "kept" / "last.ckpt.before")


def test_a_tensor_that_differs_on_disk_stops_the_run(tmp_path):
    with pytest.raises(LmodError, match=r"(?s)last.ckpt: 1 of 2 trainable tensors .*e\.g\. second.*\nNext: "):
        fit(tmp_path, Learner(lost=True), ReadBack())


def test_nothing_is_read_where_the_weights_exceed_the_limit(tmp_path):
    back = ReadBack(at_most=0)
    fit(tmp_path, Learner(lost=True), back)
    assert back.compared == 0
