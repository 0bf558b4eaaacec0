"""Validation and test items of each model of a report: what a threshold may be chosen on, and what it is applied to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.artifacts.series import FOLDS
from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Prediction
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.seed_spread import by_series
from lmod_train.report.sorted_errors import GROUNDING, PROBES
from lmod_train.scoring.classification import label_of
from lmod_train.scoring.intervals import Floats
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import probabilities_of
from lmod_train.scoring.ways import FACTORS, PLAIN
from lmod_train.tasks.run_scores import tails

FILES = ("weights", "checkpoint")
"""Options of models that name files, which are compared by content."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A model's items of one task: of one run, or of the runs of a series of seeds.

    Attributes:
        name: Label of the run, or name of the series.
        runs: Label of each run.
        items: All items of each run.
        validation: Validation items of the same weights, of each run; empty if there are none.
        chosen_on: Label of the run with the validation items of each run.
        missing: Why there are no thresholds, with the command that is missing; empty if there are.
    """

    name: str
    runs: tuple[str, ...]
    items: tuple[list[Item], ...]
    validation: tuple[list[Item], ...] = ()
    chosen_on: tuple[str, ...] = ()
    missing: str = ""

    @property
    def test(self) -> list[list[Item]]:
        """Test items of each run."""
        return [of_split(items, "test") for items in self.items]

    @property
    def shared(self) -> int:
        """Number of patients with validation and with test items, of the run with the most."""
        pairs = zip(self.validation, self.test, strict=False)
        return max((len({i.group for i in own} & {i.group for i in test}) for own, test in pairs), default=0)


def of_split(items: Sequence[Item], split: str) -> list[Item]:
    """Return the items of one split."""
    return [item for item in items if item.split == split]


def evaluated(results: Results, task: str) -> list[Evaluated]:
    """Return the models with likelihoods for a task, in the order of the runs; a series of seeds is one model.

    The validation items of a run are its own, or those of another run of the validation split alone that has the same
    weights (SHA-256), model options, checkpoint step, generation settings and ways of asking, and no test item of it. A
    run without test items whose validation items are those of another run is no model of its own. Probes have none:
    their truth is not shown.

    Args:
        results: Runs of the report.
        task: Name of the task.
    """
    asked = [] if task.endswith((PROBES, GROUNDING)) else [name for name, _ in results.named(task)]
    names = [name for name in asked if has_likelihoods(results.outcomes[name], task)]
    sources = {name: _source(results, task, name, names) for name in names}
    serving = {source for name, source in sources.items() if source not in (None, name)}
    groups = [(name, [n for n in own if n in names and n not in serving]) for name, own in _groups(results)]
    return [_evaluated(results, task, name, own, sources) for name, own in groups if own]


def has_likelihoods(outcomes: Outcomes, task: str) -> bool:
    """Return whether any reply to a single-choice task has likelihoods of its classes."""
    classes, items = outcomes.choices.get(task, ()), outcomes.items.get(task, [])
    return bool(classes) and any(all(word in item.likelihoods for word in classes) for item in items)


def _groups(results: Results) -> Iterator[tuple[str, list[str]]]:
    """Yield name and labels of each series and of each other run."""
    series = by_series(results)
    members = {label: folder for folder, runs in series.items() for label, _ in runs}
    named = dict(zip(series, tails(list(series)), strict=True))
    for label in results.names:
        if label not in members:
            yield label, [label]
        elif label == series[members[label]][0][0]:
            yield named[members[label]], [own for own, _ in series[members[label]]]


def _source(results: Results, task: str, name: str, names: Sequence[str]) -> str | None:
    """Return the label of the run with the validation items of a run's weights; None if there is none."""
    outcomes = results.outcomes[name]
    own, known = outcomes.items[task], _weights(outcomes)
    same = identity(outcomes, task)
    if same is None or not of_split(own, "test"):
        return None
    if of_split(own, "val"):
        return name
    others = [n for n in names if known and identity(results.outcomes[n], task) == same]
    return next((n for n in others if _serves(results.outcomes[n].items[task], own)), None)


def _serves(items: Sequence[Item], own: Sequence[Item]) -> bool:
    """Return whether items are validation items alone, and none a test item of a run on other splits."""
    tested = {item.id for item in of_split(own, "test")}
    return {item.split for item in items} == {"val"} and not any(item.id in tested for item in items)


def identity(outcomes: Outcomes, task: str) -> tuple[Any, ...] | None:
    """Return what must be equal for a common threshold; None if the replies of a run are of several models.

    It holds the SHA-256 of all weights, the options of the model but for names of files, model name, checkpoint step
    and generation settings of the replies, and the ways in which the questions were asked.
    """
    own = [p for p in outcomes.predictions if p.record.task == task and p.reply.likelihoods]
    kinds = {(p.reply.model, p.reply.step, p.reply.settings) for p in own}
    if len(kinds) != 1 or outcomes.config.get(FOLDS):
        return None
    options = json.dumps(_without_files(outcomes.config.get("model")), sort_keys=True, default=str)
    return _weights(outcomes), options, *kinds.pop(), _ways(own)


