"""Curated records in, batches out: one datamodule for every task and every model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from lightning import LightningDataModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.artifacts.manifest import read_manifest
from lmod_train.artifacts.records import read_records
from lmod_train.datamodules.ahead import AnsweredLoader, ReadingAhead
from lmod_train.datamodules.balance import Balance, Cell, Draw, cells_of, histogram, shares
from lmod_train.datamodules.lengths import length_of
from lmod_train.datamodules.loader import RecordLoader
from lmod_train.datamodules.order import ImageBatches, by_image
from lmod_train.datamodules.replay import TASK as CONVERSATION
from lmod_train.datamodules.replay import read_conversations, replayed
from lmod_train.datamodules.steps import Steps, Weighing
from lmod_train.datamodules.unfilled import refuse_unfilled
from lmod_train.errors import BadArgument
from lmod_train.tasks.base import Task
from lmod_train.types import Record


class RecordsDataModule(LightningDataModule):
    """Records of the named tasks, batched by image, in the dialect of the module being run.

    Args:
        curated: Folder that `curate` wrote.
        tasks: Which tasks to train and evaluate on; records of other tasks are left out and counted.
        batch_size: Questions in a training batch.
        eval_batch_size: Questions in an evaluation batch.
        max_questions: At most so many questions about one image travel together.
        split: What `validate`, `test` and `predict` ask: the split the command is named after, or all records.
        modality: Only records of this modality; empty for all.
        variant: Only records of this variant, the last piece of their id (``drusen`` of the task conditions); empty for
            all.
        subset: File of record ids, one a line, as `subset` writes it: what evaluation asks of; training is not touched.
        limit: At most so many records of each task in evaluation, the first in id order; 0 for all.
        workers: Processes that read images.
        seed: Of the training order.
        balance: What training asks equally often in each epoch: ``class`` the answer words of each task, ``modality``
            the modalities, ``class_modality`` both, within each modality the words of each task. A task keeps its
            share, and one that answers per region (anatomy) or in its own words is one class. An epoch is as long as
            without; rare classes are repeated, of frequent ones each epoch leaves out others. Questions about one
            image stay together as far as that allows (`lmod_train.datamodules.balance.Draw`).
        length_groups: Training batches of like length, text alone apart from images: less padding.
        replay: Share of each training epoch that is general conversation, added to the tasks' questions against
            forgetting, from 0 to below 1; 0.05 to 0.2 is usual. Trained on, and evaluated only where the task is named.
        replay_from: Folder that `import` wrote with these conversations; null where `curated` itself holds some.
    """

    def __init__(
        self,
        curated: Path,
        tasks: list[Task],
        batch_size: int = 16,
        eval_batch_size: int = 32,
        max_questions: int = 16,
        split: Literal["command", "train", "val", "test", "all"] = "command",
        modality: str = "",
        limit: int = 0,
        workers: int = 0,
        seed: int = 0,
        variant: str = "",
        subset: Path | None = None,
        balance: Balance = "none",
        length_groups: bool = False,
        replay: float = 0.0,
        replay_from: Path | None = None,
    ) -> None:
        super().__init__()
        replayed(0, replay)  # refuses what is no share
        self.curated, self.tasks = Path(curated), {t.name: t for t in tasks}
        if len(self.tasks) != len(tasks):
            raise BadArgument("data.tasks", [t.name for t in tasks], "each task once", "remove the repeated one")
        self.batch_size, self._eval_batch_size, self._max_questions = batch_size, eval_batch_size, max_questions
        self._split, self._modality, self._variant, self._limit = split, modality, variant, limit
        self._subset = _ids(Path(subset)) if subset else None
        self._workers, self._seed = workers, seed
        self._balance, self._length_groups = balance, length_groups
        self._replay, self._replay_from = replay, Path(replay_from or curated)
        self._records: list[Record] = []
        self._training: RecordLoader | None = None
        self._continued: dict[str, Any] = {}
        self._answered: Callable[[], Iterable[str]] = frozenset

    @property
    def choices(self) -> tuple[str, ...]:
        """The one task's choices, `()` where there are several tasks: a classifier serves one task."""
        return next(iter(self.tasks.values())).choices if len(self.tasks) == 1 else ()

    def setup(self, stage: str) -> None:
        """Read the records of all named tasks, once, and check that those which the stage uses can be asked alone.

        Raises:
            ArtifactError: The folder is not curated.
            BadArgument: A named task has no records there, or none of the variant; the subset is of another folder; or
                words hold answers to earlier questions.
        """
        self._records = self._records or self._read()
        refuse_unfilled([*self.records("train"), *self.records("val")] if stage == "fit" else self.asked(stage))

    def _read(self) -> list[Record]:
        """Return the records of the named tasks, modality and variant, in id order."""
        read_manifest(self.curated)
        everything = read_records(self.curated / "records")
        known = Counter(r.task for r in everything)
        for name in self.tasks:
            if not known[name]:
                raise BadArgument(
                    "data.tasks",
                    name,
                    f"one of the tasks curated in {self.curated}: {', '.join(sorted(known)) or 'none'}",
                    "curate it, or take it out of data.tasks",
                )
        self._check_subset(everything)
        chosen = [r for r in everything if r.task in self.tasks and self._modality in ("", r.modality)]
        used = sorted(self._of_variant(chosen), key=lambda r: r.id)
        others = sum(known.values()) - len(used)
        if others:
            rank_zero_info(
                f"{self.curated}: {len(used)} records used, {others} of other tasks, modalities or variants left out"
            )
        return used

    def _check_subset(self, records: list[Record]) -> None:
        """Refuse a subset that was drawn from another folder: it would be asked in part, in silence."""
        known = {r.id for r in records}
        strange = sorted(set(self._subset or ()) - known)
        if strange:
            expected = f"ids of records in {self.curated} ({len(strange)} are not, e.g. {strange[0]})"
            raise BadArgument("data.subset", len(self._subset or ()), expected, "draw it from this folder")

    def _of_variant(self, records: list[Record]) -> list[Record]:
        """Return the records of the one variant asked for."""
        if not self._variant:
            return records
        found = [r for r in records if r.variant == self._variant]
        if not found:
            known = ", ".join(sorted({r.variant for r in records} - {""})) or "none"
            raise BadArgument(
                "data.variant", self._variant, f"a variant of the records (there are: {known})", "name one of them"
            )
        return found

    def records(self, split: str) -> list[Record]:
        """Return the records of a split (``all`` for every one), in id order."""
        return [r for r in self._records if split in ("all", r.split)]

    def asked(self, stage: str) -> list[Record]:
        """Return what `validate`, `test` or `predict` asks, whether or not it has been answered already."""
        named = {"validate": "val", "fit": "val", "test": "test", "predict": "test"}[stage]
        chosen = self.records(named if self._split == "command" or stage == "fit" else self._split)
        if self._subset is not None:
            chosen = [r for r in chosen if r.id in self._subset]
        if not self._limit:
            return chosen
        return [r for name in self.tasks for r in [c for c in chosen if c.task == name][: self._limit]]

    def leave_out(self, answered: Callable[[], Iterable[str]]) -> None:
        """Leave records out of evaluation that have a reply.

        Args:
            answered: Returns their ids; called whenever an evaluation loader is made, after the weights are loaded.
        """
        self._answered = answered

    def train_dataloader(self) -> RecordLoader:
        """Return the training loader; its order is that of (seed, epoch).

        Raises:
            ArtifactError: The folder of conversations to replay is not curated.
            BadArgument: The training split is empty, or there is no conversation to replay.
        """
        records, draw = self._draw()
        if self._balance != "none" or self._replay:
            lines = "\n  ".join(histogram(records, draw))
            rank_zero_info(f"records to train on -> questions of the first epoch:\n  {lines}")
        trainer = self._running()
        batches = ImageBatches(
            draw.groups,
            self.batch_size,
            shuffle=True,
            seed=self._seed,
            rank=trainer.global_rank,
            ranks=trainer.world_size,
            draw=draw,
            lengths=[length_of(r) for r in records] if self._length_groups else None,
        )
        self._training = self._loader(records, batches, self._steps(trainer))
        if self._continued:
            self._training.load_state_dict(self._continued)
            self._continued = {}
        return self._training

    def training(self) -> list[Record]:
        """Return all that training may ask: the tasks' own records of the split train, and conversations to replay.

        Raises:
            ArtifactError: The folder of conversations to replay is not curated.
            BadArgument: There is no conversation to replay.
        """
        return [*self._own(), *self._general()]

    def _own(self) -> list[Record]:
        own = self.records("train")
        if self._replay and self._replay_from == self.curated:
            return [r for r in own if r.task != CONVERSATION]  # they come as their share says
        return own

    def _general(self) -> list[Record]:
        return read_conversations(self._replay_from) if self._replay else []

    def _draw(self) -> tuple[list[Record], Draw]:
        """Return what may be trained on, the tasks' own records first, and what of it each epoch asks."""
        own = self._own()
        if not own:
            raise BadArgument(
                "data.curated", str(self.curated), "records in the split train", "curate with more samples"
            )
        cells = cells_of(own, self._balance)
        numbers = shares(cells)
        general = self._general()
        if general:
            numbers[Cell(replayed=True)] = replayed(len(own), self._replay)
        records = [*own, *general]
        groups = by_image(records, min(self._max_questions, self.batch_size))
        return records, Draw(groups, [*cells, *[Cell(replayed=True)] * len(general)], numbers, self._seed)

    def state_dict(self) -> dict[str, Any]:
        """Return the place in the training order.

        Lightning stores the loader's own state too, but gives it back only to a loader that did not exist when the
        checkpoint was read; a schedule that asks for the number of steps has made it before.
        """
        return self._training.state_dict() if self._training else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the training loader go on where `state_dict` was taken, in `fit`; the next one where there is none yet.

        Strategies that cut parameters into shares read a checkpoint after the schedule has made a loader.
        """
        if self.trainer is not None and self.trainer.state.fn != "fit":
            return  # an evaluation of the weights may be on other devices, and DeepSpeed makes a training loader there
        if self._training is not None and state_dict:
            self._training.load_state_dict(state_dict)
        else:
            self._continued = state_dict

    def val_dataloader(self) -> RecordLoader | AnsweredLoader:
        """Return the loader of `validate`, and of validation inside `fit`."""
        fitting = self.trainer is not None and self.trainer.state.fn == "fit"
        return self._evaluation("fit" if fitting else "validate")

    def test_dataloader(self) -> RecordLoader | AnsweredLoader:
        """Return the loader of `test`."""
        return self._evaluation("test")

    def predict_dataloader(self) -> RecordLoader | AnsweredLoader:
        """Return the loader of `predict`."""
        return self._evaluation("predict")

    def _evaluation(self, stage: str) -> RecordLoader | AnsweredLoader:
        asked, done = self.asked(stage), set(self._answered())
        if not asked and stage != "fit":
            splits = dict(Counter(r.split for r in self._records))
            raise BadArgument(
                "data.split",
                self._split,
                f"a split with records to {stage} (records by split: {splits})",
                "name another",
            )
        left, trainer = [r for r in asked if r.id not in done], self._running()
        groups = by_image(left, min(self._max_questions, self._eval_batch_size))
        rank, ranks = trainer.global_rank, trainer.world_size
        batches = ImageBatches(groups, self._eval_batch_size, rank=rank, ranks=ranks)
        loader, module = self._loader(left, batches), trainer.lightning_module
        stream = module.stream if isinstance(module, ReadingAhead) else None
        return AnsweredLoader(loader, stream, batches.most_questions) if stream else loader

    def _running(self) -> Trainer:
        if self.trainer is None:
            raise RuntimeError("a RecordsDataModule makes loaders for a Trainer; call trainer.fit or trainer.validate")
        return self.trainer

    def _steps(self, trainer: Trainer) -> Steps | None:
        """Return what looks at the batches of a step together, where the module asks for it."""
        module = trainer.lightning_module
        if not isinstance(module, Weighing):
            return None

        def left(done: int) -> int:
            accumulated, whole = trainer.accumulate_grad_batches, trainer.num_training_batches
            return int(min(accumulated - done % accumulated, whole - done))

        return Steps(module.weigh_step, left)

    def _loader(self, records: Sequence[Record], batches: ImageBatches, steps: Steps | None = None) -> RecordLoader:
        collate: Any = self._running().lightning_module.collate
        return RecordLoader(list(records), batches, collate, self.curated, self._workers, steps)


def _ids(path: Path) -> frozenset[str]:
    """Return the record ids of a subset's file.

    Raises:
        BadArgument: There is no such file, or no id in it.
    """
    ids = path.read_text(encoding="utf-8").split() if path.is_file() else []
    if not ids:
        cure = "draw one: `python -m lmod_train subset CURATED --n 1000`"
        raise BadArgument("data.subset", str(path), "a file of record ids, one a line", cure)
    return frozenset(ids)
