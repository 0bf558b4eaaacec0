"""The one evaluation path: replies from any module are appended as they come, and scored at the end.

Zero-shot or tuned, a CNN or a language model, local or behind an API: `validate`, `test`, `predict` and the validation
inside `fit` all pass here, and the figures logged come from the function that `rescore` and the report call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.artifacts.records import read_run_column, write_run_records
from lmod_train.artifacts.replies import ReplyFile, has_failed, read_replies
from lmod_train.artifacts.run import Run
from lmod_train.callbacks.protocols import Answering, answering, data_of
from lmod_train.files import known_by
from lmod_train.metrics.prediction import PredictionMetric
from lmod_train.tasks.asked import asked
from lmod_train.tasks.base import Task
from lmod_train.tasks.current import Current, current
from lmod_train.tasks.reading import parse_replies
from lmod_train.types import Batch, Identity, Record, Reply


class GenerationEval(Callback):
    """Takes replies from the batch-end hooks, appends them to ``RUN/replies``, scores them at the end and logs.

    A run that is continued does not ask again what has a reply: one to the same words about the same images, of the
    same weights, template and settings (`lmod_train.tasks.asked`). Every rank writes its own file; at the end all ranks
    gather outcomes, keep one per record id, and log the same value.

    Args:
        log_subsets: Log figures of subsets (modality, sex, age ...) too, and not only those over all records.
    """

    def __init__(self, log_subsets: bool = False) -> None:
        self._log_subsets = log_subsets
        self._file: ReplyFile | None = None
        self._records: dict[str, Record] = {}
        self._asked: dict[str, str] = {}
        self._replies: dict[str, Reply] = {}

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Prepare to find out what has been answered before, as soon as the weights are loaded."""
        data, module = data_of(trainer), answering(pl_module)
        self._records = {r.id: r for r in data.asked(stage)}

        def answered() -> list[str]:
            """Ids with a reply of the weights now loaded to what is asked now; a failed one is asked again."""
            saved = self._begin(trainer, module, stage)
            now = [r for r in saved if r.step == module.step and r.asked == self._asked.get(r.id)]
            self._replies = {r.id: r for r in now if not has_failed(r)}
            _tell_asked_again(current(self._asked, saved), len(now) - len(self._replies))
            return list(self._replies)

        data.leave_out(frozenset if stage == "fit" else answered)
        if stage == "fit":
            self._begin(trainer, module, stage)

    def _begin(self, trainer: Trainer, module: Answering, stage: str) -> list[Reply]:
        """Write down what is asked of whom, open the reply file, and return the replies that were saved before."""
        run = Run(Path(trainer.default_root_dir))
        who = module.identity()
        weights = _weights(trainer, who, stage)
        self._asked = {r.id: asked(r, weights, who.template, who.settings) for r in self._records.values()}
        saved = list(read_replies(run.replies).values())
        if trainer.is_global_zero:
            _tell_other_truths(run.records, self._records, self._asked)
            write_run_records(run.records, self._records.values(), self._asked)
        trainer.strategy.barrier("every rank has read the saved replies before one writes")
        self._file = ReplyFile(run.replies_of(trainer.global_rank))
        return saved

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Close the reply file."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _take(self, trainer: Trainer, replies: Sequence[Reply], batch: Batch) -> None:
        """Append the replies of a batch.

        Raises:
            RuntimeError: A reply carries the id of no record in the batch, or a record has none.
        """
        if trainer.sanity_checking or self._file is None:
            return
        if {r.id for r in replies} != {r.id for r in batch.records}:
            raise RuntimeError("a responder must return one reply per record of the batch, carrying its id")
        marked = [replace(r, asked=self._asked[r.id]) for r in replies]
        self._file.append(marked)
        self._replies |= {r.id: r for r in marked}

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Take the replies of a validation batch."""
        self._take(trainer, outputs, batch)

    on_test_batch_end = on_validation_batch_end
    on_predict_batch_end = on_validation_batch_end

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score and log."""
        self._score(trainer, pl_module, "val")

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score and log."""
        self._score(trainer, pl_module, "test")

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """In `fit`, forget the replies of the last validation."""
        if trainer.state.fn == "fit":
            self._replies = {}

    def _score(self, trainer: Trainer, pl_module: LightningModule, prefix: str) -> None:
        if trainer.sanity_checking:
            return
        for task in data_of(trainer).tasks.values():
            for score in self._scores(trainer, pl_module, task):
                if score.value is not None and (self._log_subsets or score.subset == "all"):
                    subset = "" if score.subset == "all" else f"/{score.subset}"
                    name = f"{prefix}/{task.name}/{score.metric}{subset}"
                    pl_module.log(name, score.value, sync_dist=False, batch_size=score.n)

    def _scores(self, trainer: Trainer, pl_module: LightningModule, task: Task) -> Any:
        """Gather the outcomes of one task over all ranks, one per id, and score them."""
        metric = PredictionMetric(task.score, sync_on_compute=False).to(pl_module.device)
        metric.update(parse_replies(task, self._records.values(), self._replies))
        if trainer.world_size > 1:
            metric.sync(dist_sync_fn=metric.dist_sync_fn)  # left out, a rank without replies sends another type
        return metric.compute()


def _weights(trainer: Trainer, who: Identity, stage: str) -> list[str]:
    """Return what the weights of a command are known by; the first rank reads the files for all.

    In `fit` these are the weights that training begins from; the step of a reply tells the rest.
    """
    loaded = [] if stage == "fit" or not trainer.ckpt_path else [Path(trainer.ckpt_path)]
    known = [known_by(weights) for weights in (*who.weights, *loaded)] if trainer.is_global_zero else []
    return trainer.strategy.broadcast(known)


def _tell_asked_again(saved: Current, failed: int) -> None:
    counted = {
        "replies to other words, images, choices, weights, template or settings": saved.stale,
        "replies that do not say what was asked": saved.unverified,
        "failures": failed,
    }
    if any(counted.values()):
        listed = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n)
        rank_zero_info(f"asked again, and the old lines kept: {listed}")


def _tell_other_truths(file: Path, records: Mapping[str, Record], now: Mapping[str, str]) -> None:
    """Say how many reference answers have changed of what is asked as before."""
    if not file.exists():
        return
    answers = read_run_column(file, "answer")
    same = [id for id, hash in read_run_column(file, "asked").items() if hash and hash == now.get(id)]
    changed = sum(records[id].answer != answers[id] for id in same)
    if changed:
        rank_zero_info(f"{changed} of {len(records)} reference answers have changed; the same replies are scored anew")
