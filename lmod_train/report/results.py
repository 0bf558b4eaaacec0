"""Results of runs: scores from ``scores.csv``, outcomes from ``predictions.parquet``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.parquet import is_of_other_version
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import curated_images
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.shortcuts import Shortcut, read_shortcuts
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument, ExtensionMissing, LmodError, Untrusted
from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Prediction, Record
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.scoring.items import Item, item_of, items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.own import Own
from lmod_train.tasks.run_scores import RunScores, labels, read_run_scores
from lmod_train.tasks.trust import Trust
from lmod_train.tasks.verdicts import Judge, other_replies


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The predictions of one run and the items they are scored as.

    Attributes:
        predictions: One per record id, in the order of the file.
        items: Task -> items in the order of their ids, one per reply.
        failed: Items of the records whose request failed, which no score contains.
        beside: Task -> items that its scores do not contain, as they serve comparisons (`Task.is_scored`).
        constrained: Tasks with replies that could only be one of the choices (`--model.constrain`).
        choices: Task -> its choices; empty if each question has its own.
        curated: The curated folder in the run's configuration, None if there is none.
        config: The run's configuration; empty if there is none.
        judged: What each judge has found about its replies.
        versions: Task -> its version that is installed.
        not_installed: Task -> why it cannot be used; its predictions are left out.
        tasks: Name -> task.
        left_out: Number of predictions of the tasks that cannot be used.
    """

    predictions: tuple[Prediction, ...]
    items: dict[str, list[Item]]
    choices: dict[str, tuple[str, ...]]
    curated: Path | None
    config: Mapping[str, Any] = field(default_factory=dict)
    judged: tuple[Judge, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    not_installed: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    left_out: int = 0
    failed: tuple[Item, ...] = ()
    beside: Mapping[str, list[Item]] = field(default_factory=dict)
    constrained: frozenset[str] = frozenset()


def read_outcomes(run: Path, trust: Sequence[str] = (), known: dict[str, Record] | None = None) -> Outcomes:
    """Return the predictions of a run; the true answer is parsed from the reference reply by the task's parser.

    Predictions of tasks that are not installed are left out, if there are others.

    Args:
        run: Folder of the run.
        trust: Modules outside this package whose task classes may be imported.
        known: Id -> record of runs that were read before: equal ones are kept once, and new ones are added.

    Raises:
        Untrusted: The run names a task class of another module, which is installed.
        ArtifactError: The run has no predictions.
        BadArgument: No task of the run is installed, or one cannot parse its own reference reply.
    """
    read = {p.record.id: p for p in read_predictions(Run(run).predictions)}.values()
    everything = tuple(read if known is None else (_sharing(p, known) for p in read))
    config = Run(run).read_config()
    tasks, missing = _installed(everything, config, Trust(tuple(trust), run))
    predictions = tuple(p for p in everything if p.record.task not in missing)
    items, choices, failed, beside = {}, {}, list[Item](), dict[str, list[Item]]()
    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name]
        scored = {p.record.id for p in own if task.is_scored(p.record)}
        found = [task.as_scored(item) for item in items_of(own, task.truth)]
        items[task.name], choices[task.name] = [item for item in found if item.id in scored], task.classes
        beside[task.name] = [item for item in found if item.id not in scored]
        failed += [task.as_scored(item_of(p, task.truth(p))) for p in own if p.status == "failed"]
    judged = tuple(judge for found in other_replies(Run(run), predictions) for judge in found.judges)
    versions = {task.name: task.version for task in tasks}
    by_name = {task.name: task for task in tasks}
    folder = _listing_folder(config, predictions)
    left_out = len(everything) - len(predictions)
    constrained = frozenset(p.record.task for p in predictions if p.reply.constrained)
    more = (missing, by_name, left_out, tuple(failed), beside, constrained)
    return Outcomes(predictions, items, choices, folder, config, judged, versions, *more)


