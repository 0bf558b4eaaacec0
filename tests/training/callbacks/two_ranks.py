"""A fit and its validation in two processes; apart from the test, so that they import little."""

import json
import os

import torch
from lightning import Callback
from lightning.pytorch.strategies import DDPStrategy

from lmod_train.core.types import Batch, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.base import LmodModule
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.generation import GenerationEval
from tests import forks
from tests.tiny import record, trainer, write_curated

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def collate(records, root):
    return Batch(records)


class Buffered(LmodModule):
    """Wrong about every third record. Its buffer is sent from rank to rank at each step, evaluation included."""

    def __init__(self):
        super().__init__()
        self.collate = collate
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.register_buffer("seen", torch.zeros(3))

    def training_step(self, batch, batch_idx):
        return (self.weight + self.seen.sum()) ** 2

    def respond(self, batch):
        number = {r.id: int(r.id.rpartition("/")[2]) for r in batch.records}
        right = {i: n % 3 != 0 for i, n in number.items()}
        return [Reply(r.id, WORDS[number[r.id] % 2 ^ (not right[r.id])], step=self.step) for r in batch.records]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Note(Callback):
    """Writes what each rank logged."""

    def on_validation_end(self, trainer, pl_module):
        logged = {k: float(v) for k, v in trainer.callback_metrics.items()}
        evaluation = next(c for c in trainer.callbacks if isinstance(c, GenerationEval))
        scores = evaluation.scored["glaucoma"].scores
        found = {
            "accuracy": logged["val/glaucoma/accuracy_strict"],
            "n": next(s.n for s in scores if (s.subset, s.metric) == ("all", "accuracy_strict")),
            "trained": trainer.global_step,
        }
        with (trainer.datamodule.curated / f"{trainer.global_rank}.json").open("w") as file:
            json.dump(found, file)


def fit(folder, count):
    """Train one epoch on ten records, validate on `count`."""
    data = RecordsDataModule(folder / "curated", [Glaucoma()], batch_size=1, eval_batch_size=2)
    strategy = DDPStrategy(process_group_backend="gloo")
    options = {"devices": 2, "strategy": strategy, "max_epochs": 1, "callbacks": [GenerationEval(), Note()]}
    trainer(folder / "run", **options).fit(Buffered(), datamodule=data)


def work(rank, port, folder, counts):
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank)}
    for count in counts:
        fit(folder / str(count), count)


def run(folder, port, counts):
    """Run both processes on so many validation records each; return count -> what each rank logged."""
    for count in counts:
        splits = ["val"] * count + ["train"] * 10
        write_curated(
            folder / str(count) / "curated",
            [
                record(f"glaucoma/p/{i:02}", image=[f"{i}.png"], answer=WORDS[i % 2], split=s)
                for i, s in enumerate(splits)
            ],
        )
    forks.ranks(work, port, folder, counts)
    return {
        c: [json.loads((folder / str(c) / "curated" / f"{rank}.json").read_text()) for rank in (0, 1)] for c in counts
    }
