"""Run errands in a few processes, never holding more of them than the processes can use."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for
from typing import Any, TypeVar

from lmod_train.errors import BadArgument, LmodError

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Crew:
    """Who runs the errands.

    Attributes:
        executor: Where they are submitted; None runs them in this very process.
        under_way: Errands submitted at most at a time.
        send: Turns an errand into what is submitted.
        take: Turns what came back into the errand's result; may raise.
        fallen: What is raised when a process has died.
        says: What the user is then told.
    """

    executor: Executor | None = None
    under_way: int = 1
    send: Callable[[Any], Any] = _as_it_is
    take: Callable[[Any], Any] = _as_it_is
    fallen: tuple[type[BaseException], ...] = ()
    says: str = ""


@contextmanager
def local_crew(workers: int) -> Iterator[Crew]:
    """Give processes of this machine, which start with the first errand; one worker means this very process.

    Processes are spawned (a fork copies locks and threads in an unknown state) and end with their parent, even if that
    is killed.

    Args:
        workers: Number of processes, at least 1.

    Raises:
        BadArgument: Fewer than one worker.
    """
    if workers < 1:
        raise BadArgument("workers", workers, "at least 1", "`--workers 1` works without further processes")
    if workers == 1:
        yield Crew()
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    says = (
        f"workers={workers}: a worker process died, which happens when memory runs out.\n"
        f"Next: run the same command again with `--workers 1`; what is done is kept"
    )
    try:
        yield Crew(pool, 2 * workers, fallen=(BrokenProcessPool,), says=says)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run(
    errand: Callable[[Sequence[Thing]], Result], things: Sequence[Thing], crew: Crew, size: int = 8
) -> Iterator[Result]:
    """Yield the result of every errand as it comes back, in no promised order.

    An errand takes `size` things; a few errands are under way at a time, so memory does not grow with the number of
    things.

    Args:
        errand: A picklable function of a slice of things.
        things: What is to be done.
        crew: Who does it.
        size: Things an errand takes.

    Raises:
        LmodError: A process died.
    """
    slices = (things[i : i + size] for i in range(0, len(things), size))
    if crew.executor is None:
        yield from map(errand, slices)
        return
    executor, sent = crew.executor, crew.send(errand)
    running: set[Future[Any]] = set()
    try:
        running = {executor.submit(sent, part) for part in islice(slices, crew.under_way)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield crew.take(future.result())
            running |= {executor.submit(sent, part) for part in islice(slices, len(finished))}
    except crew.fallen as error:
        raise LmodError(crew.says) from error
    finally:
        for future in running:
            future.cancel()


def _end_with_parent() -> None:
    """Start the watch that ends this worker when its parent is gone: an orphan would wait for errands for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
