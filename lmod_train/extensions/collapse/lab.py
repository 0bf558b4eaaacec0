"""The collapse lab: the same fine-tuning from complete weights and from the delta of these weights, with controls.

LMOD's published fine-tuning command starts from delta weights. Here the small base stands for LLaMA, the base tuned on
one task for LLaVA-Med, and the difference of the two language models for the published delta. Complete weights and
delta are then fine-tuned on the same data for short answers (a diagnosis), long ones and varied ones (lists of
regions), and evaluated.

Controls answer what a sceptic would ask. Is the delta worse than a language model without any knowledge? Does the
tuning of the complete weights matter, or only the base? Was the learning rate or the number of steps wrong for it?
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Literal

import torch
from lightning import Callback, LightningModule, Trainer, seed_everything
from tqdm import tqdm
from transformers import AutoModelForImageTextToText, AutoProcessor

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.csv_files import write_csv
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, remove, write_durably
from lmod_train.core.raw import read_json
from lmod_train.core.types import Reply, Score
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.workers import local_crew, run
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.data.sources.discovery import discover
from lmod_train.models.chat.checkpoint import find, load
from lmod_train.models.chat.delta import make_delta
from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.phantom.folders import cataract_1k, eye_diseases, refuge
from lmod_train.scoring.collapse import mean_right, signs_of
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.tripwires import items_read
from lmod_train.training.doctor.check_result import failures
from lmod_train.training.doctor.examine import examine
from lmod_train.training.doctor.subject import Subject

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

SILENT: dict[str, Any] = dict.fromkeys(
    ("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar", "use_distributed_sampler"), False
)
"""Options of the trainer that are off."""

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
    kept: dict[str, Any] = read_json(folder / OUTCOME)
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
        strings=len({r.answer for r in data.records("train")}),
        seconds=round(seconds, 1),
        loss=statistics.fmean(losses[-LAST:]),
        doctor=doctor,
        example=replies[asked[0].id].reply[:160],
        **{name: getattr(signs, name) for name in ("n", "right", "empty", "repetitive", "at_limit", "distinct")},
    )


def _replies(folder: Path) -> dict[str, Reply]:
    return {reply.id: reply for reply in read_replies(Run(folder).replies).values()}


def _write(file: Path, outcomes: Sequence[Outcome]) -> None:
    write_csv(file, [f.name for f in fields(Outcome)], map(astuple, outcomes))


# Data of the collapse lab, and the weights that its trainings start from.
Start = Literal["merged", "delta", "base", "random"]

STARTS: tuple[Start, ...] = ("merged", "delta", "base", "random")
"""Weights that a training starts from, see `checkpoints`."""

BASE = "small_base"


# One training of the collapse lab: projector and language model tuned in full, and asked about held-out records.


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters of a training.

    Attributes:
        steps: Number of optimiser steps.
        lr: Highest learning rate; linear warm-up over 3 % of the steps, then half a cosine, as in LLaVA.
        max_new_tokens: Longest reply in tokens.
    """

    steps: int = 120
    lr: float = 2e-3
    max_new_tokens: int = 64


START = Recipe(steps=100, lr=3e-4)
"""Recipe that tunes the small base into the complete weights from which the delta is made."""

BATCH = 16
"""Questions per optimiser step."""


def phantoms(out: Path, n: int) -> Path:
    """Return the folder of curated phantoms, drawn where they are missing: 50 % train, 10 % val, 40 % test.

    Args:
        out: Folder of the lab.
        n: Number of phantoms of each of three sources.

    Raises:
        BadArgument: The folder was made with another `n`.
    """
    raw, curated = out / "raw", out / "curated"
    drawn = raw / "drawn"
    if drawn.exists():
        begun = drawn.read_text(encoding="utf-8")
        if begun not in ("", str(n)):
            raise BadArgument("--n", n, f"{begun}, with which {out} was made", "name another folder (--out)")
    else:
        eye_diseases.write(raw, n, 0)
        refuge.write(raw, n, 0)
        cataract_1k.write(raw, n, 0)
        with write_durably(drawn) as beside:
            beside.write_text(str(n), encoding="utf-8")
    tasks: list[Task] = [Anatomy(), FourWay(), Glaucoma()]
    curate(discover(raw).sources, tasks, curated, protocol="collapse_lab", ratios=(0.5, 0.1, 0.4), progress=False)
    return curated


