"""The collapse lab: the same fine-tuning from complete weights and from the delta of these weights, with controls.

LMOD's published fine-tuning command starts from delta weights. Here the small base stands for LLaMA, the base tuned on
one task for LLaVA-Med, and the difference of the two language models for the published delta. Complete weights and
delta are then fine-tuned on the same data for short answers (a diagnosis), long ones and varied ones (lists of
regions), and evaluated.

Controls answer what a sceptic would ask. Is the delta worse than a language model without any knowledge? Does the
tuning of the complete weights matter, or only the base? Was the learning rate or the number of steps wrong for it?
"""

from __future__ import annotations

import csv
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Literal

import torch
from tqdm import tqdm

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.files import write_durably
from lmod_train.core.types import Reply, Score
from lmod_train.data.curation.workers import local_crew, run
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.scoring.collapse import mean_right, signs_of
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.tripwires import items_read
from lmod_train.training.lab.starts import STARTS, Start, checkpoints, data_of, phantoms, verdict
from lmod_train.training.lab.tuning import Recipe, tuned

Answers = Literal["short", "long", "varied"]
Split = Literal["val", "test"]
ANSWERS: tuple[Answers, ...] = ("short", "long", "varied")
ASKED: dict[Answers, tuple[type[Task], str]] = {
    "short": (Glaucoma, "CFP"),
    "long": (Anatomy, "CFP"),
    "varied": (Anatomy, "SS"),
}
"""Task and modality by kind of answers."""
COMPARED: tuple[Start, ...] = ("merged", "delta")
OUTCOME = "outcome.json"
LAST = 10
"""Number of steps at the end over which the reported loss is averaged."""
RATES = (0.25, 1.0, 4.0)
"""Learning rates of which each start's best is chosen, as multiples of the recipe's."""
LONGER = 3
"""Multiple of the steps that the delta is tuned for once more."""
CHOOSING = 0
"""Seed of the trainings by which a rate is chosen; the reported ones have other seeds."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What is trained once for each seed: a start, a kind of answers and a recipe."""

    start: Start
    answers: Answers
    recipe: Recipe

    def run(self, out: Path, seed: int, split: Split) -> Path:
        """Return the folder of the training with a seed, evaluated on a split."""
        own = f"{self.start}-{self.answers}-lr{self.recipe.lr:g}-steps{self.recipe.steps}-seed{seed}"
        return out / "runs" / (own if split == "test" else f"{own}-{split}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one training of the lab. Shares are of the evaluated records.

    Attributes:
        seed: Seed of order and dropout.
        start: Weights that the training starts from: ``merged``, ``delta``, ``base`` or ``random``.
        answers: Kind of answers: short, long or varied.
        lr: Highest learning rate.
        steps: Number of optimiser steps.
        n: Number of evaluated records.
        strings: Number of distinct answers among the training records.
        seconds: Time of training and evaluation.
        loss: Mean training loss of the last steps, in nats.
        right: Share of right answers; for regions the mean share of right regions.
        empty: Share of empty replies.
        repetitive: Share of replies that repeat the same words.
        at_limit: Share of replies cut off at the token limit.
        distinct: Number of distinct replies per record.
        doctor: Verdict of the doctor's checks: ``passes``, or ``refuses`` and the checks that fail.
        example: One reply.
    """

    seed: int
    start: Start
    answers: Answers
    lr: float
    steps: int
    n: int
    strings: int
    seconds: float
    loss: float
    right: float
    empty: float
    repetitive: float
    at_limit: float
    distinct: float
    doctor: str
    example: str


@dataclass(frozen=True, slots=True)
class Result:
    """All trainings of an arm.

    Attributes:
        arm: What was trained.
        outcomes: Outcome of each seed.
        right: Mean share of right answers over the seeds, with its interval over the patients of the evaluated records.
        losses: Loss of every step, for each seed.
    """

    arm: Arm
    outcomes: Sequence[Outcome]
    right: Score
    losses: Sequence[Sequence[float]]


def collapse_lab(
    out: Path, seeds: int, recipe: Recipe, n: int, *, controls: bool = True, workers: int = 1
) -> list[Result]:
    """Run all trainings that are not finished yet, and return the result of every arm.

    Without controls, complete weights and delta are trained by `recipe`. With them, a rate is chosen for each start and
    each kind of answers by one training at each of `RATES`, on the validation split; all starts are then trained at
    their rates, with other seeds, and the delta once more for `LONGER` times the steps.

    Args:
        out: Folder for data, weights, runs and ``collapse.csv``; finished parts in it are reused.
        seeds: Number of trainings of each arm.
        recipe: Hyperparameters of all starts; with controls, its rate is the middle one of those that are tried.
        n: Number of phantoms of each of three sources; half of them are for training.
        controls: Whether the controls are run.
        workers: Number of trainings at a time.

    Raises:
        BadArgument: The folder was made with another `n`.
    """
    curated = phantoms(out, n)
    lab = Lab(out, curated, checkpoints(out, curated), workers)
    if controls:
        arms, numbers = _controlled(lab, recipe), range(CHOOSING + 1, CHOOSING + 1 + seeds)
    else:
        arms, numbers = [Arm(start, a, recipe) for a in ANSWERS for start in COMPARED], range(seeds)
    held = {answers: lab.data(answers, CHOOSING, "test") for answers in ANSWERS}
    outcomes = lab.outcomes(arms, numbers)
    results = [lab.result(arm, own, held[arm.answers]) for arm, own in zip(arms, outcomes, strict=True)]
    _write(out / "collapse.csv", [o for result in results for o in result.outcomes])
    return results


def _controlled(lab: Lab, recipe: Recipe) -> list[Arm]:
    """Return the arms of the lab with controls, each start at its own rate; write ``rates.csv``."""
    rates = [replace(recipe, lr=recipe.lr * factor) for factor in RATES]
    tried = [Arm(start, answers, own) for answers in ANSWERS for start in STARTS for own in rates]
    outcomes = [own for (own,) in lab.outcomes(tried, [CHOOSING], "val")]
    _write(lab.out / "rates.csv", outcomes)
    arms = list[Arm]()
    for place in range(0, len(tried), len(RATES)):
        best = max(range(place, place + len(RATES)), key=lambda i: (outcomes[i].right, -outcomes[i].loss))
        arms.append(tried[best])
        if tried[best].start == "delta":
            arms.append(replace(tried[best], recipe=replace(tried[best].recipe, steps=LONGER * recipe.steps)))
    return arms


@dataclass(frozen=True)
class Lab:
    """Folder, data and weights of the lab.

    Attributes:
        out: Folder of the lab.
        curated: Folder of its records.
        starts: Folder of the weights of each start.
        workers: Number of trainings at a time.
    """

    out: Path
    curated: Path
    starts: Mapping[Start, Path]
    workers: int

    def outcomes(self, arms: Sequence[Arm], seeds: Sequence[int], split: Split = "test") -> list[list[Outcome]]:
        """Return the outcome of each seed of each arm; what was finished before is read from its folder."""
        missing = [(a, s) for a in arms for s in seeds if _kept(a.run(self.out, s, split), a.recipe) is None]
        doctors = {start: verdict(self.starts[start], self.curated) for start in {arm.start for arm, _ in missing}}
        job = partial(self.train, split=split, doctors=doctors)
        with local_crew(self.workers) as crew:
            for _ in tqdm(run(job, missing, crew, size=1), f"trainings, asked {split}", len(missing)):
                pass
        return [[Outcome(**_read(arm.run(self.out, seed, split))["outcome"]) for seed in seeds] for arm in arms]

    def train(self, jobs: Sequence[tuple[Arm, int]], *, split: Split, doctors: Mapping[Start, str]) -> None:
        """Train and evaluate an arm with a seed, and write ``outcome.json`` into the folder of each run."""
        if parent_process() is not None:  # trainings of a small model are faster side by side than with two threads
            torch.set_num_threads(1)
        for arm, seed in jobs:
            folder, data = arm.run(self.out, seed, split), self.data(arm.answers, seed, split)
            began = time.perf_counter()
            _, losses = tuned(folder, str(self.starts[arm.start]), data, seed, arm.recipe)
            seconds = time.perf_counter() - began
            outcome = _outcome(arm, seed, data, folder, losses, seconds, doctors[arm.start])
            with write_durably(folder / OUTCOME) as beside:
                kept = {"recipe": asdict(arm.recipe), "outcome": asdict(outcome), "losses": losses}
                beside.write_text(json.dumps(kept), encoding="utf-8")

    def data(self, answers: Answers, seed: int, split: Split) -> RecordsDataModule:
        """Return the records of a kind of answers, of which `split` is asked; `seed` is that of the order."""
        task, modality = ASKED[answers]
        return data_of(self.curated, task(), modality, seed, split)

    def result(self, arm: Arm, outcomes: Sequence[Outcome], held: RecordsDataModule) -> Result:
        """Return all that is reported of an arm on the held-out records."""
        folders = [arm.run(self.out, o.seed, "test") for o in outcomes]
        held.setup("validate")
        asked = held.asked("validate")
        items = [items_read(held.tasks.values(), asked, _replies(folder)) for folder in folders]
        return Result(arm, outcomes, mean_right(arm.answers, items), [_read(f)["losses"] for f in folders])


def _read(folder: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
    return kept


def _kept(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """Return what a finished training with this recipe has written; None if there is none."""
    kept = _read(folder) if (folder / OUTCOME).exists() else None
    return kept if kept and kept["recipe"] == asdict(recipe) else None


def _outcome(
    arm: Arm, seed: int, data: RecordsDataModule, folder: Path, losses: Sequence[float], seconds: float, doctor: str
) -> Outcome:
    replies, asked = _replies(folder), data.asked("validate")
    items = items_read(data.tasks.values(), asked, replies)
    signs = signs_of(items, replies, {r.id: r.task for r in asked}, [])
    return Outcome(
        seed=seed,
        start=arm.start,
        answers=arm.answers,
        lr=arm.recipe.lr,
        steps=arm.recipe.steps,
        n=signs.n,
        strings=len({r.answer for r in data.records("train")}),
        seconds=round(seconds, 1),
        loss=statistics.fmean(losses[-LAST:]),
        right=signs.right,
        empty=signs.empty,
        repetitive=signs.repetitive,
        at_limit=signs.at_limit,
        distinct=signs.distinct,
        doctor=doctor,
        example=replies[asked[0].id].reply[:160],
    )


def _replies(folder: Path) -> dict[str, Reply]:
    return {reply.id: reply for reply in read_replies(Run(folder).replies).values()}


def _write(file: Path, outcomes: Sequence[Outcome]) -> None:
    with write_durably(file) as beside, beside.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, [f.name for f in fields(Outcome)])
        writer.writeheader()
        writer.writerows(asdict(o) for o in outcomes)
