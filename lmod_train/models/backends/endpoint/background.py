"""An event loop in its own thread, so that requests continue while replies are written to disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines in a thread that ends with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, function: Callable[[T], object], argument: T) -> None:
        """Call a function in the thread, after all that was submitted before; its result is discarded."""
        self._loop.call_soon_threadsafe(function, argument)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine."""
        return self.submit(coroutine).result()
