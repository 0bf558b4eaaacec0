"""Runs that ask a model for drafts, captions' questions or judgements, with their datamodules; loads torch."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from jsonargparse import Namespace
from jsonargparse.typing import NonNegativeInt
from lightning.pytorch.cli import LightningArgumentParser

from lmod_train.cli.ended import Ended, asked
from lmod_train.cli.experiment import Experiment, performed
from lmod_train.cli.experiment import options as options_of
from lmod_train.cli.parser import PROGRAM
from lmod_train.cli.run_config import compare
from lmod_train.cli.terminal import silenced
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.run import PEOPLE, Run
from lmod_train.core.errors import BadArgument, FolderBusy, FolderConflict, JudgeConflict, RunConflict
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Record, class_path
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.drafting.judgement import AttackedJudgement, Judgement, drawn, to_judge, wrong_of_each
from lmod_train.extensions.drafting.review import Drafting
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked

JUDGING, ATTACKING = (f"{kind.__module__}.{kind.__qualname__}" for kind in (Judgement, AttackedJudgement))
"""Class paths of the tasks that ask for judgements, and for those of attacks."""


class _Named(Experiment):
    """An evaluation of another command's name.

    Attributes:
        command: Name of the command in errors.
    """

    command: ClassVar[str]

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        """Name the command in errors."""
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        parser.prog = f"{PROGRAM} {self.command}"
        return parser


def _ask(
    kind: type[_Named], data: type[RecordsDataModule], task: Mapping[str, Any], options: Sequence[str], done: str
) -> Ended:
    """Ask a model for the replies that are missing, and derive the predictions of the folder.

    Args:
        kind: The experiment.
        data: Its datamodule.
        task: Class path and arguments of the task that asks.
        options: Those of the data, the model, the devices and the folder.
        done: What is done with a record, in one word.
    """
    with silenced(sys.stderr.isatty()), ExitStack() as held:
        typed = ["validate", "--data.tasks", json.dumps([task]), *options]
        return asked(performed(kind, held, options_of() | {"datamodule_class": data}, typed), held, done)


class Judging(_Named):
    """An evaluation whose records are judgements, in the judge's folder of the judged run."""

    command = "judge"

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


