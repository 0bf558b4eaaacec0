"""The part of `draft ask` that needs a model: the experiment whose records are drafts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lightning.pytorch.cli import LightningArgumentParser

from lmod_train.cli.ended import Ended, asked
from lmod_train.cli.experiment import Experiment, options, performed
from lmod_train.cli.noise import silenced
from lmod_train.cli.refusal import PROGRAM
from lmod_train.core.errors import FolderBusy, FolderConflict, RunConflict
from lmod_train.data.datamodules.drafts import DraftData
from lmod_train.tasks.drafting.task import Drafting


class Asking(Experiment):
    """An evaluation whose records are drafts, in the folder of the drafts.

    Attributes:
        command: Name of the command in errors.
    """

    command = "draft ask"

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        """Name the command in errors."""
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        parser.prog = f"{PROGRAM} {self.command}"
        return parser

    def before_instantiate_classes(self) -> None:
        """Prepare the folder, and name its option in errors as it is typed.

        Raises:
            FolderConflict: The folder was begun with another model, other stages or another seed.
            FolderBusy: Another process writes to it.
        """
        folder = Path(self.config[self.subcommand].run)
        try:
            super().before_instantiate_classes()
        except RunConflict as error:
            raise FolderConflict("out", folder, "begun with another configuration", error.differences) from None
        except FolderBusy as error:
            raise error.named("--out" if error.option == "--run" else error.option) from None


def start(curated: Path, stages: Sequence[str], seed: int, limit: int, model: Sequence[str]) -> Ended:
    """Ask a model for the drafts that are missing, and derive the predictions of their folder.

    Args:
        curated: Curated folder whose images the drafts are about.
        stages: Stages to draft; empty for all.
        seed: Seed of `Drafting`.
        limit: Maximum number of drafts; 0 for all.
        model: Options of the model, the devices and the folder.
    """
    task = {"class_path": f"{Drafting.__module__}.Drafting", "init_args": {"seed": seed}}
    data = ["--data.curated", str(curated), "--data.tasks", json.dumps([task]), "--data.limit", str(limit)]
    data += ["--data.stages", json.dumps(list(stages))] if stages else []
    with silenced(sys.stderr.isatty()), ExitStack() as held:
        chosen = options() | {"datamodule_class": DraftData}
        return asked(performed(Asking, held, chosen, ["validate", *data, *model]), held, "asked")
