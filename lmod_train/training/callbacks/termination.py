"""Callback that saves a run on SIGTERM, as schedulers and containers send it, and ends it with status 143."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.core.artifacts.run import Run
from lmod_train.core.interruption import heard

STATUS = 128 + signal.SIGTERM
"""Exit status of a process that SIGTERM ended."""


class Terminated(SystemExit):
    """The run received SIGTERM and has ended."""


class Termination(Callback):
    """Ends a run between two batches on SIGTERM: in `fit` with a checkpoint, in evaluations with all replies on disk.

    In `fit` all processes end after the same step, whichever received the signal; a step of several accumulated batches
    is finished first. In an evaluation each process ends independently. An interrupted validation in `fit` is repeated
    when the run is continued.

    It replaces Lightning's own handling, which ends without a checkpoint and with status 0. SIGUSR1, with which SLURM
    requests a checkpoint before it requeues a job, is still handled by Lightning.
    """

    def __init__(self) -> None:
        self._asked, self._before = False, signal.SIG_DFL

    def _listen(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Install the signal handler. Lightning restores the handler before its own when it ends."""
        self._asked |= trainer.received_sigterm  # received before this call
        trainer._signal_connector.received_sigterm = False
        if threading.current_thread() is not threading.main_thread():
            return  # Python handles signals in the main thread only

        def handle(number: int, frame: FrameType | None) -> None:
            launcher = trainer.strategy.launcher
            if launcher is not None and not self._asked:
                launcher.kill(number)  # forward it to the processes started by this one
            self._asked = True

        signal.signal(signal.SIGTERM, handle)

    on_train_start = on_validation_start = on_test_start = on_predict_start = _listen

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Save and end after an optimiser step, if any process received the signal."""
        if not trainer.fit_loop._should_accumulate() and self._any_asked(trainer):
            self._save(trainer)
            self._end(trainer)

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """End, if the signal was received; in `fit` all processes together, with a checkpoint."""
        if trainer.state.fn != "fit":
            self._end_evaluation(trainer)
        elif self._any_asked(trainer):
            trainer.fit_loop.epoch_loop.val_loop.batch_progress.reset()
            self._save(trainer)
            self._end(trainer)

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """End, if the signal was received."""
        self._end_evaluation(trainer)

    on_predict_batch_end = on_test_batch_end  # type: ignore[assignment]

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Say what requests have used, and what a training keeps that Ctrl-C has ended; then loggers are closed."""
        if summary := getattr(getattr(pl_module, "backend", None), "summary", str)():
            rank_zero_info(summary)
        if isinstance(exception, KeyboardInterrupt):
            heard()
            last = Run(Path(trainer.default_root_dir)).last
            kept = f"{last} is kept" if last.exists() else "there is no checkpoint yet"
            if trainer.state.fn == "fit":
                rank_zero_info(f"interrupted at step {trainer.global_step}; {kept}")

    def _end_evaluation(self, trainer: Trainer) -> None:
        if self._asked:
            self._end(trainer)

    def _any_asked(self, trainer: Trainer) -> bool:
        return bool(trainer.strategy.reduce_boolean_decision(self._asked, all=False))

    def _save(self, trainer: Trainer) -> None:
        trainer.save_checkpoint(Run(Path(trainer.default_root_dir)).last)

    def _end(self, trainer: Trainer) -> None:
        """End the process.

        Raises:
            Terminated: Always. Processes that Lightning started end with status 0, as it kills all if one of them ends
                with another.
        """
        at = f"at step {trainer.global_step}, saved" if trainer.state.fn == "fit" else "between two batches"
        rank_zero_info(f"terminated {at}: the same command continues")
        environment: Any = getattr(trainer.strategy, "cluster_environment", None)
        started = isinstance(environment, LightningEnvironment) and trainer.local_rank > 0
        raise Terminated(0 if started else STATUS)
