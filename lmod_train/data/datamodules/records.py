"""The datamodule of curated records, for all tasks and models, and general conversations added to training."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from math import gcd
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from lightning import LightningDataModule
from lightning_utilities.core.rank_zero import rank_zero_info, rank_zero_warn

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_ids, read_records
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument, check_number, check_one_of, did_you_mean
from lmod_train.core.shipped import config_files
from lmod_train.core.types import Collate, Record
from lmod_train.data.datamodules.ahead import AnsweredLoader, ReadingAhead
from lmod_train.data.datamodules.cascade_loader import CascadeLoader, Due
from lmod_train.data.datamodules.class_balance import Balance, Cell, Draw, cells_of, histogram, shares
from lmod_train.data.datamodules.folder_tasks import among, rebuilt_tasks
from lmod_train.data.datamodules.lengths import length_of
from lmod_train.data.datamodules.loader import RecordLoader
from lmod_train.data.datamodules.order import ImageBatches, by_image
from lmod_train.data.datamodules.plain_images import PlainBatch, PlainImages
from lmod_train.data.datamodules.selection import Selection, families_of
from lmod_train.data.datamodules.shard import Shard
from lmod_train.data.datamodules.steps import Steps, Weighing
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import Configured, build
from lmod_train.tasks.cascade import needed, rounds
from lmod_train.tasks.regimes import Regime, in_regime
from lmod_train.tasks.ways import AS_CURATED, Ways, in_every_way, summary

OF_THE_FOLDER: list[Task] = []
"""Default of `tasks`: those of the curated folder."""


class RecordsDataModule(LightningDataModule):
    """Records of tasks, batched by image and collated by the module's dialect.

    A LightningModule without a dialect (`collate`) gets batches of `PlainImages`. Without a Trainer the loaders give
    the batches of a single process.

    Args:
        curated: Folder written by `curate`.
        tasks: Tasks to train and evaluate on; records of other tasks are left out and counted. Default: every task with
            records in `curated`, with the settings it was curated with.
        batch_size: Number of questions in a training batch, per device.
        global_batch: Number of questions of an optimiser step over all devices, a multiple of `batch_size` x devices:
            batches are accumulated to it. 0 for `batch_size` x devices x `trainer.accumulate_grad_batches`.
        eval_batch_size: Number of questions in an evaluation batch, per device.
        max_questions: Maximum number of questions about one image in a group.
        split: Split that `validate`, `test` and `predict` evaluate: ``command``, the one named after the command (test
            for `predict`), another, ``held_out`` for validation and test split, or ``all``.
        modality: Use only records of this modality; empty for all.
        variant: Use only records of this variant, the last part of their id (``drusen`` of the task conditions); empty
            for all.
        subset: File of record ids, one per line, as `subset` writes it, to restrict evaluation to; training is not
            affected. Null for all.
        limit: Maximum number of questions of each task in evaluation, the first in id order; 0 for all.
        workers: Number of processes that read images; 0 reads them in the main process. Null chooses it: one for
            every 128 batches, at most one less than the cores of a device and 8.
        seed: Seed of the training order.
        balance: Groups that are trained on equally often in each epoch: ``class``, the answer words of each task;
            ``modality``; ``class_modality``, the answer words of each task within each modality; or ``none``. Tasks
            keep their shares; a task with answers per region (anatomy) or in free text is one class. The length of an
            epoch does not change: rare classes are repeated, and of frequent ones each epoch leaves out others.
            Questions about one image stay together where possible (`lmod_train.data.datamodules.class_balance.Draw`).
        length_groups: Use training batches of similar length, with text only apart from images, for less padding.
        replay: Share of general conversations in each training epoch, in [0, 1), added to the tasks' questions against
            forgetting; 0.05 to 0.2 is usual. They are evaluated only if their task is among `tasks`.
        replay_from: Folder of these conversations, written by `import`; null if `curated` itself contains them.
        shard: Part of the images that this process evaluates, ``i/n`` with i from 1 to n, for several processes that
            write to one run folder, e.g. the tasks of a SLURM array; empty for all. Not for `fit`.
        asking: Ways in which each evaluated question is asked: wordings, orders of the options, system messages,
            examples, repeats. Not for classifiers, which do not read the question.
        regime: What questions of a chain are asked after: nothing (``independent``); the model's own answer to the
            preceding question (``cas_last``), or to all earlier ones (``cas_all``); the true answers (``oracle``); a
            wrong answer (``planted``). In `fit`, any but ``independent`` trains and validates after the true answers.
        sources: Names of the sources to use, separated by commas; empty for all.
        exclude_sources: Names of sources to leave out, separated by commas, e.g. those that a model was trained on.
        share: Share of the training split to train on, in (0, 1]: whole patients, in proportion to sources and classes,
            at least one of each class. A smaller share is a part of every larger one.
        fold: Fold that is the test split in place of the curated splits, ``i/n``; the next fold is the validation
            split, the others are trained on. Folds are of whole patients and copies. `--folds n` runs all of them.
        draw_seed: Seed of the folds and of the share, which all seeds of a training have in common.

    Attributes:
        of: Names of the tasks of a class for one task or benchmark; empty for all.
        protocols: Protocols of curated folders that a class is for; empty for any.
        collate: Dialect for modules that have none; None for `PlainImages` of 224 pixels.
    """

    of: ClassVar[tuple[str, ...]] = ()
    protocols: ClassVar[tuple[str, ...]] = ()
    collate: Collate | None = None

    def __init__(
        self,
        curated: Path,
        tasks: list[Task] = OF_THE_FOLDER,
        batch_size: int = 16,
        eval_batch_size: int = 32,
        max_questions: int = 16,
        split: Literal["command", "train", "val", "test", "held_out", "all"] = "command",
        modality: str = "",
        limit: int = 0,
        workers: int | None = None,
        seed: int = 0,
        variant: str = "",
        subset: Path | None = None,
        balance: Balance = "none",
        length_groups: bool = False,
        replay: float = 0.0,
        replay_from: Path | None = None,
        shard: str = "",
        asking: Ways = AS_CURATED,
        regime: Regime = "independent",
        sources: str = "",
        exclude_sources: str = "",
        share: float = 1.0,
        fold: str = "",
        draw_seed: int = 0,
        global_batch: int = 0,
    ) -> None:
        super().__init__()
        self._selection = Selection(sources, exclude_sources, share, fold, draw_seed)
        self.external, self.fold, self._families = bool(sources or exclude_sources), fold, dict[str, str]()
        replayed(0, replay)  # checks the range
        counts = {"batch_size": batch_size, "eval_batch_size": eval_batch_size, "max_questions": max_questions}
        for name, value in {**counts, "limit": limit, "seed": seed, "draw_seed": draw_seed}.items():
            check_number(f"data.{name}", value, int(name in counts), 2**63 - 1, "leave it out for the default")
        check_number("data.workers", workers or 0, 0, max(64, 4 * (os.cpu_count() or 1)), "leave it out")
        check_one_of("data.balance", balance, get_args(Balance), "leave it out for none")
        check_one_of("data.regime", regime, get_args(Regime), "leave it out for independent")
        if strange := [task for task in tasks if not isinstance(task, Task)]:
            raise BadArgument("data.tasks", strange[0], "a task, such as `Glaucoma()`", "leave it out for all tasks")
        if asking.factors and regime.startswith("cas_"):
            cure = "leave data.asking out, or ask after the true answers: `--data.regime oracle`"
            raise BadArgument("data.regime", regime, "questions that are asked in one way", cure)
        tasks = tasks or [build(path, arguments) for path, arguments in self.configured(Path(curated))]
        if self.of and (others := [t.name for t in tasks if t.name not in self.of]):
            expected = f"tasks of {type(self).__name__}: {', '.join(self.of)}"
            raise BadArgument("data.tasks", ",".join(others), expected, "use RecordsDataModule for any tasks")
        self.curated, self.tasks = Path(curated), {t.name: t for t in tasks}
        self.images = Curated(self.curated, [Path(replay_from)] if replay_from else [])
        if len(self.tasks) != len(tasks):
            raise BadArgument("data.tasks", [t.name for t in tasks], "each task once", "remove the repeated one")
        self.batch_size, self._eval_batch_size, self._max_questions = batch_size, eval_batch_size, max_questions
        check_number("data.global_batch", global_batch, 0, 2**31 - 1, "leave it out")
        self.global_batch, self._set_accumulation = global_batch, 1
        self._split, self._modality, self._variant, self._limit = split, modality, variant, limit
        self._subset = read_ids(Path(subset), "data.subset") if subset else None
        self._workers, self._seed = workers, seed
        self.shard = str(Shard.parse(shard)) if shard else ""
        self.balance, self._length_groups = balance, length_groups
        self._replay, self._replay_from = replay, Path(replay_from or curated)
        self._asking, self._in_every_way = asking, dict[str, list[Record]]()
        self._regime: Regime = regime
        self._records: list[Record] = []
        self._training: RecordLoader | None = None
        self._continued: dict[str, Any] = {}
        self._answered: Callable[[], Iterable[str]] = frozenset
        self._failed: Callable[[], Collection[str]] = frozenset
        self._due: Due = _refuse_cascade
        self._choice: Callable[[list[Record]], list[Record]] = list

    @classmethod
    def configured(cls, curated: Path, trust: tuple[str, ...] = ()) -> list[Configured]:
        """Return class path and arguments of the tasks of a folder, of those that the class is for.

        Args:
            curated: Folder written by `curate`.
            trust: Modules outside this package with task classes that the manifest names, which may be imported.

        Raises:
            ArtifactError: The folder is not curated.
            BadArgument: It has no records of these tasks.
        """
        protocol = read_manifest(curated).get("protocol")
        if cls.protocols and protocol not in cls.protocols:
            meant = " or ".join(cls.protocols)
            rank_zero_warn(f"{curated}: {cls.__name__} is for the protocol {meant}; this folder's is {protocol}")
        return list(rebuilt_tasks(curated, among(curated, cls.of) if cls.of else (), trust).values())

    @property
    def choices(self) -> tuple[str, ...]:
        """Choices of the only task; `()` with several tasks, as a classifier is for one task."""
        return next(iter(self.tasks.values())).choices if len(self.tasks) == 1 else ()

    def setup(self, stage: str) -> None:
        """Read the records of all tasks once, and check that those of the stage can be asked on their own.

        Raises:
            ArtifactError: The folder is not curated.
            BadArgument: A task or the variant has no records, the subset is of another folder, a prompt contains
                answers to earlier questions and the regime is ``independent``, or a training is to be divided into
                shards.
        """
        if stage == "fit" and self.shard:
            cure = "leave it out; several devices train together with `--trainer.devices N`"
            raise BadArgument("data.shard", self.shard, "no shard in `fit`, which needs every record", cure)
        self.records("all")
        if stage == "fit":
            self._after_truths("train")
            self._accumulate()
        if (lines := summary(self.asked(stage))) and stage != "fit":
            rank_zero_info("\n  ".join(["asked in several ways:", *lines]))

    def _accumulate(self) -> None:
        if self.global_batch and self.trainer is not None:
            number, stated = self.accumulated(self.trainer.world_size), self.trainer.accumulate_grad_batches
            if stated not in (1, number, self._set_accumulation):
                expected = f"{number}, as data.global_batch is {self.global_batch}, or left out"
                raise BadArgument("trainer.accumulate_grad_batches", stated, expected, "leave one of them out")
            self.trainer.accumulate_grad_batches = self._set_accumulation = number

    def accumulated(self, devices: int) -> int:
        """Return the number of batches of each device that make the global batch.

        Raises:
            BadArgument: No number of them does.
        """
        number, rest = divmod(self.global_batch, self.batch_size * devices)
        if rest:
            size = 0 if self.global_batch % devices else gcd(self.global_batch // devices, self.batch_size)
            expected = f"a multiple of {self.batch_size * devices}, data.batch_size x {devices} devices"
            cure = f"set data.batch_size to {size}" if size else f"set it to a multiple of {devices}"
            raise BadArgument("data.global_batch", self.global_batch, expected, cure)
        return number

    def _read(self) -> list[Record]:
        """Return the records of the named tasks, modality and variant, in id order."""
        read_manifest(self.curated)
        everything = read_records(self.curated / "records")
        known = Counter(r.task for r in everything)
        for name in self.tasks:
            if not known[name]:
                near = did_you_mean("--data.tasks", [name], known, "")
                raise BadArgument(
                    "data.tasks",
                    name,
                    f"one of the tasks curated in {self.curated}: {', '.join(sorted(known)) or 'none'}",
                    "; ".join(filter(None, [near, _how_to_curate(name), "or leave it out"])),
                )
        if strange := sorted(set(self._subset or ()) - {r.id for r in everything}):  # a part would be evaluated
            expected = f"ids of records in {self.curated} ({len(strange)} are not, e.g. {strange[0]})"
            raise BadArgument("data.subset", len(self._subset or ()), expected, "draw it from this folder")
        chosen = self._only([r for r in everything if r.task in self.tasks], "modality", self._modality)
        chosen = self._only(chosen, "variant", self._variant)
        if self._selection.divides:
            self._families = families_of(everything, self.curated)
        used = sorted(self._selection.of(chosen, self._families), key=lambda r: r.id)
        others = sum(known.values()) - len(used)
        if others:
            rank_zero_info(
                f"{self.curated}: {len(used)} records used, {others} of other tasks, modalities, variants or sources, "
                "or beyond the share, left out"
            )
        self.images.check(name for r in used for name in (*r.image, *r.image_plain))
        return used

    def _only(self, records: list[Record], field: Literal["modality", "variant"], wanted: str) -> list[Record]:
        """Return the records of a modality or variant; all if none is set."""
        found = [r for r in records if not wanted or getattr(r, field) == wanted]
        if wanted and not found:
            known = sorted({getattr(r, field) for r in records} - {""})
            otherwise = "name one of them, or leave it out" if known else "leave it out"
            cure = did_you_mean(f"--data.{field}", [wanted], known, otherwise)
            expected = f"a {field} of the records (there are: {', '.join(known) or 'none'})"
            raise BadArgument(f"data.{field}", wanted, expected, cure)
        return found

    def records(self, split: str) -> list[Record]:
        """Return the records of a split, in id order; ``held_out`` is validation and test split, ``all`` is all."""
        self._records = self._records or self._read()
        wanted = ("val", "test") if split == "held_out" else (split,)
        return [r for r in self._records if split == "all" or r.split in wanted]

    def families(self) -> dict[str, str]:
        """Return record id -> family of all records of the folder, which no division separates; computed once."""
        self._families = self._families or families_of(read_records(self.curated / "records"), self.curated)
        return self._families

    def asked(self, stage: str) -> list[Record]:
        """Return the records that `validate`, `test`, `predict` or `fit` evaluates, answered ones included.

        Each question is a record for each way of asking it; in `fit` it is asked once. In a cascade, earlier questions
        of the chains are among them, whatever the limit.

        Raises:
            BadArgument: The examples before a question would be of the evaluated split, or a way or the regime cannot
                be asked.
        """
        if stage == "fit":
            return self._after_truths("val", {r.id for r in self._chosen(stage)})
        if stage not in self._in_every_way:
            chosen = self._in_regime(self._chosen(stage))
            if self._asking.shots and any(r.split == "train" for r in chosen):
                cure = "evaluate another one, e.g. `--data.split test`"
                expected = "a split without training images, of which the examples are"
                raise BadArgument("data.split", self._split, expected, cure)
            training = self.records("train")
            self._in_every_way[stage] = in_every_way(chosen, self.tasks, self._asking, training)
        return self._in_every_way[stage]

    def _chosen(self, stage: str) -> list[Record]:
        """Return the questions that a command evaluates, as curated."""
        named = {"validate": "val", "fit": "val", "test": "test", "predict": "test"}[stage]
        chosen = self.records(named if self._split == "command" or stage == "fit" else self._split)
        if self._subset is not None:
            chosen = [r for r in chosen if r.id in self._subset]
        if not self._limit:
            return chosen
        return [r for name in self.tasks for r in [c for c in chosen if c.task == name][: self._limit]]

    def _in_regime(self, chosen: list[Record]) -> list[Record]:
        """Return questions as they are asked in the regime, with the earlier ones whose answers they hold."""
        everything = {r.id: r for r in self._records}
        known = {r.id: r for r in in_regime(self._records, self.tasks, self._regime, everything)}
        return list(needed((known[r.id] for r in chosen), known))

    def _after_truths(self, split: str, ids: Collection[str] | None = None) -> list[Record]:
        """Return the questions of a split as `fit` trains on them or validates: after the true answers, or alone."""
        regime: Regime = "independent" if self._regime == "independent" else "oracle"
        own = [r for r in self.records(split) if ids is None or r.id in ids]
        return in_regime(own, self.tasks, regime, {r.id: r for r in self._records})

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """Return a batch with its images in the data type of a module without a dialect of its own."""
        if isinstance(batch, PlainBatch):
            batch.images = batch.images.to(self._module().dtype)
        return batch

    def ask_when_due(self, due: Due) -> None:
        """Ask questions whose words hold earlier answers when these are there.

        Args:
            due: Function that returns those of some questions that are to be asked now, with the words that are sent.
        """
        self._due = due

    def choose(self, choice: Callable[[list[Record]], list[Record]]) -> None:
        """Ask only some of the records without a reply.

        Args:
            choice: Function that returns them.
        """
        self._choice = choice

    def leave_out(
        self, answered: Callable[[], Iterable[str]], failed: Callable[[], Collection[str]] = frozenset
    ) -> None:
        """Leave records out of evaluation that have a reply, and ask those last whose request has failed before.

        So a run with records that a server always refuses comes to an end, however many they are.

        Args:
            answered: Function that returns the ids of the records with a reply; called for each evaluation loader,
                after the weights are loaded.
            failed: Function that returns the ids of those that failed; called after `answered`.
        """
        self._answered, self._failed = answered, failed

    def train_dataloader(self) -> RecordLoader:
        """Return the training loader; its order depends on seed and epoch.

        Raises:
            ArtifactError: The folder of conversations is not curated.
            BadArgument: The training split is empty, or there are no conversations to replay.
        """
        self._accumulate()  # again, where a callback has searched for a batch size
        records, draw = self._draw()
        if self.balance != "none" or self._replay:
            lines = "\n  ".join(histogram(records, draw))
            rank_zero_info(f"records to train on -> questions of the first epoch:\n  {lines}")
        rank, ranks = self._place()
        batches = ImageBatches(
            draw.groups,
            self.batch_size,
            shuffle=True,
            seed=self._seed,
            rank=rank,
            ranks=ranks,
            draw=draw,
            lengths=[length_of(r) for r in records] if self._length_groups else None,
        )
        self._training = self._loader(records, batches, self._steps())
        if self._continued:
            self._training.load_state_dict(self._continued)
            self._continued = {}
        return self._training

    def training(self) -> list[Record]:
        """Return all training records: those of the tasks in the split train, and conversations to replay.

        Raises:
            ArtifactError: The folder of conversations is not curated.
            BadArgument: There are no conversations to replay.
        """
        return [*self._own(), *self._general()]

    def _own(self) -> list[Record]:
        own = self._after_truths("train")
        if self._replay and self._replay_from == self.curated:
            return [r for r in own if r.task not in TASKS]  # these are added by their share
        return own

    def _taught(self, records: list[Record]) -> list[Record]:
        """Return the records of the tasks as they are trained on: here as curated."""
        return records

    def _general(self) -> list[Record]:
        found = read_conversations(self._replay_from) if self._replay else []
        self.images.check(name for r in found for name in (*r.image, *r.image_plain))
        return found

    def _draw(self) -> tuple[list[Record], Draw]:
        """Return all training records, those of the tasks first, and the draw of each epoch."""
        own = self._taught(self._own())
        if not own:
            cure = "curate with more samples"
            raise BadArgument("data.curated", str(self.curated), "records in the split train", cure)
        cells = cells_of(own, self.balance)
        numbers = shares(cells)
        general = self._general()
        if general:
            numbers[Cell(replayed=True)] = replayed(len(own), self._replay)
        records = [*own, *general]
        groups = by_image(records, min(self._max_questions, self.batch_size))
        return records, Draw(groups, [*cells, *[Cell(replayed=True)] * len(general)], numbers, self._seed)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the training order.

        Lightning stores the loader's own state too, but restores it only for a loader that is created after the
        checkpoint was read; a schedule that needs the number of steps creates it before.
        """
        return self._training.state_dict() if self._training else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue the training order where `state_dict` was taken, in `fit`.

        The state applies to the present training loader, or to the next one if there is none yet: sharding strategies
        read a checkpoint after the schedule has created a loader.
        """
        if self.trainer is not None and self.trainer.state.fn != "fit":
            return  # an evaluation may use other devices, and DeepSpeed creates a training loader there
        if self._training is not None and state_dict:
            self._training.load_state_dict(state_dict)
        else:
            self._continued = state_dict

    def val_dataloader(self) -> RecordLoader | AnsweredLoader | CascadeLoader:
        """Return the loader of `validate`, and of the validation in `fit`."""
        fitting = self.trainer is not None and self.trainer.state.fn == "fit"
        return self._evaluation("fit" if fitting else "validate")

    def test_dataloader(self) -> RecordLoader | AnsweredLoader | CascadeLoader:
        """Return the loader of `test`."""
        return self._evaluation("test")

    def predict_dataloader(self) -> RecordLoader | AnsweredLoader | CascadeLoader:
        """Return the loader of `predict`."""
        return self._evaluation("predict")

    def _evaluation(self, stage: str) -> RecordLoader | AnsweredLoader | CascadeLoader:
        asked, done = self.asked(stage), set(self._answered())
        if not asked and stage != "fit":
            splits = dict(Counter(r.split for r in self._records))
            expected = f"a split with records to {stage} (records by split: {splits})"
            raise BadArgument("data.split", self._split, expected, "name another")
        own = Shard.parse(self.shard).of(asked) if self.shard else asked
        left, module = self._choice([r for r in own if r.id not in done]), self._module()
        if stage != "fit":
            self._refuse_classifier()
        (rank, ranks), size = self._place(), self._eval_batch_size
        stream = module.stream if isinstance(module, ReadingAhead) else None
        if len(rounds(own)) > 1:
            failed = self._failed()
            return CascadeLoader(own, self._due, self._dialect(), self.images, size, rank, ranks, stream, failed)
        groups = by_image(left, min(self._max_questions, size), self._failed())
        batches = ImageBatches(groups, size, rank=rank, ranks=ranks)
        loader = self._loader(left, batches)
        return AnsweredLoader(loader, stream, batches.most_questions) if stream else loader

    def _refuse_classifier(self) -> None:
        """Refuse to ask a classifier, whose replies do not depend on the question, in several ways."""
        module = self._module()
        is_classifier = bool(getattr(module, "choices", None))
        for name, value in (("data.asking", ", ".join(self._asking.factors)), ("data.regime", self._regime)):
            if is_classifier and value not in ("", "independent"):
                kind = type(module).__name__
                expected = f"a model that reads the question; {kind} is a classifier and sees the image only"
                raise BadArgument(name, value, expected, f"leave {name} out")

    def _module(self) -> Any:
        """Return the module that is trained or evaluated; None without a Trainer."""
        return None if self.trainer is None else self.trainer.lightning_module

    def _place(self) -> tuple[int, int]:
        """Return rank and number of processes."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)

    def _dialect(self) -> Collate:
        """Return the module's collate function, or that for modules without one."""
        plain = self.collate or PlainImages(choices={name: task.choices for name, task in self.tasks.items()})
        dialect: Collate = getattr(self._module(), "collate", plain)
        return dialect

    def _steps(self) -> Steps | None:
        """Return the collector of the batches of a step for a module that weighs them; None for other modules."""
        trainer, module = self.trainer, self._module()
        if trainer is None or not isinstance(module, Weighing):
            return None

        def left(done: int) -> int:
            accumulated, batches = trainer.accumulate_grad_batches, trainer.num_training_batches
            return int(min(accumulated - done % accumulated, batches - done))

        return Steps(module.weigh_step, left)

    def _loader(self, records: Sequence[Record], batches: ImageBatches, steps: Steps | None = None) -> RecordLoader:
        return RecordLoader(list(records), batches, self._dialect(), self.images, self._workers, steps)


