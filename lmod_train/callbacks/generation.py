"""The one evaluation path: replies from any module are appended as they come, and scored at the end.

Zero-shot or tuned, a CNN or a language model, local or behind an API: `validate`, `test`, `predict` and the validation
inside `fit` all pass here, and the figures logged come from the function that `rescore` and the report call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer

from lmod_train.artifacts import ReplyFile, read_replies, write_records
from lmod_train.metrics.prediction import PredictionMetric
from lmod_train.tasks.base import Task
from lmod_train.tasks.judging import judge
from lmod_train.types import Batch, Record, Reply


class GenerationEval(Callback):
    """Takes replies from the batch-end hooks, appends them to ``RUN/replies``, scores them at the end and logs.

    A run that is continued does not ask again what has a reply. Every rank writes its own file; at the end all ranks
    gather outcomes, keep one per record id, and log the same value.

    Args:
        log_subsets: Log figures of subsets (modality, sex, age ...) too, and not only those over all records.
    """

    def __init__(self, log_subsets: bool = False) -> None:
        self._log_subsets = log_subsets
        self._file: ReplyFile | None = None
        self._records: dict[str, Record] = {}
        self._replies: dict[str, Reply] = {}

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Write down what is asked, and find out what has been answered before."""
        run, data = Path(trainer.default_root_dir), trainer.datamodule  # type: ignore[attr-defined]
        self._records = {r.id: r for r in data.asked(stage)}
        saved = read_replies(run / "replies")
        if trainer.is_global_zero:
            write_records(run / "records.parquet", self._records.values())
        trainer.strategy.barrier("every rank has read the saved replies before one writes")

        def answered() -> list[str]:
            """Ids with a reply of the weights now loaded; a failed one is asked again."""
            self._replies = {
                i: reply
                for (i, step), reply in saved.items()
                if step == pl_module.step and not (reply.error or reply.finish_reason == "error") and i in self._records
            }
            return list(self._replies)

        data.answered = frozenset if stage == "fit" else answered
        self._file = ReplyFile(run / "replies" / f"rank-{trainer.global_rank}.jsonl")

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Close the reply file."""
        if self._file is not None:
            self._file.close()

    def _take(self, trainer: Trainer, replies: Sequence[Reply], batch: Batch) -> None:
        """Append the replies of a batch.

        Raises:
            RuntimeError: A reply carries the id of no record in the batch, or a record has none.
        """
        if trainer.sanity_checking or self._file is None:
            return
        if {r.id for r in replies} != {r.id for r in batch.records}:
            raise RuntimeError("a responder must return one reply per record of the batch, carrying its id")
        self._file.append(replies)
        self._replies |= {r.id: r for r in replies}

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
        for task in trainer.datamodule.tasks.values():  # type: ignore[attr-defined]
            for score in self._scores(trainer, pl_module, task):
                if score.value is not None and (self._log_subsets or score.subset == "all"):
                    subset = "" if score.subset == "all" else f"/{score.subset}"
                    name = f"{prefix}/{task.name}/{score.metric}{subset}"
                    pl_module.log(name, score.value, sync_dist=False, batch_size=score.n)

    def _scores(self, trainer: Trainer, pl_module: LightningModule, task: Task) -> Any:
        """Gather the outcomes of one task over all ranks, one per id, and score them."""
        metric = PredictionMetric(task.score, sync_on_compute=False).to(pl_module.device)
        metric.update(judge(task, self._records.values(), self._replies))
        if trainer.world_size > 1:
            metric.sync(dist_sync_fn=metric.dist_sync_fn)  # left out, a rank without replies sends another type
        return metric.compute()
