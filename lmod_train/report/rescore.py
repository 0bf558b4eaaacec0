"""Parse and score the saved replies of a run again, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.artifacts.predictions import write_predictions
from lmod_train.artifacts.records import read_run_column, read_run_records
from lmod_train.artifacts.replies import read_replies
from lmod_train.artifacts.run import Run
from lmod_train.artifacts.scores import write_scores
from lmod_train.errors import ArtifactError
from lmod_train.lock import locked
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.current import Current, current
from lmod_train.tasks.reading import parse_replies, scores_of
from lmod_train.tasks.trust import Trust
from lmod_train.types import Prediction, Record


def rescore(folder: Path, trust: Sequence[str] = (), tasks: Sequence[Task] | None = None) -> list[str]:
    """Write ``predictions.parquet`` and ``scores.csv`` of a run anew, as the run itself does.

    Records that have no reply yet are left out. Where replies of several checkpoint steps were saved, each record's
    newest one counts.

    Args:
        folder: Of the run, with ``records.parquet`` and ``replies/`` in it.
        trust: Modules outside this package whose task classes may be imported where the run names them.
        tasks: Tasks that parse and score; None builds those that the run names. Records of other tasks are left out.

    Returns:
        Lines that say how many records have a reply, what was left out, and what was written.

    Raises:
        ArtifactError: There are no replies, or none to any of the records.
        FolderBusy: Another process writes into the folder.
    """
    run = Run(folder)
    if not run.replies.is_dir():
        raise ArtifactError(run.replies, "no saved replies here", _ask_first(folder))
    with locked(folder, "run"):
        return list(_rescored(run, tuple(trust), tasks))


def _rescored(run: Run, trust: tuple[str, ...], given: Sequence[Task] | None) -> Iterator[str]:
    records = read_run_records(run.records)
    saved = current(read_run_column(run.records, "asked"), read_replies(run.replies).values())
    tasks = given or tasks_asked(records, task_arguments(run.read_config()), Trust(trust, run.folder))
    predictions = [p for task in tasks for p in parse_replies(task, records, saved.replies)]
    if not predictions:
        others = f" ({saved.stale} are to something else)" if saved.stale else ""
        raise ArtifactError(
            run.replies, f"no reply to any of the {len(records)} records{others}", _ask_first(run.folder)
        )
    scores = scores_of(tasks, predictions)
    write_predictions(run.predictions, predictions)
    write_scores(run.scores, run.name, ", ".join(sorted({p.reply.model for p in predictions})), scores)
    yield f"{run.folder}: {len(predictions)} of {len({r.id for r in records})} records have a reply"
    yield from _left_out(saved)
    yield from _versions(tasks, records)
    yield from _steps(predictions)
    yield f"wrote {run.predictions} and {run.scores}"


def _left_out(saved: Current) -> Iterator[str]:
    if saved.stale:
        yield f"left out: {saved.stale} replies to other words, images, choices, weights, template or settings"
    if saved.unverified:
        yield f"unverified: {saved.unverified} replies do not say what was asked; `validate` asks these records again"


def _versions(tasks: Sequence[Task], records: Sequence[Record]) -> Iterator[str]:
    for task in tasks:
        older = sorted({r.task_version for r in records if r.task == task.name} - {task.version})
        if older:
            yield f"{task.name}: asked as version {', '.join(map(str, older))}, read and scored as {task.version}"


def _steps(predictions: Sequence[Prediction]) -> Iterator[str]:
    steps = sorted({p.reply.step for p in predictions})
    if len(steps) > 1:
        yield f"the replies are of several checkpoint steps: {', '.join(map(str, steps))}"


def _ask_first(run: Path) -> str:
    return f"name the folder of a run, or make its replies: `python -m lmod_train validate --config CONFIG --run {run}`"
