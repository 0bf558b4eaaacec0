"""Run errands in a few processes, never holding more of them than the processes can use."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.connection import wait as wait_for
from typing import TypeVar

from lmod_train.errors import BadArgument, LmodError

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def run(
    errand: Callable[[Sequence[Thing]], Result], things: Sequence[Thing], workers: int, size: int = 8
) -> Iterator[Result]:
    """Yield the result of every errand as it comes back, in no promised order.

    An errand takes `size` things; two errands a worker are under way at most, so memory does not grow with the number
    of things. Processes are spawned (a fork copies locks and threads in an unknown state) and end with their parent,
    even if that is killed. One worker means this very process.

    Args:
        errand: A picklable function of a slice of things.
        things: What is to be done.
        workers: Number of processes, at least 1.
        size: Things an errand takes.

    Raises:
        BadArgument: Fewer than one worker.
        LmodError: A process died, which happens when memory runs out.
    """
    if workers < 1:
        raise BadArgument("workers", workers, "at least 1", "`--workers 1` works without further processes")
    slices = (things[i : i + size] for i in range(0, len(things), size))
    if workers == 1 or len(things) <= size:
        yield from map(errand, slices)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    try:
        running: set[Future[Result]] = {pool.submit(errand, part) for part in islice(slices, 2 * workers)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
            running |= {pool.submit(errand, part) for part in islice(slices, len(finished))}
    except BrokenProcessPool as error:
        raise LmodError(
            f"workers={workers}: a worker process died, which happens when memory runs out.\n"
            f"Next: run the same command again with `--workers 1`; what is done is kept"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Start the watch that ends this worker when its parent is gone: an orphan would wait for errands for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
