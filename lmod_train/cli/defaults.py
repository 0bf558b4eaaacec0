"""Defaults of Lightning's options that differ from Lightning's own."""

from __future__ import annotations

from collections.abc import Mapping
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
