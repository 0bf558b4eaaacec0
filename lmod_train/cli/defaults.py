"""Defaults of Lightning's options that differ from Lightning's own, and of the run folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "trainer": {
        "use_distributed_sampler": False,  # the datamodule shards by image
        "num_sanity_val_steps": 0,
        "enable_model_summary": False,  # the module prints how many parameters are trained
        "log_every_n_steps": 10,
        # `save_dir` is replaced by the run folder
        "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger", "init_args": {"save_dir": ".", "name": "logs"}},
    },
    "checkpoint": {
        "save_last": True,
        "save_top_k": 0,  # only last.ckpt is kept
        "every_n_train_steps": 20,
        "enable_version_counter": False,  # otherwise a run that was moved writes last-v1.ckpt beside its last.ckpt
    },
}
"""Option group -> option -> default."""


def default_run(configs: Iterable[str], command: str) -> Path:
    """Return ``runs/<name of the last config file>/<command>``, with the run's id in a wandb sweep.

    Args:
        configs: Paths of the config files, in the order in which they apply.
        command: `fit`, `validate`, `test` or `predict`.
    """
    files = list(configs)
    sweep = f"-{os.environ['WANDB_RUN_ID']}" if "WANDB_RUN_ID" in os.environ else ""
    return Path("runs") / (Path(files[-1]).stem if files else "unnamed") / f"{command}{sweep}"
