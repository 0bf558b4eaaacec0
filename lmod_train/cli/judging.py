"""The part of `judge` that needs a model: the experiment whose records are judgements."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from lightning.pytorch.cli import LightningArgumentParser

from lmod_train.artifacts.run import PEOPLE, Run
from lmod_train.cli.experiment import Experiment, options, performed, rescored
from lmod_train.cli.noise import silenced
from lmod_train.cli.provenance import provenance_of
from lmod_train.cli.refusal import PROGRAM
from lmod_train.datamodules.judgements import JudgementData
from lmod_train.errors import FolderBusy, JudgeConflict, RunConflict
from lmod_train.tasks.judgement import Judgement


class Judging(Experiment):
    """An evaluation whose records are judgements, in the judge's folder of the judged run."""

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        """Name the command `judge` in errors."""
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        parser.prog = f"{PROGRAM} judge"
        return parser

    def before_instantiate_classes(self) -> None:
        """Name the judge after its model if it has no name, and prepare its folder.

        Raises:
            JudgeConflict: A judge of this name has begun otherwise.
            FolderBusy: Another process judges by this name.
        """
        config = self.config[self.subcommand]
        run = Run(Path(config.data.run))
        config.run = config.run or run.judge(judge_name(config.model)).folder
        if Run(config.run).read_config().get(PEOPLE):
            raise JudgeConflict(config.run, ["verdicts of people -> a model"])
        try:
            super().before_instantiate_classes()
        except RunConflict as error:
            raise JudgeConflict(config.run, error.differences) from None
        except FolderBusy as error:
            if error.option != "--run":  # a shard of it
                raise
            raise FolderBusy("--name", config.run, error.holder) from None


def start(run: Run, name: str, of: Sequence[str], asking: Mapping[str, Any], model: Sequence[str]) -> bool:
    """Ask a model for the judgements that are missing, and derive the predictions of its folder.

    Returns:
        Whether the predictions were derived; False for a shard that leaves this to the last of the running ones.

    Args:
        run: The judged run.
        name: Name of the judge; empty for that of its model.
        of: Names of the judged tasks; empty for those with open-ended questions.
        asking: Arguments of the task `Judgement`.
        model: Options of the model and the devices.
    """
    task = {"class_path": f"{Judgement.__module__}.Judgement", "init_args": dict(asking)}
    data = ["--data.run", str(run.folder), "--data.tasks", json.dumps([task]), "--data.of", json.dumps(list(of))]
    folder = ["--run", str(run.judge(name).folder)] if name else []
    with silenced(sys.stderr.isatty()), ExitStack() as held:
        chosen = options() | {"datamodule_class": JudgementData}
        experiment = performed(Judging, held, chosen, ["validate", *data, *folder, *model])
        judge, shard = Run(Path(experiment.trainer.default_root_dir)), experiment.datamodule.shard
        derived = experiment.trainer.is_global_zero and rescored(judge.folder, held, shard, "judged")
        if derived and judges_itself(run, judge):
            print(f"warning: {judge.name} judges its own replies; models tend to prefer these")
        return derived


def judge_name(model: Namespace) -> str:
    """Return the name of a judge: that of its model without folders, otherwise of its class.

    Example:
        >>> from lmod_train.types import Reply
        >>> backend = {"class_path": "lmod_train.backends.openai.OpenAI", "init_args": {"model": "org/Model-7B"}}
        >>> judge_name({"class_path": "lmod_train.modules.frozen.Frozen", "init_args": {"backend": backend}})
        'Model-7B'
    """
    arguments = model.get("init_args") or {}
    backend = arguments.get("backend") or model
    options = backend.get("init_args") or {}
    named = options.get("model") or options.get("checkpoint") or backend["class_path"].rpartition(".")[2].lower()
    return re.sub(r"[^\w.+-]+", "-", str(named).rstrip("/").rpartition("/")[2])


def judges_itself(run: Run, judge: Run) -> bool:
    """Return whether judge and run have weights, or the name of a remote model, in common."""
    ours, theirs = (set(provenance_of(one.read_config())[2].values()) for one in (run, judge))
    return bool(ours & theirs)
