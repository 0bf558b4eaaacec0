"""The part of `draft captions` and `draft judge` that needs a model: the experiment whose records are requests."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from lmod_train.cli.drafting import Asking
from lmod_train.cli.ended import Ended, asked
from lmod_train.cli.experiment import options, performed
from lmod_train.cli.noise import silenced
from lmod_train.core.errors import BadArgument, FolderBusy, FolderConflict
from lmod_train.data.datamodules.requests import RequestData


class Captioning(Asking):
    """An evaluation whose records are requests."""

    command = "draft captions"


class Comparing(Asking):
    """An evaluation whose records are questions whose languages are compared."""

    command = "draft judge"

    def before_instantiate_classes(self) -> None:
        """Prepare the folder, and name what is typed in errors.

        Raises:
            BadArgument: Another judge has begun.
            FolderBusy: Another process writes to the folder.
        """
        folder = Path(self.config[self.subcommand].run)
        try:
            super().before_instantiate_classes()
        except FolderConflict as error:
            expected = f"the judge that has begun; these keys differ (was -> now): {'; '.join(error.differences)}"
            cure = f"use the same values to continue, or begin anew: move {folder} away"
            raise BadArgument("--model", folder.name, expected, cure) from None
        except FolderBusy as error:
            option = "draft" if error.option == "--out" else error.option
            raise error.named(option) from None


def start(requests: Path, folder: Path, task: str, model: Sequence[str], kind: type[Asking] = Captioning) -> Ended:
    """Ask a model for the requests that have no reply, and derive the predictions of their folder.

    Args:
        requests: File of the requests.
        folder: Folder of the run.
        task: Class of their task.
        model: Options of the model and the devices.
        kind: The experiment, which words the errors.
    """
    data = ["--data.requests", str(requests), "--data.tasks", json.dumps([{"class_path": task}])]
    with silenced(sys.stderr.isatty()), ExitStack() as held:
        chosen = options() | {"datamodule_class": RequestData}
        return asked(performed(kind, held, chosen, ["validate", *data, "--run", str(folder), *model]), held, "asked")
