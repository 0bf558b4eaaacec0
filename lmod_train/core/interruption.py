"""Ctrl-C: ends a command even where Python loses the exception, as in a finaliser or while a library is imported."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

AGAIN = 2.0
"""Seconds after which the exception is raised again, and again, until the command has taken notice."""


class Interruption:
    """Handler of SIGINT of the process of a command.

    The first Ctrl-C raises `KeyboardInterrupt`. Python drops an exception that is raised in ``__del__`` or in the
    callback of a weak reference, and a library may turn it into another: a timer raises it again until `heard`
    is called. Further presses do not disturb the end.

    Attributes:
        pressed: Whether Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.pressed = False

    def listen(self) -> None:
        """Handle SIGINT from now on, and print no traceback where Python drops its exception."""
        signal.signal(signal.SIGINT, self._press)
        sys.unraisablehook = _print_unless_interrupted

    def end(self) -> None:
        """Ignore SIGINT, as the work of the process is done."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        heard()

    def _press(self, number: int, frame: FrameType | None) -> None:
        if not self.pressed:
            self.pressed = True
            if hasattr(signal, "setitimer"):
                signal.signal(signal.SIGALRM, self._again)
                signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
            raise KeyboardInterrupt

    def _again(self, number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt


def _print_unless_interrupted(dropped: Any) -> None:
    if not isinstance(dropped.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def heard() -> None:
    """Stop the timer: the command is ending, and its end is not to be disturbed."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
