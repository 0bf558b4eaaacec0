"""What the commands print: lines in which nothing from outside commands the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from lmod_train.escaping import for_terminal


def lines(text: str) -> str:
    """Return a text of several lines, each as `for_terminal` writes it."""
    return "\n".join(map(for_terminal, text.split("\n")))


@contextmanager
def harmless() -> Iterator[None]:
    """Write what the block prints by `lines`: names of files, models and tasks, and replies, are among it."""
    with redirect_stdout(_Harmless(sys.stdout)):
        yield


class _Harmless:
    """A stream that writes to another by `lines`, and is that other otherwise."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        self._stream.write(lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
