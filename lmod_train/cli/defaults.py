"""Defaults of Lightning's options where they are not Lightning's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "trainer": {
        "use_distributed_sampler": False,  # the datamodule shards by image
        "num_sanity_val_steps": 0,
        "enable_model_summary": False,  # the module prints how many parameters are trained
        "log_every_n_steps": 10,
        # below the run folder, whatever `save_dir` is
        "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger", "init_args": {"save_dir": ".", "name": "logs"}},
    },
    "checkpoint": {
        "save_last": True,
        "save_top_k": 0,  # last.ckpt and no second file
        "every_n_train_steps": 20,
        "enable_version_counter": False,  # a run that was moved would else write last-v1.ckpt beside its last.ckpt
    },
}
"""Option group -> option -> default."""