def _sharing(prediction: Prediction, known: dict[str, Record]) -> Prediction:
    """Return a prediction with the record that another run has, too, if it is equal."""
    same = known.setdefault(prediction.record.id, prediction.record)
    is_other = same is not prediction.record and same == prediction.record
    return replace(prediction, record=same) if is_other else prediction


def named_folder(config: Mapping[str, Any]) -> Path | None:
    """Return the curated folder that a run's config names; None if it names none."""
    data = config.get("data") or {}
    curated = (data.get("init_args") or data).get("curated")
    return Path(curated) if curated else None


def _listing_folder(config: Mapping[str, Any], predictions: Sequence[Prediction]) -> Path | None:
    """Return the curated folder that a run's config names, unless its images are others, or not listed.

    A run may come from someone else: its config must not make the report read other files of this machine. A folder
    that is gone is returned, and reported as such.
    """
    folder = named_folder(config)
    if folder is None or not folder.exists():
        return folder
    images = Curated(folder)
    shown = {name for p in predictions for name in (*p.record.image, *p.record.image_plain)}
    here = {name for name in shown if images.file(name).exists()}
    listed = curated_images(folder) if (folder / "manifest.json").is_file() else {}
    stated = {pair for p in predictions for pair in zip(p.record.image, p.record.image_sha256, strict=False)}
    same = all(sha256 in listed[name] for name, sha256 in stated if name in listed)
    return folder if here <= listed.keys() and same else None


def _installed(
    predictions: Sequence[Prediction], config: Mapping[str, Any], trust: Trust
) -> tuple[list[Task], dict[str, str]]:
    """Return the tasks of predictions, and task -> why it cannot be built, if any can be."""
    first = {p.record.task: p.record for p in reversed(predictions)}
    tasks: list[Task] = []
    errors: dict[str, LmodError] = {}
    for record in (first[name] for name in dict.fromkeys(p.record.task for p in predictions)):
        same = [p.record for p in predictions if p.record.task == record.task]
        try:
            tasks += tasks_asked(same, task_arguments(config), trust)
        except (BadArgument, ExtensionMissing, Untrusted) as error:
            if isinstance(error, Untrusted) and error.place is not None:
                raise
            errors[record.task] = error
    if errors and not tasks:
        raise next(iter(errors.values()))
    return tasks, {name: str(error).partition("\nNext: ")[0] for name, error in errors.items()}


@dataclass(frozen=True, eq=False)  # compared and hashed by identity, so that what is computed of it can be kept
class Results:
    """Everything that a report reads from the folders of its runs.

    Attributes:
        runs: Scores of each run.
        outcomes: Label of each run -> its outcomes, in the same order.
        images: Label -> curated folder with the images; None if unknown.
        shortcuts: Scores of shortcut classifiers for the tasks and splits of the runs.
        left_out: A sentence for each run and task that cannot be shown.
        compare: What the runs may be asked differently, as it is what is compared (`lmod_train.report.asked_alike`).
    """

    runs: tuple[RunScores, ...]
    outcomes: Mapping[str, Outcomes]
    images: Mapping[str, Path | None]
    shortcuts: tuple[Shortcut, ...] = ()
    left_out: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Labels of the runs."""
        return list(self.outcomes)

    @property
    def items(self) -> dict[str, dict[str, list[Item]]]:
        """Label -> task -> items."""
        return {name: found.items for name, found in self.outcomes.items()}

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in the order of the scores of the runs."""
        return list(dict.fromkeys(task for run in self.runs for task in run.tasks()))

    @property
    def questions(self) -> dict[str, str]:
        """Name of each task that is a question of the user's own -> its words."""
        known = [(name, task) for found in self.outcomes.values() for name, task in found.tasks.items()]
        return {name: task.words for name, task in known if isinstance(task, Own)}

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """Task -> its choices; empty if each question has its own, or if the runs were given different ones."""
        runs = list(self.outcomes.values())
        stated = {task: words for found in runs for task, words in found.choices.items()}
        return {task: () if differ_in_choices(runs, task) else words for task, words in stated.items()}

    def metric(self, task: str) -> str:
        """Return the headline metric of a task."""
        return headline_metric([s for run in self.runs for s in run.scores], task)

    def named(self, task: str) -> Iterator[tuple[str, RunScores]]:
        """Yield label and scores of each run with a task."""
        yield from ((name, run) for name, run in zip(self.names, self.runs, strict=True) if task in run.tasks())

    def each(self) -> Iterator[tuple[str, str, RunScores]]:
        """Yield each task with label and scores of each run with it."""
        yield from ((task, name, run) for task in self.tasks for name, run in self.named(task))


