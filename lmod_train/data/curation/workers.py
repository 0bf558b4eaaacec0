"""Run jobs in a few processes, submitting no more of them at a time than the processes can use."""

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

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.processes import spawning

DEATHS = 10
"""Things in a row over which processes die that are no longer taken for their own fault."""

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Crew:
    """Who runs the jobs.

    Attributes:
        executor: Where they are submitted; None runs them in this very process.
        under_way: Jobs submitted at most at a time.
        send: Turns a job into what is submitted.
        take: Turns what came back into the job's result; may raise.
        fallen: What is raised when a process has died.
        message: Of the error that is then raised.
        renew: Gives an executor in place of one whose process died; None where a death ends the work.
    """

    executor: Executor | None = None
    under_way: int = 1
    send: Callable[[Any], Any] = _as_it_is
    take: Callable[[Any], Any] = _as_it_is
    fallen: tuple[type[BaseException], ...] = ()
    message: str = ""
    renew: Callable[[], Executor] | None = None


@contextmanager
def local_crew(workers: int) -> Iterator[Crew]:
    """Give processes of this machine, which start with the first job; one worker means this very process.

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
    message = (
        f"workers={workers}: worker processes died over {DEATHS} things in a row, as happens when memory runs out, or "
        f"when a Python script calls `curate` outside `if __name__ == '__main__':`.\n"
        f"Next: run the same again with `--workers 1` (from Python: workers=1); what is done is kept"
    )
    pools: list[ProcessPoolExecutor] = []

    def renew() -> Executor:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        context = spawning()
        pools.append(ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent))
        return pools[-1]

    try:
        yield Crew(renew(), 2 * workers, fallen=(BrokenProcessPool,), message=message, renew=renew)
    finally:
        for pool in pools:
            pool.shutdown(wait=True, cancel_futures=True)


def run(
    job: Callable[[Sequence[Thing]], Result],
    things: Sequence[Thing],
    crew: Crew,
    size: int = 8,
    lost: Callable[[Sequence[Thing]], Result] | None = None,
) -> Iterator[Result]:
    """Yield the result of every job as it comes back, in no promised order.

    A job takes `size` things; a few jobs are under way at a time, so memory does not grow with the number of
    things. Where a process dies, the things that were under way are done anew one by one, each alone: the one over
    which a process dies again has the result that `lost` gives, and the work goes on.

    Args:
        job: A picklable function of a slice of things.
        things: What is to be done.
        crew: Who does it.
        size: Things a job takes.
        lost: Gives the result for a thing (a slice of one) over which processes die; without it a death is an error.

    Raises:
        LmodError: A process died, and there is no `lost`, the crew cannot be renewed, or it was over `DEATHS` things
            in a row.
    """
    slices = enumerate(things[i : i + size] for i in range(0, len(things), size))
    if crew.executor is None:
        yield from map(job, (part for _, part in slices))
        return
    executor = crew.executor
    while True:
        under_way: dict[int, Sequence[Thing]] = {}
        try:
            yield from _together(crew.send(job), slices, crew, executor, under_way)
            return
        except crew.fallen as error:
            if crew.renew is None or lost is None:
                raise LmodError(crew.message) from error
        ones = [part[i : i + 1] for part in under_way.values() for i in range(len(part))]
        executor, results = _alone(crew.send(job), crew, lost, ones, crew.renew())
        yield from results


def _together(
    sent: Callable[..., Any],
    slices: Iterator[tuple[int, Sequence[Thing]]],
    crew: Crew,
    executor: Executor,
    under_way: dict[int, Sequence[Thing]],
) -> Iterator[Any]:
    """Yield the results of slices, a few at a time; `under_way` holds those whose result has not come."""
    running: dict[Future[Any], int] = {}

    def submit(several: int) -> None:
        for number, part in islice(slices, several):
            under_way[number] = part
            running[executor.submit(sent, part)] = number

    try:
        submit(crew.under_way)
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                result = crew.take(future.result())
                del under_way[running.pop(future)]
                yield result
            submit(len(finished))
    finally:
        for future in running:
            future.cancel()


def _alone(
    sent: Callable[..., Any],
    crew: Crew,
    lost: Callable[[Sequence[Thing]], Result],
    parts: Sequence[Sequence[Thing]],
    executor: Executor,
) -> tuple[Executor, list[Result]]:
    """Return the results of slices of one, each done while nothing else is, and an executor that lives."""
    results: list[Result] = []
    deaths = 0
    for part in parts:
        try:
            results.append(crew.take(executor.submit(sent, part).result()))
            deaths = 0
        except crew.fallen as error:
            deaths += 1
            if deaths >= DEATHS or crew.renew is None:
                raise LmodError(crew.message) from error
            executor = crew.renew()
            results.append(lost(part))
    return executor, results


def _end_with_parent() -> None:
    """Start the watch that ends this worker when its parent is gone: an orphan would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
