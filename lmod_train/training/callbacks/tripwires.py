"""Callback that asks a small fixed set of records (the probe) during training, and stops a run that collapses.

LMOD's fine-tuning ran for three epochs without a validation and ended in a model that repeats one word. The probe
detects empty replies, replies that are cut off or repetitive, the same reply to every question, and answers that do not
depend on the image.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import LmodError
from lmod_train.core.files import append_to
from lmod_train.core.types import Record, Reply
from lmod_train.scoring.collapse import Limits, Signs, histograms, signs_of, tripped
from lmod_train.scoring.items import Item, items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsed_replies import parse_replies
from lmod_train.training.callbacks.protocols import Answering, answering, data_of

SHOWN = 6
"""Number of replies that a line of the file quotes."""
PROBES, AT_LEAST = 5, 10
"""Number of probes of a short run (below `PROBES` times `every` steps), and minimum number of steps between them."""


class Collapsed(LmodError):
    """The probe found at two evaluations in a row that the model has collapsed.

    Attributes:
        file: File of all probe results.
    """

    def __init__(self, step: int, signs: Sequence[str], quoted: Sequence[str], file: Path) -> None:
        self.file = file
        super().__init__(
            f"tripwires: at step {step}, for the second time in a row: {'; '.join(signs)}.\n"
            f"Replies, e.g.: {' | '.join(repr(q) for q in quoted)}\n"
            f"Training was stopped; the last checkpoint is kept, and {file} holds all probe results.\n"
            "Next: `python -m lmod_train doctor --config CONFIG` looks for the cause (delta weights, templates, "
            "labels); then try a lower learning rate; `--tripwires.stop false` continues the training regardless."
        )


class Tripwires(Callback):
    """Asks the probe before training and at regular steps; logs and stores the result, and may stop the run.

    Every rank asks the whole probe, as sharded models need all ranks; rank 0 appends a line per probe to
    ``RUN/tripwires.jsonl``. Classifiers, which do not generate text, are skipped.

    Args:
        every: Optimiser steps between probes; 0 for no probes. In a short run it is a fifth of the steps,
            at least 10, as stopping takes two bad probes.
        n: Number of records of the probe, drawn evenly over tasks and answers from the split val, or train
            if val is empty.
        stop: Stop the run if a limit is exceeded at two probes in a row.
        limits: Limits of the signs of a collapse.
    """

    def __init__(self, every: int = 200, n: int = 24, stop: bool = True, limits: Limits = Limits()) -> None:
        self._every, self._n, self._stop, self._limits = every, n, stop, limits
        self._probe: list[Record] = []
        self._stride, self._asked_at, self._before = every, -1, False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Choose the probe and ask it once before training."""
        data = data_of(trainer)
        writes = not getattr(pl_module, "choices", ()) and isinstance(pl_module, Answering)
        if not (self._every and writes):
            return
        self._stride = int(min(self._every, max(AT_LEAST, trainer.estimated_stepping_batches / PROBES)))
        self._probe = probe_of(data.records("val") or data.records("train"), self._n)
        if self._probe and trainer.global_step == 0:  # a continued run has already asked it
            self._ask(trainer, pl_module)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Ask the probe if it is due."""
        step = trainer.global_step
        if self._probe and step != self._asked_at and step % self._stride == 0:
            self._ask(trainer, pl_module)

    def state_dict(self) -> dict[str, Any]:
        """Return the step of the last probe, and whether it exceeded a limit."""
        return {"before": self._before, "asked_at": self._asked_at}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore step and result of the last probe."""
        self._before, self._asked_at = bool(state_dict["before"]), int(state_dict["asked_at"])

    def _ask(self, trainer: Trainer, module: LightningModule) -> None:
        """Ask the probe, log and store the result.

        Raises:
            Collapsed: A limit is exceeded for the second time in a row, and `stop` is set.
        """
        step = self._asked_at = trainer.global_step
        tasks = data_of(trainer).tasks
        asked = {r.id: r.task for r in self._probe}
        replies = self._replies(trainer, module, self._probe)
        items = items_read(tasks.values(), self._probe, replies)
        others = exchanged(self._probe)
        shuffled = items_read(tasks.values(), others, self._replies(trainer, module, others))
        signs = signs_of(items, replies, asked, shuffled)
        found = tripped(signs, self._limits, late=2 * step >= int(trainer.estimated_stepping_batches)) if step else []
        if trainer.training and step:
            module.log_dict(
                {f"probe/{k}": v for k, v in signs.shares().items()}, batch_size=signs.n, rank_zero_only=True
            )
        file = Run(Path(trainer.default_root_dir)).tripwires
        if trainer.is_global_zero:
            _write(file, step, signs, found, histograms(items, asked), self._probe, replies)
        rank_zero_info(f"probe at step {step}: " + ", ".join(f"{k} {v:.2f}" for k, v in signs.shares().items()))
        bad = trainer.strategy.reduce_boolean_decision(bool(found), all=False)  # all ranks stop, or none
        again, self._before = bad and self._before, bad
        if again and self._stop:
            raise Collapsed(step, found, [replies[r.id].reply[:60] for r in self._probe[:3]], file)

    def _replies(self, trainer: Trainer, module: LightningModule, records: list[Record]) -> dict[str, Reply]:
        """Return the replies of the module in eval mode; each part is then returned to its former mode."""
        answers, images = answering(module), data_of(trainer).images
        modes = {part: part.training for part in module.modules()}
        module.eval()
        try:
            with torch.no_grad(), trainer.precision_plugin.forward_context():
                batch = answers.collate(records, images).to(answers.device)
                return {reply.id: reply for reply in answers.respond(batch)}
        finally:
            for part, training in modes.items():
                part.training = training


