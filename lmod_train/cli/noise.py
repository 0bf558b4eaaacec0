"""Filters for messages of libraries that users cannot act on; messages of this package are never filtered."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

WARNINGS = (
    r"LightningCLI's args parameter is intended to run from within Python",  # `main` completes names of shipped configs
    r"Found .* module\(s\) in eval mode",  # intended for a frozen tower
    r"`is_gradient_checkpointing` is deprecated",  # between lightning, peft and transformers
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # between lightning and torch
    r"The dirpath has changed from .* to .*, therefore `best_model_score`",  # an evaluation has its own folder
    r"The '\w+' does not have many workers which may be a bottleneck",  # the option is `data.workers`
    r"Total length of `RecordLoader` across ranks is zero",  # every record has a reply
    r"It is recommended to use `self\.log\('(val|test)/",  # every rank logs the value of all records
    r"Checkpoint directory .* exists and is not empty",  # a continued run
    r"\s*(By default only one JsonargparseDeprecationWarning|``ArgumentParser\.add_instantiator`` was deprecated)",
)
"""Regular expressions that match the start of a warning."""

LINES = (
    r"Seed set to \d+",
    r"GPU available: False",
    r"TPU available: False",
    r"HPU available: False",
    r"💡 Tip:",
    r"Loading `\w+` to estimate number of stepping batches",
    r"`weights_only` was not set, defaulting to",
    r"Restoring states from the checkpoint path at",  # "Loaded model weights" or "Restored all states" follows
)
"""Regular expressions that match the start of a log line of lightning."""

LOGGERS = ("lightning", "lightning.pytorch", "lightning.fabric")
"""Loggers of lightning that have a handler."""


@contextmanager
def silenced(is_terminal: bool) -> Iterator[None]:
    """Silence `WARNINGS` and `LINES` in the block, and outside a terminal transformers' progress bar of loading.

    Args:
        is_terminal: Whether the output is a terminal, on which progress bars can be redrawn.
    """
    handlers = [handler for name in LOGGERS for handler in logging.getLogger(name).handlers]
    with warnings.catch_warnings(), _loading_bar(is_terminal):
        for beginning in WARNINGS:
            warnings.filterwarnings("ignore", message=beginning)
        for handler in handlers:
            handler.addFilter(is_wanted)
        try:
            yield
        finally:
            for handler in handlers:
                handler.removeFilter(is_wanted)


def is_wanted(record: logging.LogRecord) -> bool:
    """Return whether a log line matches none of `LINES`."""
    return not any(re.match(beginning, record.getMessage()) for beginning in LINES)


@contextmanager
def _loading_bar(is_shown: bool) -> Iterator[None]:
    from transformers.utils import logging as transformers

    before = transformers.is_progress_bar_enabled()
    if not is_shown:
        transformers.disable_progress_bar()
    try:
        yield
    finally:
        if before:
            transformers.enable_progress_bar()