def data_of(
    curated: Path, task: Task, modality: str, seed: int, split: Literal["val", "test"] = "test"
) -> RecordsDataModule:
    """Return the records of a task in one modality, of which `split` is asked."""
    return RecordsDataModule(curated, [task], BATCH, 64, split=split, seed=seed, modality=modality)


def checkpoints(out: Path, curated: Path) -> dict[Start, Path]:
    """Return the checkpoints that trainings start from, made where they are missing.

    ``merged`` is the base tuned on the four-way question, as LLaVA-Med is a tuned LLaMA; ``delta`` its difference from
    the base; ``base`` the base itself, without that tuning; ``random`` the complete weights with a language model that
    is initialised at random as before its pre-training.
    """
    weights, base = out / "weights", find(BASE)
    merged, delta, random = weights / "merged", weights / "small-delta", weights / "random"
    if not merged.exists():
        module, _ = tuned(out / "runs" / "start", BASE, data_of(curated, FourWay(), "", 0), 0, START)
        _save(module.network, module.dialect.processor, merged)
    if not delta.exists():
        make_delta(merged, base, delta)
    if not random.exists():
        _save(forgetful(merged), AutoProcessor.from_pretrained(merged), random)
    return {"merged": merged, "delta": delta, "base": base, "random": random}


def forgetful(checkpoint: Path) -> Any:
    """Return a model whose language model is initialised at random (seed 0), with the tower and projector of another.

    Example:
        >>> model = forgetful(find("small_base"))
        >>> float(model.model.language_model.norm.weight.mean())  # the gain of a new network
        1.0
    """
    whole: Any = load(checkpoint)
    family = family_of(whole)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fresh: Any = AutoModelForImageTextToText.from_config(whole.config)
    kept = {name: value for name, value in whole.state_dict().items() if family.part(name) in ("tower", "projector")}
    fresh.load_state_dict(kept, strict=False)
    return fresh


def _save(model: Any, processor: Any, folder: Path) -> None:
    with write_durably(folder) as part:
        model.save_pretrained(part)
        processor.save_pretrained(part)


def verdict(checkpoint: Path, curated: Path) -> str:
    """Return the verdict of the doctor's checks on a checkpoint: ``passes``, or ``refuses`` and the failed checks."""
    module = VisionLanguageModel(str(checkpoint), None, tune_language_model=True)
    data = RecordsDataModule(curated, [Glaucoma()])
    data.setup("fit")
    config = {"model": {"init_args": {"checkpoint": str(checkpoint)}}, "trainer": {"gradient_clip_val": 1.0}}
    failed = dict.fromkeys(f.check for f in failures(examine(Subject(config, module, data))))
    return f"refuses: {', '.join(failed)}" if failed else "passes"


def tuned(
    run: Path, checkpoint: str, data: RecordsDataModule, seed: int, recipe: Recipe
) -> tuple[VisionLanguageModel, list[float]]:
    """Tune a checkpoint, and ask the split that the data evaluate.

    Args:
        run: Folder of the run, emptied first; the replies are written to it.
        checkpoint: Folder or name of the checkpoint.
        data: Training records, and those that are asked.
        seed: Seed of dropout; that of the order of the records is the data's.
        recipe: The hyperparameters.

    Returns:
        The tuned model, and the loss of every step in nats.
    """
    remove(run)
    make_folder(run)
    seed_everything(seed, verbose=False)
    module = VisionLanguageModel(
        checkpoint,
        None,
        Optimisation(recipe.lr, recipe.lr, 0.0, 0.03),
        recipe.max_new_tokens,
        tune_language_model=True,
        tower_features=data.curated.parent / "tower",
    )
    losses = Losses()
    trainer = Trainer(
        accelerator="cpu",
        devices=1,
        max_steps=recipe.steps,
        max_epochs=-1,
        limit_val_batches=0,
        gradient_clip_val=1.0,
        callbacks=[losses, GenerationEval()],
        default_root_dir=run,
        **SILENT,
    )
    trainer.fit(module, data)
    trainer.limit_val_batches = 1.0
    trainer.validate(module, data, verbose=False)
    return module, losses.values


class Losses(Callback):
    """Keeps the loss of every step."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Append the loss of a step."""
        self.values.append(float(outputs["loss"]))
