"""Evaluation of a model from Python, with the same code as the command `validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning import Trainer

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.lock import locked
from lmod_train.core.types import Prediction
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.base import Backend
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.rescore import rescore
from lmod_train.training.callbacks.generation import GenerationEval


def evaluate(
    model: Backend | LmodModule,
    data: RecordsDataModule,
    run: Path | str,
    *,
    ckpt_path: Path | str | None = None,
    **options: Any,
) -> list[Prediction]:
    """Return the predictions of a model for the records of a datamodule.

    Replies are appended to ``RUN/replies`` as they arrive; predictions.parquet and scores.csv are written from them. A
    second call with the same model, records and folder only asks records without a reply.

    Args:
        model: A backend or a module.
        data: Datamodule of the records; its `split` selects them, where ``command`` is the validation split.
        run: Folder of the run; new, or of an earlier call.
        ckpt_path: Checkpoint of the module to evaluate; None for its current weights.
        **options: Options of `lightning.Trainer`, such as ``accelerator="cpu"``, ``devices=1`` or ``logger=...``
            (default: none). ``callbacks`` are added to the one that stores the replies.

    Returns:
        One prediction per record, ordered by task.

    Raises:
        LmodError: There are no records, another process uses the folder, or the checkpoint does not fit.
    """
    answers = GenerationEval()
    callbacks = [answers, *(options.pop("callbacks", None) or ())]
    chosen = {"logger": False, "enable_checkpointing": False} | options | {"use_distributed_sampler": False}
    module = model if isinstance(model, LmodModule) else Frozen(model)
    with locked(Path(run), "run"):
        trainer = Trainer(default_root_dir=run, callbacks=callbacks, **chosen)
        trainer.validate(module, datamodule=data, ckpt_path=ckpt_path, verbose=False)
        if trainer.is_global_zero:
            rescore(Path(run), tasks=list(data.tasks.values()), known=answers.scored)
        trainer.strategy.barrier("the first rank has derived the predictions")
    return read_predictions(Run(Path(run)).predictions)
