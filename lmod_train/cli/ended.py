"""How a command that asks a model has ended: its scores, its lines, and its exit status."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.errors import FolderBusy

INCOMPLETE = 3
"""Exit status of a command that asks a model, if a record that was to be asked failed or was not asked."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command that asks a model has ended.

    Attributes:
        scored: Whether predictions and scores were derived; not by a shard that leaves this to another one, nor by a
            rank other than the first.
        status: Exit status: 0, or `INCOMPLETE`.
    """

    scored: bool = False
    status: int = 0


def asked(experiment: Any, held: ExitStack, done: str, trusted: Sequence[str] = ()) -> Ended:
    """Score the run of an experiment, print what was done, and return how it has ended.

    A shard leaves the scores to the last of those that write to the folder, and `predict` computes none. The status is
    that of the records which this command was to ask: of a shard, its own.

    Args:
        experiment: The experiment, after its command has run.
        held: Stack that holds the lock of the folder; a shard releases it first.
        done: What has been done to the records, in the line of a shard that leaves the scores to another.
        trusted: Modules outside this package with task classes that the run names.
    """
    from lmod_train.core.artifacts.run import Run
    from lmod_train.data.datamodules.shard import Shard
    from lmod_train.tasks.rescore import account_of, rescore
    from lmod_train.tasks.run_scores import read_run_scores

    if not experiment.trainer.is_global_zero:
        return Ended()
    folder, data = Path(experiment.trainer.default_root_dir), experiment.datamodule
    if experiment.config[experiment.subcommand].get("estimate"):  # asked a sample, whose scores are of no use
        return Ended()
    written = any(file.stat().st_size for file in Run(folder).replies.glob("*.jsonl"))
    if experiment.subcommand == "fit" and not written:  # it has no validation
        return Ended()
    scored = False
    if data.shard:
        held.close()  # the last of the shards finds the folder free
    try:
        if written and experiment.subcommand != "predict":
            print("\n".join(rescore(folder, trusted, known=_scored(experiment.trainer))))
            scored = True
            if not data.shard:
                return Ended(True, 0 if read_run_scores([folder])[0].complete() else INCOMPLETE)
    except FolderBusy:
        if not data.shard:
            raise
        print(f"{folder}: shard {data.shard} is {done}; the last of the running shards computes the scores")
    own = data.asked(str(experiment.subcommand))
    own = Shard.parse(data.shard).of(own) if data.shard else own
    account = account_of(folder, data.tasks, {record.id for record in own})
    if not scored and (not account.complete or experiment.subcommand == "predict"):
        print(f"{folder}: {account}")
    return Ended(scored, 0 if account.complete else INCOMPLETE)


def _scored(trainer: Any) -> dict[str, Any]:
    """Return task -> predictions and scores of the evaluation that has just ended."""
    from lmod_train.training.callbacks.generation import GenerationEval

    return {name: one for c in trainer.callbacks if isinstance(c, GenerationEval) for name, one in c.scored.items()}
