"""A training in two processes in which the loss of one record is no number; apart from the test, to import little."""

import os
import socket

import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import DDPStrategy

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Batch
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.strategies.saved import AnyCheckpoint
from lmod_train.tasks.glaucoma import Glaucoma
from tests import forks
from tests.tiny import trainer


class Learner(LmodModule):
    """A module of two weights; the loss or gradient of a batch with a record whose id ends with `spoilt` is wrong."""

    def __init__(self, fault="", spoilt="none"):
        super().__init__()
        self.first, self.second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
        self.fault, self.spoilt = fault, spoilt

    def collate(self, records, root):
        return Batch(records)

    def respond(self, batch):
        raise AssertionError("nothing is asked")

    def training_step(self, batch, batch_idx):
        loss = (self.first - 3).square().sum() + (self.second + 1).square().sum()
        if any(record.id.endswith(self.spoilt) for record in batch.records):
            zero = (self.first - self.first.detach()).sum()
            loss = {"loss": loss * torch.nan, "gradient": loss + zero.square().sqrt(), "": loss}[self.fault]
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.1)


def fit(place, module, *callbacks, **options):
    """Train two epochs with a checkpoint after each step."""
    data = RecordsDataModule(place, [Glaucoma()], batch_size=1)
    kept = ModelCheckpoint(place / "kept", save_last=True, save_top_k=0, every_n_train_steps=1)
    options = {"max_epochs": 2, "limit_val_batches": 0, "enable_checkpointing": True, **options}
    made = trainer(place, callbacks=[*callbacks, kept], **options)
    if "strategy" not in options:
        made.strategy.checkpoint_io = AnyCheckpoint()
    made.fit(module, data)
    return made


def work(rank, port, place, out):
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank)}
    try:
        fit(place, Learner("loss", "/2"), devices=2, strategy=DDPStrategy(process_group_backend="gloo"))
    except LmodError as error:
        (out / f"{rank}.txt").write_text(str(error))


def run(place, out):
    """Return the error of each process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    forks.ranks(work, port, place, out)
    return [(out / f"{rank}.txt").read_text() for rank in (0, 1)]