def start_judging(
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
    data = ["--data.run", str(run.folder), "--data.of", json.dumps(list(of))]
    data += ["--data.sample", str(attacks)] if attacks else ["--data.wrong", str(wrong)] if wrong else []
    folder = ["--run", str(run.judge(name).folder)] if name else []
    return _ask(Judging, JudgementData, task, [*data, *folder, *model], "judged")


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


# The part of `draft ask` that needs a model: the experiment whose records are drafts.


class Asking(_Named):
    """An evaluation whose records are drafts, in the folder of the drafts."""

    command = "draft ask"

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


# The part of `draft captions` and `draft judge` that needs a model: the experiment whose records are requests.


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


def start_requests(
    requests: Path, folder: Path, task: str, model: Sequence[str], kind: type[Asking] = Captioning
) -> Ended:
    """Ask a model for the requests that have no reply, and derive the predictions of their folder.

    Args:
        requests: File of the requests.
        folder: Folder of the run.
        task: Class of their task.
        model: Options of the model and the devices.
        kind: The experiment, which words the errors.
    """
    data = ["--data.requests", str(requests), "--run", str(folder)]
    return _ask(kind, RequestData, {"class_path": task}, [*data, *model], "asked")


def start_drafting(curated: Path, stages: Sequence[str], seed: int, limit: int, model: Sequence[str]) -> Ended:
    """Ask a model for the drafts that are missing, and derive the predictions of their folder.

    Args:
        curated: Curated folder whose images the drafts are about.
        stages: Stages to draft; empty for all.
        seed: Seed of `Drafting`.
        limit: Maximum number of drafts; 0 for all.
        model: Options of the model, the devices and the folder.
    """
    task = {"class_path": f"{Drafting.__module__}.Drafting", "init_args": {"seed": seed}}
    data = ["--data.curated", str(curated), "--data.limit", str(limit)]
    data += ["--data.stages", json.dumps(list(stages))] if stages else []
    return _ask(Asking, DraftData, task, [*data, *model], "asked")


# The datamodule of drafts: records by which a model writes questions about the images of a curated folder.


Of = TypeVar("Of", bound=Task)


def _only(tasks: Mapping[str, Task], kind: type[Of], cure: str) -> Of:
    """Return the only task of a kind.

    Raises:
        BadArgument: There is none, or there are several.
    """
    found = [task for task in tasks.values() if isinstance(task, kind)]
    if len(found) != 1:
        raise BadArgument("data.tasks", list(tasks), f"the task {class_path(kind)}", cure)
    return found[0]


class DraftData(RecordsDataModule):
    """Drafts to be written about the images of a curated folder, one for each stage with a truth.

    Args:
        curated: Folder written by `curate`.
        tasks: The task `Drafting`.
        eval_batch_size: Number of drafts in a batch, per device.
        stages: Stages to draft (IQA, AL, LC, DD, SG, CD); null for all.
        limit: Maximum number of drafts, the first in id order; 0 for all.
        workers: Number of processes that read images; 0 reads them in the main process.
        shard: Part of the images that this process asks about, ``i/n`` with i from 1 to n; empty for all.
    """

    def __init__(
        self,
        curated: Path,
        tasks: list[Task],
        eval_batch_size: int = 32,
        stages: list[str] | None = None,
        limit: int = 0,
        workers: int = 0,
        shard: str = "",
    ) -> None:
        super().__init__(
            curated, tasks, eval_batch_size=eval_batch_size, limit=limit, split="all", workers=workers, shard=shard
        )
        self._stages = stages

    def _read(self) -> list[Record]:
        """Return the records of the drafts, in id order.

        Raises:
            BadArgument: Nothing in the folder is a truth of a stage.
        """
        read_manifest(self.curated)
        drafting = _only(self.tasks, Drafting, "use the command `draft ask`")
        everything = drafting.records(read_records(self.curated / "records"), self._size)
        chosen = [r for r in everything if self._stages is None or r.chain_step in self._stages]
        if not chosen:
            stages = ", ".join(self._stages or ("IQA to CD",))
            expected = f"a folder with truths of stages {stages}: chains, diagnoses, grades or boxes"
            cure = "curate with such tasks, e.g. `python -m lmod_train curate --config xpcr_own --raw RAW --out CHAINS`"
            raise BadArgument("curated", str(self.curated), expected, cure)
        return [replace(r, image_sha256=tuple(sha256_of(self.images.file(name)) for name in r.image)) for r in chosen]

    def _size(self, record: Record) -> tuple[int, int]:
        """Return width and height of a record's original image in pixels."""
        width, height = self.images.size(record.image_plain[0])
        return round(width / record.scale), round(height / record.scale)


# The datamodule of judgements: records made from the predictions of a run.


class JudgementData(RecordsDataModule):
    """Judgements of the replies of a run, as text: question, reference answer and reply.

    Args:
        run: Folder of the run whose replies are judged.
        tasks: The task `Judgement`, which asks the judge.
        of: Names of the judged tasks; empty for those with open-ended questions.
        eval_batch_size: Number of judgements in a batch, per device.
        limit: Maximum number of judgements, the first in id order; 0 for all.
        shard: Part of the judgements that this process asks for, ``i/n`` with i from 1 to n; empty for all.
        sample: Number of questions of each judged task whose replies are judged, drawn at random; 0 for all.
        wrong: Number of wrong replies of each judged task that are judged, and no others, drawn at random; 0 for all.
    """

    def __init__(
        self,
        run: Path,
        tasks: list[Task],
        of: list[str] | None = None,
        eval_batch_size: int = 32,
        limit: int = 0,
        shard: str = "",
        sample: NonNegativeInt = 0,
        wrong: NonNegativeInt = 0,
    ) -> None:
        super().__init__(run, tasks, eval_batch_size=eval_batch_size, limit=limit, split="all", shard=shard)
        self._of, self._sample, self._wrong = of or [], sample, wrong

    def _read(self) -> list[Record]:
        """Return the judgements of the run's replies, in id order."""
        judging = _only(self.tasks, Judgement, "use `configs/task/judgement.yaml`")
        run = Run(self.curated)
        chosen = to_judge(read_predictions(run.predictions), self._of)
        if self._wrong:
            tasks = tasks_asked((p.record for p in chosen), task_arguments(run.read_config()))
            chosen = wrong_of_each(chosen, tasks, self._wrong)
        return sorted(judging.records(drawn(chosen, self._sample)), key=lambda r: r.id)


# The datamodule of requests that are made before they are asked, such as questions to be written from captions.


class RequestData(RecordsDataModule):
    """Requests in text, all of one task.

    Args:
        requests: Parquet file with a record for each request.
        tasks: Their task.
        eval_batch_size: Number of requests in a batch, per device.
        shard: Part of the requests that this process asks, ``i/n`` with i from 1 to n; empty for all.
    """

    def __init__(self, requests: Path, tasks: list[Task], eval_batch_size: int = 32, shard: str = "") -> None:
        super().__init__(requests, tasks, eval_batch_size=eval_batch_size, split="all", shard=shard)

    def _read(self) -> list[Record]:
        """Return the requests in id order."""
        return sorted(read_records(self.curated), key=lambda r: r.id)
