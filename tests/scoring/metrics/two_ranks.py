"""The work of each of two processes, in a module of its own so that they import little."""

import torch
import torch.distributed as dist

from lmod_train.core.types import Unparsed
from lmod_train.scoring.metrics.named import Accuracy
from lmod_train.scoring.metrics.prediction import PredictionMetric
from tests.scoring.make import prediction
from tests.scoring.metrics.score_functions import binary

TRUTHS = ["yes", "no", "yes", "yes", "no", "no", "yes", "no", "yes", "no", "yes"]
ANSWERS = ["yes", "no", "no", "yes", "yes", "no", Unparsed("refused"), "no", "yes", "no", Unparsed("empty")]
ALL = [prediction(f"{i:02}", s, t, group=str(i // 2)) for i, (s, t) in enumerate(zip(ANSWERS, TRUTHS, strict=True))]

# Eleven items on ranks of 7 and 5, one of them twice, as a padding sampler deals them; and an empty rank.
SHARES = {"uneven": [ALL[:7], ALL[6:]], "one empty": [[], ALL]}


def work(rank, port, folder):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    found = {}
    for name, shares in SHARES.items():
        metric, accuracy = PredictionMetric(binary), Accuracy(binary)
        for one in shares[rank]:  # batches of one, so that the ranks also differ in updates
            metric.update([one])
            accuracy.update([one])
        local = PredictionMetric(binary, sync_on_compute=False)
        local.update(shares[rank])
        found[name] = (
            list(metric.compute()),
            accuracy.compute().item(),
            list(local.compute()),
            len(metric.predictions()),
        )
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()
