"""Callback that prints progress as lines, for logs without a progress bar."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from lightning_utilities.core.rank_zero import rank_zero_info


class Progress(Callback):
    """Prints a line about every minute and after each validation, if the progress bar is off.

    A line of `fit` states the step and the number of steps, loss, learning rate and time left; a line of an evaluation
    the batch, the number of batches and the time left. The loss is that of the last batch, the learning rate the
    largest of the optimiser's groups, and the time left is extrapolated from the steps of this start.

    Args:
        every: Seconds between two lines, at least 0.
        clock: Returns seconds.
    """

    def __init__(self, every: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.every, self._clock = every, clock
        self._begun = self._printed = 0.0
        self._first_step = self._last_step = 0
        self._steps: float = 0
        self._evaluation_begun = 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Store time and step at which the training starts."""
        self._begun = self._printed = self._clock()
        self._first_step = self._last_step = trainer.global_step
        self._steps = trainer.estimated_stepping_batches

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Print a line if the last one is old enough."""
        if self._is_due(trainer):
            self._print(trainer, self._of_training(trainer))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print a line after each validation of a training."""
        if _in_fit(trainer) and not trainer.sanity_checking and _is_log(trainer):
            self._print(trainer, f"validated at {self._of_training(trainer)}")

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print a line about the last step, unless it has been printed."""
        if _is_log(trainer) and self._last_step < trainer.global_step:
            self._print(trainer, self._of_training(trainer))

    def _evaluation_starts(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._evaluation_begun = self._clock()
        self._printed = self._printed if _in_fit(trainer) else self._evaluation_begun

    on_validation_start = on_test_start = on_predict_start = _evaluation_starts

    def _evaluation_batch_ends(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, *place: Any
    ) -> None:
        if self._is_due(trainer):
            self._print(trainer, self._of_evaluation(trainer, batch_idx + 1))

    on_validation_batch_end = on_test_batch_end = on_predict_batch_end = _evaluation_batch_ends  # type: ignore[assignment]

    def _is_due(self, trainer: Trainer) -> bool:
        return _is_log(trainer) and self._clock() - self._printed >= self.every

    def _print(self, trainer: Trainer, line: str) -> None:
        self._printed = self._clock()
        if _in_fit(trainer):
            self._last_step = trainer.global_step
        rank_zero_info(line)

    def _of_training(self, trainer: Trainer) -> str:
        done, elapsed = trainer.global_step - self._first_step, self._clock() - self._begun
        left = elapsed / done * (self._steps - trainer.global_step) if done else math.inf
        steps = "" if math.isinf(self._steps) else f" of {int(self._steps)}"
        loss = trainer.callback_metrics.get("train/loss")
        rates = [group["lr"] for optimizer in trainer.optimizers for group in optimizer.param_groups]
        return (
            f"step {trainer.global_step}{steps}, loss {'unknown' if loss is None else f'{float(loss):.4g}'}, "
            f"learning rate {f'{max(rates):.3g}' if rates else 'unknown'}, {time_left(left)}"
        )

    def _of_evaluation(self, trainer: Trainer, done: int) -> str:
        batches = sum(_batches(trainer))
        left = (self._clock() - self._evaluation_begun) / done * (batches - done)
        stage = "validation during training" if _in_fit(trainer) else "evaluation"
        known = "" if math.isinf(batches) else f" of {int(batches)}"
        return f"{stage}: batch {done}{known}, {time_left(left)}"


def time_left(seconds: float) -> str:
    """Return a duration in words, rounded to its largest units.

    Example:
        >>> [time_left(s) for s in (0, 41.2, 600, 5400, 200_000, float("inf"))]
        ['0 s left', '41 s left', '10 min left', '1 h 30 min left', '2 d 8 h left', 'time left unknown']
    """
    if math.isinf(seconds):
        return "time left unknown"
    if seconds < 60:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min left"
    hours = round(seconds / 3600)
    return f"{minutes // 60} h {minutes % 60} min left" if minutes < 24 * 60 else f"{hours // 24} d {hours % 24} h left"


def _is_log(trainer: Trainer) -> bool:
    return trainer.progress_bar_callback is None


def _in_fit(trainer: Trainer) -> bool:
    return trainer.state.fn == TrainerFn.FITTING


def _batches(trainer: Trainer) -> list[int | float]:
    """Return the number of batches of each loader that `validate`, `test` or `predict` reads."""
    if trainer.predicting:
        return trainer.num_predict_batches
    return trainer.num_test_batches if trainer.testing else trainer.num_val_batches
