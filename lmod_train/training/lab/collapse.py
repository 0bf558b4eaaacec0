"""The collapse lab: the same fine-tuning from complete weights and from the delta of these weights.

LMOD's published fine-tuning command starts from delta weights. Here the small base stands for LLaMA, the base tuned on
one task for LLaVA-Med, and the difference of the two language models for the published delta. Complete weights and
delta are then fine-tuned on the same data in the same order, with the same number of steps and learning rate, for short
answers (a diagnosis), long ones and varied ones (lists of regions), and evaluated.
"""

from __future__ import annotations

import csv
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from lightning import Callback, LightningModule, Trainer, seed_everything
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, remove, write_durably
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.data.sources.discovery import discover
from lmod_train.models.chat.checkpoint import find
from lmod_train.models.chat.delta import make_delta
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.phantom.folders import cataract_1k, eye_diseases, refuge
from lmod_train.scoring.collapse import signs_of
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.tripwires import items_read
from lmod_train.training.doctor.check_result import failures
from lmod_train.training.doctor.examine import examine
from lmod_train.training.doctor.subject import Subject

Start = Literal["merged", "delta"]
Answers = Literal["short", "long", "varied"]
STARTS: tuple[Start, ...] = ("merged", "delta")
ANSWERS: tuple[Answers, ...] = ("short", "long", "varied")
ASKED: dict[Answers, tuple[type[Task], str]] = {
    "short": (Glaucoma, "CFP"),
    "long": (Anatomy, "CFP"),
    "varied": (Anatomy, "SS"),
}
"""Task and modality by kind of answers."""
BATCH = 16
"""Questions per optimiser step."""
LAST = 10
"""Number of steps at the end over which the reported loss is averaged."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a training, the same for both starts.

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one training of the lab. Shares are of the held-out records.

    Attributes:
        seed: Seed of order and dropout.
        start: ``merged`` for complete weights, ``delta`` for their delta.
        answers: Kind of answers: short, long or varied.
        n: Number of held-out records.
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


class Losses(Callback):
    """Keeps the loss of every step."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Append the loss of a step."""
        self.values.append(float(outputs["loss"]))


def collapse_lab(out: Path, seeds: int, recipe: Recipe, n: int) -> list[Outcome]:
    """Run all trainings that are not finished yet, and return the outcome of every training.

    Args:
        out: Folder for data, weights, runs and ``collapse.csv``; finished parts in it are reused.
        seeds: Number of repetitions of each training, with seeds 0, 1, ...
        recipe: Hyperparameters of both starts.
        n: Number of phantoms of each of three sources; half of them are for training.

    Raises:
        BadArgument: The folder was made with another `n`.
    """
    data = _data(out, n)
    starts = _starts(out, data)
    verdicts = {start: cache(partial(verdict, folder, data)) for start, folder in starts.items()}
    outcomes = []
    for seed in range(seeds):
        for answers in ANSWERS:
            for start in STARTS:
                run = out / "runs" / f"{start}-{answers}-{seed}"
                outcomes.append(_outcome(run, starts[start], data, start, answers, seed, recipe, verdicts[start]))
    with write_durably(out / "collapse.csv") as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Outcome)])
        writer.writeheader()
        writer.writerows(asdict(o) for o in outcomes)
    return outcomes


def verdict(checkpoint: Path, curated: Path) -> str:
    """Return the verdict of the doctor's checks on a checkpoint: ``passes``, or ``refuses`` and the failed checks."""
    module = VisionLanguageModel(str(checkpoint), None, tune_language_model=True)
    data = RecordsDataModule(curated, [Glaucoma()])
    data.setup("fit")
    config = {"model": {"init_args": {"checkpoint": str(checkpoint)}}, "trainer": {"gradient_clip_val": 1.0}}
    failed = dict.fromkeys(f.check for f in failures(examine(Subject(config, module, data))))
    return f"refuses: {', '.join(failed)}" if failed else "passes"


def _data(out: Path, n: int) -> Path:
    """Return the folder of curated phantoms, drawn where they are missing: 50 % train, 10 % val, 40 % test."""
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


def _starts(out: Path, curated: Path) -> dict[Start, Path]:
    """Return the two checkpoints: the base tuned on the four-way question, and its difference from the base."""
    merged, delta = out / "weights" / "merged", out / "weights" / "small-delta"
    if not merged.exists():
        module, _ = _tuned(out / "runs" / "start", "small_base", _data_of(curated, FourWay(), "", 0), 0, START)
        with write_durably(merged) as part:
            module.network.save_pretrained(part)
            module.dialect.processor.save_pretrained(part)
    if not delta.exists():
        make_delta(merged, find("small_base"), delta)
    return {"merged": merged, "delta": delta}


def _data_of(curated: Path, task: Task, modality: str, seed: int) -> RecordsDataModule:
    return RecordsDataModule(curated, [task], BATCH, 64, split="test", seed=seed, modality=modality)


def _tuned(
    run: Path, checkpoint: str, data: RecordsDataModule, seed: int, recipe: Recipe
) -> tuple[VisionLanguageModel, list[float]]:
    """Fine-tune projector and language model in full, evaluate on held-out records, and return model and losses."""
    remove(run)
    make_folder(run)
    seed_everything(seed, verbose=False)
    optimisation = Optimisation(recipe.lr, recipe.lr, 0.0, 0.03)
    module = VisionLanguageModel(
        checkpoint,
        None,
        optimisation,
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
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(module, data)
    trainer.limit_val_batches = 1.0
    trainer.validate(module, data, verbose=False)
    return module, losses.values


def _outcome(
    run: Path,
    checkpoint: Path,
    curated: Path,
    start: Start,
    answers: Answers,
    seed: int,
    recipe: Recipe,
    doctor: Callable[[], str],
) -> Outcome:
    """Train and evaluate, and return the outcome; a training that was finished before is read from its folder."""
    file, settings = run / "outcome.json", asdict(recipe)
    if file.exists():
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["recipe"] == settings:
            return Outcome(**kept["outcome"])
    rank_zero_info(f"collapse lab: {start} weights, {answers} answers, seed {seed}")
    task, modality = ASKED[answers]
    data, began = _data_of(curated, task(), modality, seed), time.perf_counter()
    _, losses = _tuned(run, str(checkpoint), data, seed, recipe)
    seconds = time.perf_counter() - began
    replies = {reply.id: reply for reply in read_replies(Run(run).replies).values()}
    asked = data.asked("test")
    items = items_read(data.tasks.values(), asked, replies)
    signs = signs_of(items, replies, {r.id: r.task for r in asked}, [])
    outcome = Outcome(
        seed=seed,
        start=start,
        answers=answers,
        n=signs.n,
        strings=len({r.answer for r in data.records("train")}),
        seconds=round(seconds, 1),
        loss=statistics.fmean(losses[-LAST:]),
        right=signs.right,
        empty=signs.empty,
        repetitive=signs.repetitive,
        at_limit=signs.at_limit,
        distinct=signs.distinct,
        doctor=doctor(),
        example=replies[asked[0].id].reply[:160],
    )
    with write_durably(file) as beside:
        kept = {"recipe": settings, "outcome": asdict(outcome), "losses": losses}
        beside.write_text(json.dumps(kept), encoding="utf-8")
    return outcome


def losses_of(out: Path, outcomes: Sequence[Outcome]) -> list[list[float]]:
    """Return the loss of every step for each outcome, from its run folder."""
    runs = [out / "runs" / f"{o.start}-{o.answers}-{o.seed}" for o in outcomes]
    return [json.loads((run / "outcome.json").read_text(encoding="utf-8"))["losses"] for run in runs]
