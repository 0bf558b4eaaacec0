"""An event loop in its own thread, so that requests continue while replies are written to disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines in a thread that ends with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True).start()

    def start(
        self, coroutines: Mapping[str, Coroutine[Any, Any, T]], done: Callable[[tuple[str, asyncio.Task[T]]], object]
    ) -> None:
        """Start coroutines together, as each call from another thread costs as much as a part of a request.

        Args:
            coroutines: Name -> coroutine; no other one of the name runs.
            done: Called in the thread with the name and the task of each that has ended.
        """

        def begin() -> None:
            for name, coroutine in coroutines.items():
                task = self._tasks[name] = self._loop.create_task(coroutine)
                task.add_done_callback(partial(end, name))

        def end(name: str, task: asyncio.Task[T]) -> None:
            self._tasks.pop(name, None)
            done((name, task))

        self._loop.call_soon_threadsafe(begin)

    def cancel(self, names: Collection[str]) -> None:
        """Cancel started coroutines: all of them, before one goes on."""

        def cancelled() -> None:
            for name in names:
                if task := self._tasks.get(name):
                    task.cancel()

        self._loop.call_soon_threadsafe(cancelled)

    def call(self, function: Callable[[T], object], argument: T) -> None:
        """Call a function in the thread, after all that was submitted before; its result is discarded."""
        self._loop.call_soon_threadsafe(function, argument)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
