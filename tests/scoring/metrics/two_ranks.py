"""The work of each of two processes, in a module of its own so that they import little."""

import pickle
from datetime import timedelta
from unittest import mock

import torch
import torch.distributed as dist
from torchmetrics.utilities.distributed import gather_all_tensors

from lmod_train.scoring.metrics.named import RegionF1
from tests.scoring.metrics.answers import Counted, eyes, predictions, words

EYES, WORDS = eyes(), words()
FOUND = predictions(*WORDS)
IDS = [f"eye/{number}" for number in range(len(EYES[0]))]

# What each rank has, as slices: some items of both ranks, as a padding sampler deals them; and ranks without any.
SHARES = {"uneven": ((0, 19), (17, 31)), "one empty": ((0, 0), (0, 31)), "never updated": (None, (0, 31))}


def batches(share, size):
    first, last = share or (0, 0)
    starts = range(first, last, size) if last > first else [first] * (share is not None)
    return [slice(start, min(start + size, last)) for start in starts]


def changed(metric, how):
    if how == "half":
        module = torch.nn.ModuleDict({"m": metric}).half().to(torch.float16)
        module["m"].set_dtype(torch.float16)
    return pickle.loads(pickle.dumps(metric)) if how == "pickled" else metric


def scored(share, how):
    """Return values of one rank, the calls of the score function, and the number of times that ranks gathered."""
    task = Counted()
    metrics, f1, local = task.metrics(), RegionF1(), task.metrics(sync_on_compute=False)
    for place, part in enumerate(batches(share, 4)):
        metrics.update(FOUND[part])
        local.update(FOUND[part])
        f1.update(EYES[0][part], EYES[1][part], IDS[part])
        if place == 1:
            metrics, f1 = changed(metrics, how), changed(f1, how)
    first = next(iter(metrics.values(copy_state=False)))
    calls = first.shared.task.calls
    calls.clear()
    gathers = []

    def gather(*arguments):
        gathers.append(arguments)
        return gather_all_tensors(*arguments)

    with mock.patch("lmod_train.scoring.metrics.named.gather_all_tensors", gather):
        values = {name: float(value) for name, value in metrics.compute().items()}
        every = metrics.scored()
        number = len(gathers)
        values["RegionF1"] = float(f1.compute())
    counted = list(calls)
    held = [len(first.scored()[0]), float(local.compute()["accuracy_strict"])]
    metrics.update(
        FOUND[:2] if share and share[1] == len(FOUND) else []
    )  # duplicates on one rank, and nothing on the other
    assert metrics.compute()["kappa"] == values["kappa"], "ranks gather again, also one whose state has not changed"
    metrics.reset()
    metrics.update(FOUND[:3] if share else [])
    again = float(metrics.compute()["accuracy_strict"])
    return values, every, counted, number, held, again


def work(rank, port, folder):
    limit = timedelta(minutes=2)  # of waiting for a rank that does not gather
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2, timeout=limit)
    cases = [(name, how) for name in SHARES for how in ("as it is", "half", "pickled")]
    torch.save({case: scored(SHARES[case[0]][rank], case[1]) for case in cases}, f"{folder}/{rank}.pt")
    dist.destroy_process_group()
