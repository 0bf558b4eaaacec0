"""Counts of epochs and batches of a run that was continued, corrected where Lightning would repeat an epoch."""

from __future__ import annotations

from typing import Any


def correct_counts(fit_loop: Any) -> None:
    """Make the counts of Lightning's fit loop agree with each other at the start of a batch.

    A checkpoint that is saved after the last batch of an epoch belongs to that epoch. When Lightning (2.6) continues
    from it, it counts the next epoch neither as ready nor as started, in every later checkpoint. A run that is
    continued from one of these repeats an epoch, beyond ``max_epochs``.
    """
    for epochs in (fit_loop.epoch_progress.total, fit_loop.epoch_progress.current):
        epochs.ready = epochs.started = epochs.completed + 1
    batches = fit_loop.epoch_loop.batch_progress
    batches.total.completed = batches.total.processed - (batches.current.processed - batches.current.completed)
