"""Escaping of printed text, so that control characters in names and replies cannot control the terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from lmod_train.core.escaping import for_terminal


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
