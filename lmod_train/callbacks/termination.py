"""A run that is asked to end (SIGTERM, as schedulers and containers send it) saves first, and ends with status 143."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.artifacts.run import Run

STATUS = 128 + signal.SIGTERM
"""What shells report of a process that ended so."""


class Terminated(SystemExit):
    """The run was asked to end, and has."""


class Termination(Callback):
    """Ends a run between two batches, whole: in `fit` with a checkpoint, in evaluations with every reply on the disk.

    In `fit` all processes agree on the step after which they end, whichever of them was asked. A step of several
    accumulated batches is finished first. In an evaluation each ends for itself, as they need not keep step there. A
    validation inside `fit` is not saved half done: it begins again when the run is continued.

    Takes the place of Lightning's own handling, which ends without a checkpoint and with status 0. The signal by which
    SLURM asks for a checkpoint before it requeues a job (SIGUSR1) stays Lightning's.
    """

    def __init__(self) -> None:
        self._asked, self._before = False, signal.SIG_DFL

    def _listen(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note the signal from here on. Lightning puts the handler before its own back when it ends."""
        self._asked |= trainer.received_sigterm  # in the moment before
        trainer._signal_connector.received_sigterm = False
        if threading.current_thread() is not threading.main_thread():
            return  # Python lets no other thread listen

        def note(number: int, frame: FrameType | None) -> None:
            launcher = trainer.strategy.launcher
            if launcher is not None and not self._asked:
                launcher.kill(number)  # to the processes that this one has started
            self._asked = True

        signal.signal(signal.SIGTERM, note)

    on_train_start = on_validation_start = on_test_start = on_predict_start = _listen

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Save and end, if any process was asked to, once the batch's step is taken."""
        if not trainer.fit_loop._should_accumulate() and self._any_asked(trainer):
            self._save(trainer)
            self._end(trainer)

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """End, if asked to; inside `fit` all processes together, with a checkpoint."""
        if trainer.state.fn != "fit":
            self._end_evaluation(trainer)
        elif self._any_asked(trainer):
            trainer.fit_loop.epoch_loop.val_loop.batch_progress.reset()
            self._save(trainer)
            self._end(trainer)

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """End, if asked to."""
        self._end_evaluation(trainer)

    def on_predict_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """End, if asked to."""
        self._end_evaluation(trainer)

    def _end_evaluation(self, trainer: Trainer) -> None:
        if self._asked:
            self._end(trainer)

    def _any_asked(self, trainer: Trainer) -> bool:
        return bool(trainer.strategy.reduce_boolean_decision(self._asked, all=False))

    def _save(self, trainer: Trainer) -> None:
        trainer.save_checkpoint(Run(Path(trainer.default_root_dir)).last)

    def _end(self, trainer: Trainer) -> None:
        """Raise what ends the process.

        Raises:
            Terminated: Always. Processes that Lightning has started end with status 0, as it kills all where one of
                them ends with another.
        """
        at = f"at step {trainer.global_step}, saved" if trainer.state.fn == "fit" else "between two batches"
        rank_zero_info(f"terminated {at}: the same command continues")
        environment: Any = getattr(trainer.strategy, "cluster_environment", None)
        started = isinstance(environment, LightningEnvironment) and trainer.local_rank > 0
        raise Terminated(0 if started else STATUS)
