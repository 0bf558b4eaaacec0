"""A LightningModule of one's own with the package's metrics and without its callback, in one process or in two.

It stands alone so that the processes import little.
"""

import json
import os
from pathlib import Path
from unittest import mock

import torch
from lightning import LightningModule
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader
from torchmetrics.utilities.distributed import gather_all_tensors

from lmod_train import Batch, RegionF1
from tests import forks
from tests.scoring.metrics.answers import Counted, anatomy, eyes, predictions, words
from tests.tiny import trainer

EYES, WORDS = eyes(), words()
FOUND = [*predictions(*WORDS), *predictions(*EYES)]
SAID = {p.record.id: p for p in FOUND}


class Own(LightningModule):
    """Answers with what is planned, worse in every epoch but the last one."""

    def __init__(self, tasks):
        super().__init__()
        collections = {task.name: task.metrics().clone(prefix=f"val/{task.name}/") for task in tasks}
        self.metrics = torch.nn.ModuleDict(collections)
        self.f1 = RegionF1()
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def training_step(self, batch, batch_idx):
        return self.weight**2

    def validation_step(self, batch, batch_idx):
        last = self.current_epoch == self.trainer.max_epochs - 1
        texts = [words_of(SAID[r.id]) if last else "no idea" for r in batch.records]
        for metrics in self.metrics.values():
            metrics.update(texts, batch.records)
            self.log_dict(metrics, batch_size=len(batch))
        regions = [SAID[r.id] for r in batch.records if r.regions]
        truths = [{region.id: region.structure for region in p.record.regions} for p in regions]
        self.f1.update([p.answer if last else None for p in regions], truths, ids=[p.record.id for p in regions])
        self.log("val/f1", self.f1, batch_size=len(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def words_of(prediction):
    """Return a reply in which the task reads the planned answer."""
    if isinstance(prediction.answer, dict):
        return "\n".join(f"Region ID: {i}; Type: {s}" for i, s in prediction.answer.items())
    return prediction.answer if isinstance(prediction.answer, str) else ""


def fit(folder, **options):
    """Train and validate for two epochs; return what was logged last, the calls of the score, and of the gathering."""
    task, gathers = Counted(), []
    module = Own([task, anatomy()])
    counted = next(iter(module.metrics["glaucoma"].values(copy_state=False))).shared.task.calls
    records = [p.record for p in FOUND]
    loaders = [DataLoader(records, batch_size=n, collate_fn=Batch) for n in (30, 5)]
    quiet = trainer(folder, max_epochs=2, num_sanity_val_steps=2, use_distributed_sampler=True, **options)
    with mock.patch(
        "lmod_train.scoring.metrics.named.gather_all_tensors",
        lambda *arguments: gathers.append(1) or gather_all_tensors(*arguments),
    ):
        quiet.fit(module, *loaders)
    return {name: float(value) for name, value in quiet.callback_metrics.items()}, counted, len(gathers)


def work(rank, port, folder):
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank)}
    found = fit(folder, devices=2, strategy=DDPStrategy(process_group_backend="gloo"))
    Path(folder, f"{rank}.json").write_text(json.dumps(found))


def two(folder, port):
    forks.ranks(work, port, str(folder))
    return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in (0, 1)]
