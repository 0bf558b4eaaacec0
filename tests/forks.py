"""Processes that begin with torch, Lightning and this package imported, which takes seconds: forks of one process.

They are processes like any other: with a folder, an environment and outputs of their own, and they can be killed. What
is tested of an import itself (what is loaded, what it prints) needs an interpreter that starts anew.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import torch.multiprocessing

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    [
        "lmod_train.cli.doctor",
        "lmod_train.cli.experiment",
        "lmod_train.models.modules.conversation",
        "lmod_train.models.modules.classifier",
        "lmod_train.models.modules.frozen",
        "lmod_train.scoring.metrics.named",
        "lmod_train.models.strategies.sharding_fsdp",
        "lmod_train.tasks.rescore",
        "omegaconf",
        "pandas",
        "peft",
        "sklearn.metrics",
        "torch._dynamo",
        "transformers.generation",
        "transformers.models.llava.modeling_llava",
    ]
)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ranks(work: Callable[..., None], *arguments: Any, processes: int = 2) -> None:
    """Call ``work(rank, *arguments)`` in each of several processes and wait for all of them.

    Raises:
        ProcessRaisedException: One of them raised an error.
    """
    torch.multiprocessing.start_processes(work, arguments, nprocs=processes, start_method="forkserver")


@dataclass(frozen=True)
class Started:
    """A command that runs.

    Attributes:
        process: Its process.
        outputs: A folder with the files ``out`` and ``err`` of what it has printed so far.
    """

    process: ForkServerProcess
    outputs: Path

    def printed(self) -> str:
        """Return what the command has printed so far on its standard output."""
        file = self.outputs / "out"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def ended(self, seconds: float = 300) -> CompletedProcess[str]:
        """Return the exit status and what was printed once the command has ended; raises TimeoutError if it has not."""
        self.process.join(seconds)
        if self.process.exitcode is None:
            self.process.kill()
            raise TimeoutError(f"a command takes more than {seconds} s")
        out, err = ((self.outputs / name).read_text(encoding="utf-8") for name in ("out", "err"))
        return CompletedProcess([], self.process.exitcode, out, err)


def start(arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Started:
    """Start what ``python`` followed by `arguments` would: ``-m MODULE ...`` or ``-c PROGRAM ...``.

    Args:
        arguments: As on a command line.
        folder: To stand in.
        environment: Default: the one of the tests.
    """
    outputs = Path(tempfile.mkdtemp(prefix="outputs-"))
    atexit.register(_removed, outputs)
    given = (list(map(str, arguments)), str(folder), dict(os.environ if environment is None else environment), outputs)
    process = FORKING.Process(target=_command, args=given)
    process.start()
    return Started(process, outputs)


def run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """Run a command as `start` does, and wait for its end."""
    return start(arguments, folder, environment).ended()


def _removed(outputs: Path) -> None:
    for file in outputs.iterdir():
        file.unlink()
    outputs.rmdir()


def _command(arguments: list[str], folder: str, environment: dict[str, str], outputs: Path) -> None:
    for number, name in ((1, "out"), (2, "err")):
        with (outputs / name).open("wb") as file:
            os.dup2(file.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # that of this environment
    os.chdir(folder)
    multiprocessing.process._parent_process = None  # as for a command that a shell starts
    _own_media(outputs.parent)
    try:
        _run(*arguments)
    finally:
        atexit._run_exitfuncs()


def _own_media(place: Path) -> None:
    """Give wandb a temporary folder of this process; the one it made when it was imported belongs to all of them.

    It is not in the folder of temporary files of the command, whose entries are those of the command alone.
    """
    if (private := sys.modules.get("wandb.sdk.data_types._private")) is not None:
        private.MEDIA_TMP.name = tempfile.mkdtemp("wandb-media", dir=place)


def _run(option: str, what: str, *arguments: str) -> None:
    """Run a module or a program as the main module of this process."""
    assert option in ("-m", "-c"), option
    sys.argv, sys.path = [what if option == "-m" else "-c", *arguments], [str(Path.cwd()), *sys.path]
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))
