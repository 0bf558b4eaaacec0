"""Defaults of Lightning's options that differ from Lightning's own, and of the run folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.package_data import package_data

DEFAULTS: Mapping[str, Mapping[str, Any]] = package_data(__file__, "defaults.yaml")
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