def _how_to_curate(task: str) -> str:
    """Return the command that curates a task together with those of a configuration."""
    named = task if task in config_files("task") else "TASK.yaml"
    return f"curate it too: `python -m lmod_train curate --config CONFIG --tasks+ {named} --raw RAW --out NEW`"


def _refuse_cascade(records: Sequence[Record]) -> list[Record]:
    """Refuse to ask questions whose words hold earlier answers where nothing collects the answers."""
    raise RuntimeError("a cascade needs the callback GenerationEval, which collects the earlier answers")


# General conversations that are added to training against forgetting.
TASKS = ("conversation", "yes_no_conversation", "choice_conversation")
"""Names of the tasks whose records are general conversations."""

IMPORT = "`python -m lmod_train import FILE --images DIR --out CURATED` writes such a folder from LLaVA's conversations"


def read_conversations(folder: Path) -> list[Record]:
    """Return the training conversations of a folder in id order, with absolute image paths.

    Raises:
        ArtifactError: The folder is not curated.
        BadArgument: There are no conversations in its training split, or one contains answers to earlier questions.
    """
    read_manifest(folder)
    root = folder.absolute()
    found = [
        replace(r, image=_below(root, r.image), image_plain=_below(root, r.image_plain))
        for r in read_records(folder / "records")
        if r.task in TASKS and r.split == "train"
    ]
    if not found:
        expected = f"a folder with records of the task {TASKS[0]} in the split train"
        raise BadArgument("data.replay_from", str(folder), expected, f"name one; {IMPORT}")
    in_regime(found, {}, "independent", {})  # refuses questions that hold answers to others
    return sorted(found, key=lambda r: r.id)


def _below(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(root / path) for path in paths)


def replayed(own: int, share: float) -> int:
    """Return the number of conversations whose share of an epoch with `own` other questions is `share`.

    It is at least 1 if `share` and `own` are above 0.

    Args:
        own: Number of questions of the tasks in the epoch.
        share: Share of the conversations, in [0, 1).

    Raises:
        BadArgument: `share` is out of its range.

    Example:
        >>> replayed(95, 0.05), replayed(80, 0.2), replayed(10, 0.0)
        (5, 20, 0)
    """
    if not 0 <= share < 1:
        raise BadArgument("data.replay", share, "a share from 0 to below 1", "0.05 to 0.2 is usual against forgetting")
    return max(1, round(own * share / (1 - share))) if share and own else 0