def probe_of(records: Sequence[Record], n: int) -> list[Record]:
    """Return `n` records, or all if there are fewer, taken in turn from every task and its answers.

    The result does not depend on the order of the records.
    """
    piles: dict[str, dict[str, list[Record]]] = {}
    for record in sorted(records, key=lambda r: r.id):
        piles.setdefault(record.task, {}).setdefault(record.answer, []).append(record)
    turns = {task: [r for row in _in_turn(list(answers.values())) for r in row] for task, answers in piles.items()}
    return [r for row in _in_turn(list(turns.values())) for r in row][:n]


def _in_turn(piles: list[list[Record]]) -> list[list[Record]]:
    """Return a list of the first records of all piles, one of the second records, and so on."""
    return [[p[i] for p in piles if i < len(p)] for i in range(max(map(len, piles), default=0))]


def exchanged(records: Sequence[Record]) -> list[Record]:
    """Return the same questions, each with other images: those of the next record of its task with as many.

    A record without images, or without such another record, is left out.
    """
    others = []
    for i, record in enumerate(records):
        following = [*records[i + 1 :], *records[:i]]
        fitting = [r for r in following if r.task == record.task and _exchangeable(record, r)]
        other = next((r for r in fitting if r.modality == record.modality), None)
        if record.image and other is not None:
            others.append(with_images_of(record, other))
    return others


def _exchangeable(record: Record, other: Record) -> bool:
    """Return whether two records show as many images, but not the same."""
    return record.image != other.image and len(record.image) == len(other.image)


def with_images_of(record: Record, other: Record) -> Record:
    """Return a record with unchanged words and another record's images."""
    return replace(record, image=other.image, image_sha256=other.image_sha256)


def items_read(tasks: Iterable[Task], records: Sequence[Record], replies: Mapping[str, Reply]) -> list[Item]:
    """Return answers and truths of records for scoring, one item for each record with a reply."""
    return [
        task.as_scored(item) for task in tasks for item in items_of(parse_replies(task, records, replies), task.truth)
    ]


def _write(
    file: Path,
    step: int,
    signs: Signs,
    found: Sequence[str],
    counted: Mapping[str, Any],
    probe: Sequence[Record],
    replies: Mapping[str, Reply],
) -> None:
    quoted = [{"id": r.id, "asked_for": r.answer, "reply": replies[r.id].reply[:400]} for r in probe[:SHOWN]]
    line = {"step": step, "n": signs.n, **signs.shares(), "tripped": list(found)}
    line |= {"answers": counted, "e.g.": quoted}
    with append_to(file) as lines:
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")
