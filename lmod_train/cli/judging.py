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

from lmod_train.cli.ended import Ended, asked
from lmod_train.cli.experiment import Experiment, options, performed
from lmod_train.cli.noise import silenced
from lmod_train.cli.refusal import PROGRAM
from lmod_train.cli.run_config import compare
from lmod_train.core.artifacts.run import PEOPLE, Run
from lmod_train.core.errors import FolderBusy, JudgeConflict, RunConflict
from lmod_train.data.datamodules.judgements import JudgementData
from lmod_train.tasks.attack import AttackedJudgement
from lmod_train.tasks.judgement import Judgement

JUDGING, ATTACKING = (f"{kind.__module__}.{kind.__qualname__}" for kind in (Judgement, AttackedJudgement))
"""Class paths of the tasks that ask for judgements, and for those of attacks."""


class Judging(Experiment):
    """An evaluation whose records are judgements, in the judge's folder of the judged run."""

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        """Name the command `judge` in errors."""
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        parser.prog = f"{PROGRAM} judge"
        return parser

    def before_instantiate_classes(self) -> None:
        """Name the judge after its model if it has no name, and prepare its folder, or that of the attacks on it.

        Raises:
            JudgeConflict: A judge of this name has begun otherwise.
            FolderBusy: Another process judges by this name.
        """
        config = self.config[self.subcommand]
        judge = Run(config.run or Run(Path(config.data.run)).judge(judge_name(config.model)).folder)
        if judge.read_config().get(PEOPLE):
            raise JudgeConflict(judge.folder, ["verdicts of people -> a model"])
        attacking = config.data.tasks[0].class_path == ATTACKING
        at, beside = (judge.attacks, judge) if attacking else (judge, judge.attacks)
        config.run = at.folder
        try:
            super().before_instantiate_classes()
            _compare(at, beside)
        except RunConflict as error:
            raise JudgeConflict(judge.folder, error.differences) from None
        except FolderBusy as error:
            if error.option != "--run":  # a shard of it
                raise
            raise error.named("--name") from None


def _compare(at: Run, beside: Run) -> None:
    """Refuse attacks on another judge than that of the same name, and the reverse.

    Raises:
        RunConflict: Model, prompt, labels or tasks differ.
    """
    if not beside.records.exists():
        return
    ours, theirs = at.read_config(), beside.read_config()
    (task,), (other,) = ours["data"]["tasks"], theirs["data"]["tasks"]
    task["class_path"] = other["class_path"]
    compare(beside.folder, ours, "validate", ("data.limit",))


def start(
    run: Run, name: str, of: Sequence[str], asking: Mapping[str, Any], model: Sequence[str], attacks: int, wrong: int
) -> Ended:
    """Ask a model for the judgements that are missing, and derive the predictions of its folder.

    Args:
        run: The judged run.
        name: Name of the judge; empty for that of its model.
        of: Names of the judged tasks; empty for those with open-ended questions.
        asking: Arguments of the task `Judgement`.
        model: Options of the model and the devices.
        attacks: Number of questions of each task on which the judge is attacked instead; 0 for none.
        wrong: Number of wrong replies of each task that are judged, and no others; 0 for all.
    """
    task = {"class_path": ATTACKING if attacks else JUDGING, "init_args": dict(asking)}
    data = ["--data.run", str(run.folder), "--data.tasks", json.dumps([task]), "--data.of", json.dumps(list(of))]
    data += ["--data.sample", str(attacks)] if attacks else ["--data.wrong", str(wrong)] if wrong else []
    folder = ["--run", str(run.judge(name).folder)] if name else []
    with silenced(sys.stderr.isatty()), ExitStack() as held:
        chosen = options() | {"datamodule_class": JudgementData}
        experiment = performed(Judging, held, chosen, ["validate", *data, *folder, *model])
        return asked(experiment, held, "judged")


def judge_name(model: Namespace) -> str:
    """Return the name of a judge: that of its model without folders, otherwise of its class.

    Example:
        >>> from lmod_train.core.types import Reply
        >>> backend = {"class_path": "lmod_train.models.backends.openai.OpenAI", "init_args": {"model": "org/Model-7B"}}
        >>> judge_name({"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backend": backend}})
        'Model-7B'
    """
    arguments = model.get("init_args") or {}
    backend = arguments.get("backend") or model
    options = backend.get("init_args") or {}
    named = options.get("model") or options.get("checkpoint") or backend["class_path"].rpartition(".")[2].lower()
    return re.sub(r"[^\w.+-]+", "-", str(named).rstrip("/").rpartition("/")[2])