def differ_in_choices(runs: Sequence[Outcomes], task: str) -> bool:
    """Return whether runs were given, or are scored over, different choices for a record of a task.

    Runs without a common record differ if their choices do. What a task could ask may differ without it: all structures
    that it knows, or those of the asked images.
    """
    if len({found.choices[task] for found in runs if task in found.choices}) < 2:
        return False
    asked = [{item.id: (item.choices, str(item.truth)) for item in found.items.get(task, ())} for found in runs]
    for one, other in combinations([own for own in asked if own], 2):
        common = one.keys() & other.keys()
        given = [{choices for choices, _ in own.values()} for own in (one, other)]
        if any(one[id] != other[id] for id in common) or not (common or given[0] == given[1]):
            return True
    return False


def read_results(runs: Sequence[Path], curated: Path | None = None, trust: Sequence[str] = ()) -> Results:
    """Return the results of runs, in the given order.

    Runs of another schema version, and tasks that are not installed, are left out if others remain.

    Args:
        runs: Folders of runs.
        curated: Curated folder with the images; None uses the one in each run's ``config.yaml``.
        trust: Modules outside this package whose task classes may be imported.

    Raises:
        BadArgument: No run was given, or one twice; no task of a run is installed.
        Untrusted: A run names a task class of another module, which is installed.
        ArtifactError: A file of a run is missing.
    """
    others = [run for run in runs if is_of_other_version(Run(run).predictions)]
    runs = [run for run in runs if run not in others or len(others) == len(runs)]
    scores = read_run_scores(runs)
    known: dict[str, Record] = {}
    outcomes = {name: read_outcomes(run, trust, known) for name, run in zip(labels(scores), runs, strict=True)}
    scores = [_without(run, found.not_installed) for run, found in zip(scores, outcomes.values(), strict=True)]
    images = {name: curated or found.curated for name, found in outcomes.items()}
    shortcuts = shortcuts_of(images.values(), [p for found in outcomes.values() for p in found.predictions])
    return Results(tuple(scores), outcomes, images, tuple(shortcuts), tuple(_left_out(others, outcomes)))


def _without(run: RunScores, tasks: Mapping[str, str]) -> RunScores:
    return replace(run, scores=tuple(s for s in run.scores if s.task not in tasks))


def _left_out(others: Sequence[Path], outcomes: Mapping[str, Outcomes]) -> Iterator[str]:
    for run in others:
        cure = "the command that asked makes it again, e.g. `python -m lmod_train validate --config CONFIG --run RUN`"
        yield f"{Run(run).name} is left out: it is of another schema version; {cure}"
    for name, found in outcomes.items():
        for task, why in found.not_installed.items():
            yield f"{name}: {task} is left out, as its task cannot be used: {without_folders(why)}"


UNSEEN = ("names", "most_frequent")
"""Rows that are not shown: names of files, which no model sees, and the majority class, which has its own column."""


def shortcuts_of(folders: Iterable[Path | None], predictions: Iterable[Prediction]) -> list[Shortcut]:
    """Return the rows of the curated folders for the tasks and splits of the predictions, without duplicates."""
    asked = {(p.record.task, p.record.split) for p in predictions}
    curated = [folder for folder in dict.fromkeys(folders) if folder]
    rows = dict.fromkeys(row for folder in curated for row in read_shortcuts(folder))
    shown = [row for row in rows if row.metric == "accuracy" and row.shortcut not in UNSEEN]
    return [row for row in shown if (row.task, row.split) in asked]
