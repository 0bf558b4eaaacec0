"""Callback that measures the energy of replies on NVIDIA GPUs, and stores it in the run.

The counter is that of NVML, a part of NVIDIA's driver, which newer GPUs have (Volta and later). It is of the whole GPU,
other programs on it included. Without it nothing is measured and nothing is written.
"""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer

from lmod_train.core.artifacts.energy import append_energy
from lmod_train.core.artifacts.run import Run
from lmod_train.training.callbacks.protocols import data_of

LIBRARY = "libnvidia-ml.so.1"


class Counter:
    """Energy counter of one GPU.

    Args:
        library: NVML, as `ctypes` loads it.
        uuid: UUID of the GPU, as CUDA states it.

    Raises:
        OSError: NVML does not know the GPU, or the GPU has no such counter.
    """

    def __init__(self, library: Any, uuid: str) -> None:
        self._library, self._device = library, ctypes.c_void_p()
        _check(library.nvmlInit_v2())
        _check(library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(self._device)))
        self.joules()

    def joules(self) -> float:
        """Return the energy that the GPU has used since its driver was loaded."""
        total = ctypes.c_ulonglong()
        _check(self._library.nvmlDeviceGetTotalEnergyConsumption(self._device, ctypes.byref(total)))
        return total.value / 1000


def _check(code: int) -> None:
    if code:
        raise OSError(f"NVML returned error {code}")


def counter_of(device: torch.device) -> tuple[Counter, str] | None:
    """Return the counter and the name of a device's GPU; None if its energy cannot be measured."""
    if device.type != "cuda":
        return None
    try:
        known = torch.cuda.get_device_properties(device)
        return Counter(ctypes.CDLL(LIBRARY), str(known.uuid)), str(known.name)
    except (OSError, AttributeError, RuntimeError):
        return None


class EnergyOfReplies(Callback):
    """Appends what the GPU of a process uses for each batch of replies to ``RUN/energy``, if the GPU counts it."""

    def __init__(self) -> None:
        self._counter: tuple[Counter, str] | None = None
        self._before = 0.0

    def _starts(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._counter = None if trainer.sanity_checking else counter_of(pl_module.device)

    on_validation_start = on_test_start = on_predict_start = _starts

    def _joules(self) -> float:
        """Return the counter; NaN where it cannot be read, which stops no evaluation."""
        try:
            return self._counter[0].joules() if self._counter else math.nan
        except OSError:
            return math.nan

    def on_validation_batch_start(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Note the counter."""
        self._before = self._joules()

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start  # type: ignore[assignment]

    def on_validation_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *place: Any
    ) -> None:
        """Write what was used since the start of a batch; a batch without records used nothing for a reply."""
        if self._counter and (ids := [record.id for record in batch.records]):
            used, gpu = self._joules() - self._before, self._counter[1]
            run = Run(Path(trainer.default_root_dir))
            if used >= 0:
                own = run.replies_of(trainer.global_rank, data_of(trainer).shard).name
                append_energy(run.energy / own, ids, used, gpu)

    on_test_batch_end = on_predict_batch_end = on_validation_batch_end  # type: ignore[assignment]
