"""One training of the collapse lab: projector and language model tuned in full, and asked about held-out records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer, seed_everything

from lmod_train.core.files import make_folder, remove
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.training.callbacks.generation import GenerationEval


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
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        use_distributed_sampler=False,
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
