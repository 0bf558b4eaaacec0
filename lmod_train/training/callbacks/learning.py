"""Callback that warns about a training that learns nothing, and about classes that are balanced twice."""

from __future__ import annotations

import math
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_warn

from lmod_train.core.artifacts.training_set import BALANCED_TWICE, NOTHING_LEARNED

LEFT = 0.95
"""Share of ln K below which the mean loss of an epoch must fall for a model to have learned something."""


class Learning(Callback):
    """Warns at the end of the training of a classifier of K classes if its loss never left ln K.

    ln K is the cross-entropy of equal likelihoods for all classes. At the start it warns if rare classes are both
    weighted in the loss and drawn more often, which compensates for their number twice.

    Attributes:
        warnings: Phrase -> sentence of each warning, for the provenance of the run.
    """

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._lowest = math.inf
        self.warnings: dict[str, str] = {}

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Warn about classes that are balanced twice."""
        data: Any = getattr(trainer, "datamodule", None)
        balance = str(getattr(data, "balance", "none"))
        if "class" in balance and bool(getattr(pl_module, "weighted", False)):
            text = (
                f"model.init_args.class_weights: inverse and data.balance: {balance} compensate twice for rare "
                "classes: these are drawn as often as the others, and weighted beyond them"
            )
            self._warn(BALANCED_TWICE, text, "use one of both")

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Note the loss of a batch."""
        if number_of_classes(pl_module) and "train/loss" in trainer.callback_metrics:
            self._losses.append(float(trainer.callback_metrics["train/loss"]))

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note the mean loss of an epoch."""
        if self._losses:
            self._lowest = min(self._lowest, sum(self._losses) / len(self._losses))
            self._losses = []

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Warn if no epoch had a mean loss clearly below ln K."""
        classes = number_of_classes(pl_module)
        if classes > 1 and LEFT * math.log(classes) <= self._lowest < math.inf:
            text = (
                f"the training loss never left ln {classes} = {math.log(classes):.3f}, that of a model that gives all "
                f"classes the same likelihood (lowest mean of an epoch: {self._lowest:.3f}): nothing was learned"
            )
            cure = "train longer (trainer.max_epochs), try another learning rate, or look at the images and labels"
            self._warn(NOTHING_LEARNED, text, cure)

    def _warn(self, phrase: str, text: str, cure: str) -> None:
        self.warnings[phrase] = text
        rank_zero_warn(f"{text}. Next: {cure}")

    def state_dict(self) -> dict[str, Any]:
        """Return the lowest mean loss so far and the losses of the present epoch, which a continued run keeps."""
        return {"lowest": self._lowest, "losses": list(self._losses)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the lowest mean loss and the losses of the epoch."""
        self._lowest, self._losses = float(state_dict["lowest"]), list(state_dict["losses"])


def number_of_classes(module: LightningModule) -> int:
    """Return the number of classes of a classifier; 0 for other modules."""
    return len(getattr(module, "choices", ()) or ())
