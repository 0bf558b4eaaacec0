"""Callback that keeps the weights with the best validation score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument
from lmod_train.training.callbacks.protocols import data_of


class BestCheckpoint(ModelCheckpoint):
    """Keeps ``RUN/checkpoints/best.ckpt``: the weights, without optimiser state, with the highest score so far.

    The score is the logged and reported ``val/<task>/<metric>`` of the run's one task, or the mean of several, as in
    RETFound's program since February 2025 (macro F1, AUROC and Cohen's kappa). ``last.ckpt``, from which a run
    is continued, is written by Lightning's `ModelCheckpoint`, which `lmod_train.cli.defaults` sets, and not changed.

    Args:
        metric: Name of the metric, higher is better, e.g. the macro one-versus-rest AUROC, as in RETFound; or several
            names, of which the mean counts.

    Raises:
        BadArgument: There are several tasks, no validation records, or no such metric after the first validation.
    """

    def __init__(self, metric: str | list[str] = "auroc_macro") -> None:
        super().__init__(
            filename="best",
            mode="max",
            save_weights_only=True,
            every_n_epochs=1,
            save_on_train_epoch_end=False,
            enable_version_counter=False,
        )
        self._metric = metric
        self._parts: list[str] = []

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Set the monitored metric, and refuse a run that cannot compute it."""
        data = data_of(trainer)
        names = list(data.tasks)
        if len(names) != 1:
            raise BadArgument("data.tasks", names, "exactly one task to choose the best weights by", "name one")
        if stage == "fit" and not data.records("val"):
            expected = "records in the split val, by which the best weights are chosen"
            cure = "curate with a larger share for validation, or take BestCheckpoint out of trainer.callbacks"
            raise BadArgument("data.curated", str(data.images.root), expected, cure)
        metrics = [self._metric] if isinstance(self._metric, str) else self._metric
        self._parts = [f"val/{names[0]}/{metric}" for metric in metrics]
        self.monitor = f"val/{names[0]}/{'+'.join(metrics)}"
        self.dirpath = str(Run(Path(trainer.default_root_dir).resolve()).checkpoints)
        super().setup(trainer, pl_module, stage)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the best score so far if the run's folder holds ``best.ckpt``, under whatever path it now has.

        Without it (a new run from another run's checkpoint) the next validation is the best so far.
        """
        best = str(Path(str(self.dirpath)) / f"best{self.FILE_EXTENSION}")
        if state_dict["best_model_path"] and Path(best).is_file():
            ours = {"dirpath": self.dirpath, "best_model_path": best, "kth_best_model_path": best}
            super().load_state_dict({**state_dict, **ours, "best_k_models": {best: state_dict["best_model_score"]}})

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the weights if they are the best so far."""
        scored = trainer.state.fn == "fit" and not trainer.sanity_checking
        if scored and not set(self._parts) <= trainer.callback_metrics.keys():
            known = sorted(name for name in trainer.callback_metrics if name.startswith("val/"))
            expected = f"a metric of the validation, which logged {', '.join(known) or 'none'}"
            cure = "name one of them; an AUROC needs at least two classes in the split val"
            raise BadArgument("trainer.callbacks.metric", self._metric, expected, cure)
        if scored and len(self._parts) > 1:
            values = [trainer.callback_metrics[part] for part in self._parts]
            trainer.callback_metrics[str(self.monitor)] = torch.stack(values).mean()
        super().on_validation_end(trainer, pl_module)
