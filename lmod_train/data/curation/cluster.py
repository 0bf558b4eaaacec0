"""Run jobs on a Dask cluster that is already running: other machines, the same folders, the same bytes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Sample
from lmod_train.data.curation.journal import differing
from lmod_train.data.curation.versions import versions
from lmod_train.data.curation.workers import Crew

TIMEOUT = 20.0
"""Seconds in which the scheduler must answer and show a worker."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker sends back: the result, and what it did not see on its machine."""

    result: Any
    machine: str
    unseen: tuple[str, ...]


@contextmanager
def cluster_crew(address: str, beacon: Path, timeout: float = TIMEOUT) -> Iterator[Crew]:
    """Give the workers of a running Dask scheduler.

    Every worker must have this package in the same versions and see the raw and the curated folder under the same
    absolute paths; the first is checked now, the second with every job, as workers come and go.

    Args:
        address: Of the scheduler, as `dask scheduler` prints it, e.g. ``tcp://10.0.0.1:8786``.
        beacon: A file of the curated folder, absolute: a worker that does not see it would write images elsewhere.
        timeout: Seconds to wait for the scheduler and for the first worker.

    Raises:
        BadArgument: `distributed` is not installed, nobody answers at the address, or there is no worker.
        LmodError: A worker has other versions or cannot import this package.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        expected = "the package `distributed`, which is not installed"
        raise BadArgument("scheduler", address, expected, "`pip install lmod-train[cluster]`") from error
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        expected = f"a Dask scheduler that answers within {timeout:g} s ({type(error).__name__}: {error})"
        cure = (
            "start one with `dask scheduler` and give its address, or leave `--scheduler` out to work on this machine"
        )
        raise BadArgument("scheduler", address, expected, cure) from error
    try:
        _check_workers(client, address, timeout)
        message = (
            f"scheduler={address!r}: the cluster was lost, or a job killed its workers again and again.\n"
            f"Next: look into the workers' logs (memory?) and run the same command again; what is done is kept"
        )
        yield Crew(
            client.get_executor(pure=False),  # a job writes files: never take a result of earlier for it
            2 * max(1, sum(client.nthreads().values())),
            send=lambda job: partial(_look, job=job, beacon=str(beacon)),
            take=_taken,
            fallen=(distributed.KilledWorker, distributed.comm.CommClosedError, CancelledError),
            message=message,
        )
    finally:
        client.close(timeout=timeout)


def _check_workers(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError as error:
        expected = f"a cluster with at least one worker after {timeout:g} s"
        raise BadArgument("scheduler", address, expected, f"start some: `dask worker {address}`") from error
    for worker, answer in client.run(_versions_there, on_error="return").items():
        if isinstance(answer, BaseException):
            raise LmodError(
                f"scheduler={address!r}: worker {worker} cannot use this package ({type(answer).__name__}: {answer}).\n"
                f"Next: install the same version of lmod-train in the workers' environment"
            )
        if lines := differing(versions(), answer):
            raise LmodError(
                f"scheduler={address!r}: worker {worker} has other versions (here -> there): {'; '.join(lines)}; "
                f"its images would have other bytes.\nNext: start workers from the same environment as this command"
            )


def _versions_there() -> dict[str, str]:
    return versions()


def _look(things: Sequence[Sample], job: Callable[[Sequence[Sample]], Any], beacon: str) -> Done:
    """Run a job where the curated folder is seen, and list the raw files that are not.

    Raises:
        LmodError: It is not seen: images would be written where nobody finds them.
    """
    machine = socket.gethostname()
    if not Path(beacon).exists():
        raise LmodError(_blind(machine, beacon))
    raw = (file for s in things for file in (s.own_image, *(m.path for m in s.masks)))
    unseen = tuple(str(file) for file in raw if not file.is_file())
    return Done(job(things), machine, unseen)


def _taken(done: Done) -> Any:
    """Return the result of a job, unless a file that is here was not there."""
    for file in done.unseen:
        if Path(file).is_file():
            raise LmodError(_blind(done.machine, file))
    return done.result


def _blind(machine: str, file: str) -> str:
    return (
        f"a worker on {machine} does not see {file}, which is there on this machine.\n"
        f"Next: give every worker the raw folders and `--out` under the same paths (a shared file system), "
        f"or leave `--scheduler` out; what is done is kept"
    )
