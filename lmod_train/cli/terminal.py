"""What reaches the terminal: escaped text, errors of the disk in words, and libraries kept quiet."""

from __future__ import annotations

import errno
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from lmod_train.core.escaping import for_terminal
from lmod_train.core.package_data import package_data

_TEXTS = package_data(__file__, "texts.yaml")


def lines(text: str) -> str:
    """Return a text with every line escaped by `for_terminal`."""
    return "\n".join(map(for_terminal, text.split("\n")))


@contextmanager
def harmless() -> Iterator[None]:
    """Escape what the block prints, as it may contain names of files, models and tasks, and replies.

    A warning of this package is a line of its message, without the line of code that gives it.
    """
    before = warnings.formatwarning
    warnings.formatwarning = _formatted
    try:
        with redirect_stdout(_Harmless(sys.stdout)):
            yield
    finally:
        warnings.formatwarning = before


PACKAGE = str(Path(__file__).parents[1])

_BY_PYTHON = warnings.formatwarning


def _formatted(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    if filename.startswith(PACKAGE):
        return "warning: " + for_terminal(str(message).replace("\n", " ")) + "\n"
    return _BY_PYTHON(message, category, filename, lineno, line)


class _Harmless:
    """Wrapper of a stream that escapes the text written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        self._stream.write(lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


# Error messages for failures of the file system, such as a full disk or a folder that cannot be written.
CURES: dict[int, str] = {getattr(errno, name): cure for name, cure in _TEXTS["cures"].items()}
"""Error number -> next step; any other system error is a bug of ours and keeps its traceback."""


def error_text(error: OSError) -> str:
    """Return two lines: the file with the system's message, and the next step.

    Example:
        >>> print(error_text(NotADirectoryError(20, "Not a directory", "run/config.yaml")))
        run/config.yaml: Not a directory
        Next: a file of that name exists where a folder is needed: name another folder
    """
    places = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    message = error.strerror or " ".join(str(error).split())
    where = f"{places}: " if places else ""
    return f"{where}{message}\nNext: {CURES[error.errno or 0]}"


# Filters for messages of libraries that users cannot act on; messages of this package are never filtered.
WARNINGS: list[str] = _TEXTS["warnings"]
"""Regular expressions that match the start of a warning."""

LINES: list[str] = _TEXTS["lines"]
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