def _ways(predictions: Sequence[Prediction]) -> frozenset[tuple[str, ...]]:
    """Return the wordings, orders, system messages and examples of the questions; a repeat has the same words."""
    asked = [factor for factor in FACTORS if factor != "repeat"]
    return frozenset(tuple(p.record.tags.get(f, PLAIN[f]) for f in asked) for p in predictions)


def _weights(outcomes: Outcomes) -> tuple[str, ...]:
    known: Any = (outcomes.config.get("provenance") or {}).get("weights") or {}
    return tuple(sorted(map(str, known.values())))


def _without_files(options: Any) -> Any:
    if not isinstance(options, Mapping):
        return options
    return {k: _without_files(value) for k, value in options.items() if k not in FILES and value is not None}


def _evaluated(
    results: Results, task: str, name: str, runs: Sequence[str], sources: Mapping[str, str | None]
) -> Evaluated:
    items = tuple(results.outcomes[run].items[task] for run in runs)
    chosen_on = tuple(source for run in runs if (source := sources[run]) is not None)
    if len(chosen_on) < len(runs):
        return Evaluated(name, tuple(runs), items, missing=_missing(results, task, name, runs, sources))
    validation = tuple(of_split(results.outcomes[source].items[task], "val") for source in chosen_on)
    return Evaluated(name, tuple(runs), items, validation, chosen_on)


def _missing(results: Results, task: str, name: str, runs: Sequence[str], sources: Mapping[str, str | None]) -> str:
    """Return which command would give the runs without thresholds the items that they lack."""
    without = [run for run in runs if sources[run] is None]
    outcomes = [results.outcomes[run] for run in without]
    if any(identity(own, task) is None for own in outcomes):
        return f"{name}: no thresholds for {task}, as its replies are of several models, checkpoints or settings"
    if any(not of_split(own.items[task], "test") for own in outcomes):
        needed = _command("test", results, without)
        return f"{name}: no test records of {task}, to which thresholds are applied: `{needed}`"
    needed = f"`{_command('validate', results, without)}`, and name that run in `report` too"
    return (
        f"{name}: no validation records of {task} with the same weights and settings, on which thresholds are chosen: "
        f"{needed}"
    )


def _command(command: str, results: Results, runs: Sequence[str]) -> str:
    """Return a command with the checkpoint of the runs, without folders of this machine."""
    paths = {label: run.path for label, run in zip(results.names, results.runs, strict=True)}
    first, folder = results.outcomes[runs[0]], paths[runs[0]].name
    seeds = [paths[run].name.removeprefix("seed_") for run in runs if paths[run].name.startswith("seed_")]
    known = without_folders(str(first.config.get("weights") or "")).replace(f"{folder}/", "")
    several = f" --seeds {','.join(seeds)}" if seeds else ""
    checkpoint = f" --ckpt_path {known}" if known else ""
    split, run = {"test": ("test", "TEST"), "validate": ("val", "VALIDATION")}[
        command
    ]  # configs may name another split
    options = f"--data.curated CURATED --data.split {split}{several}{checkpoint}"
    return f"python -m lmod_train {command} --config CONFIG {options} --run {run}"


# The probabilities of all classes for the items of one run, with their truths.


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """Items with likelihoods of all choices.

    Attributes:
        ids: Record id of each item.
        groups: Patient of each item.
        truths: Index of the true class, (items).
        probabilities: Probability of each class, (items, classes), each row summing to 1.
    """

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    truths: NDArray[np.intp]
    probabilities: Floats

    def of_class(self, place: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the probability of one class, and whether it is the true one, each (items)."""
        return self.probabilities[:, place], self.truths == place


def class_probabilities(items: Sequence[Item], choices: Sequence[str]) -> ClassProbabilities:
    """Return the probabilities and truths of the items that have likelihoods of all choices; of none, empty arrays.

    Args:
        items: Items of one run, in any order.
        choices: The classes, the truths among them.

    Raises:
        ValueError: A truth is not among `choices`.

    Example:
        >>> sure = Item("a", "answered", "x", "y", likelihoods={"x": 0.0, "y": 0.0}, group="p")
        >>> found = class_probabilities([sure, Item("b", "answered", "x", "x")], ("x", "y"))
        >>> found.ids, found.truths, found.probabilities
        (('a',), array([1]), array([[0.5, 0.5]]))
    """
    rows, probabilities = probabilities_of(items, choices)
    own = [items[row] for row in rows]
    truths = np.array([list(choices).index(label_of(item.truth)) for item in own], dtype=np.intp)
    return ClassProbabilities(tuple(i.id for i in own), tuple(i.group for i in own), truths, probabilities)


def of_runs(runs: Sequence[Sequence[Item]], choices: Sequence[str]) -> list[ClassProbabilities]:
    """Return the probabilities of several runs on the same items; an empty list if the items differ, or there are none.

    Args:
        runs: Items of each run, in the same order.
        choices: The classes.
    """
    found = [class_probabilities(items, choices) for items in runs]
    same = bool(found) and bool(found[0].ids) and all(own.ids == found[0].ids for own in found)
    return found if same else []
