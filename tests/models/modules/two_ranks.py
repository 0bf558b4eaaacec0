"""A fit on frozen features in two processes; apart from the test, so that they import little."""

import json
import os
import time

import numpy as np
import torch
from lightning.pytorch.strategies import DDPStrategy

from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.linear_probe import LinearProbe
from lmod_train.models.vision import feature_table
from lmod_train.models.vision.feature_table import Encoder
from lmod_train.tasks.glaucoma import Glaucoma
from tests import forks
from tests.tiny import trainer

TINY = Encoder("random", "tiny", 32)
PIECE = 3


def work(rank, port, curated, out):
    """Fit one epoch; note which pictures this process cut, and what features it has in the end."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank)}
    cut, original = [], feature_table.cut_all

    def noted(crops, *rest):
        cut.extend(crop.image for crop in crops)
        (out / f"begun-{rank}").touch()
        for _ in range(6000):  # both begin together, whatever else the machine does
            if (out / f"begun-{1 - rank}").exists():
                break
            time.sleep(0.01)
        time.sleep(0.3 * rank)  # the second is slow
        return original(crops, *rest)

    feature_table.PIECE, feature_table.cut_all = PIECE, noted
    task = Glaucoma()
    module = LinearProbe(TINY, task.choices)
    options = {"devices": 2, "strategy": DDPStrategy(process_group_backend="gloo"), "max_epochs": 1}
    trainer(out / "run", limit_val_batches=0, **options).fit(
        module, datamodule=RecordsDataModule(curated, [task], batch_size=6, seed=0)
    )
    table = module.dialect.table
    np.save(out / f"{rank}.npy", table.take(sorted(table.names)))
    (out / f"{rank}.json").write_text(json.dumps([cut, module.head.bias.tolist()]))


def run(folder, out, port):
    """Run both processes on a curated folder; return for each its pictures, its bias, and its features."""
    forks.ranks(work, port, folder, out)
    return [(*json.loads((out / f"{rank}.json").read_text()), np.load(out / f"{rank}.npy")) for rank in (0, 1)]
