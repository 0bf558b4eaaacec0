"""Commands of lmod_train as forked processes of a benchmark: run to their end, ended at a moment, killed while asking.

A fork of a process that has imported everything (`load`) starts at once, so that a kill hits the command's work and not
the import of torch.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pkgutil
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import lmod_train

HERE = Path(__file__).resolve().parent
STARTING = 3.0
"""Seconds within which a command that starts is killed, see `kill_while_asking`."""


def lmod(*arguments: str | Path | int) -> list[str]:
    """Return the words of one command of the package."""
    return [str(a) for a in arguments]


def load() -> None:
    """Import everything that a command could import, so that a forked command starts immediately."""
    for module in pkgutil.walk_packages(lmod_train.__path__, "lmod_train."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def fork(command: Sequence[str], output: Path) -> int:
    """Start a command in its own process group, with its output in a file, and return its id."""
    sys.stdout.flush()
    if (process := os.fork()) == 0:
        os._exit(_become(command, output))
    return process


def _become(command: Sequence[str], output: Path) -> int:
    os.setsid()
    words = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(words, 1)
    os.dup2(words, 2)
    sys.argv, status = ["lmod_train", *command], 0
    try:
        runpy.run_module("lmod_train", run_name="__main__", alter_sys=True)
    except SystemExit as left:
        status = int(left.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def status_within(process: int, seconds: float) -> int | None:
    """Return the exit status of a process, negative for a signal; None if it still runs after so many seconds."""
    late = time.perf_counter() + seconds
    while time.perf_counter() < late:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command to its end and return its status and output."""
    with tempfile.NamedTemporaryFile() as output:
        status = status_within(fork(command, Path(output.name)), 3600)
        return -1 if status is None else status, Path(output.name).read_text(encoding="utf-8", errors="replace")


def quiet(command: Sequence[str]) -> float:
    """Run a command to its end and return its seconds; its output is shown only when it fails."""
    began = time.perf_counter()
    status, output = run(command)
    if status:
        sys.exit(f"{' '.join(command)} ended with {status}:\n{output[-3000:]}")
    return time.perf_counter() - began


def finish(command: Sequence[str]) -> None:
    """Run a command to its end in a new process."""
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-m", "lmod_train", *command], capture_output=True, text=True, check=False, env=found
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")


def end(command: Sequence[str], after: float, how: signal.Signals) -> int | None:
    """Start a command, and kill it and all its children after some seconds.

    Returns:
        Exit status; None if the command had finished before.
    """
    with tempfile.NamedTemporaryFile() as output:
        process = fork(command, Path(output.name))
        if (status := status_within(process, after)) is not None:
            if status:
                sys.exit(f"{' '.join(command)} ended with {status} by itself:\n{Path(output.name).read_text()[-3000:]}")
            return None
        os.killpg(process, how)
        if (status := status_within(process, 120)) is None:
            os.killpg(process, signal.SIGKILL)
            status = status_within(process, 120)
        return status


def kill_while_asking(command: Sequence[str], asked: Callable[[], int], moments: random.Random, span: float) -> None:
    """Start a command that asks a server and kill it, mostly within `span` seconds of a request.

    One of five times it is killed soon after its start instead.

    Args:
        command: The command.
        asked: Number of requests that the server has had.
        moments: Generator of the moments.
        span: Seconds.
    """
    with tempfile.NamedTemporaryFile() as output:
        process, before = fork(command, Path(output.name)), asked()
        starts = moments.random() < 0.2
        while not starts and asked() == before and status_within(process, 0.02) is None:
            pass
        time.sleep(moments.uniform(0, STARTING if starts else span))
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
