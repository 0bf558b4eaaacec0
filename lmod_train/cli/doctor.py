"""The command `doctor`: the checks of `fit`, without a training."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from lightning.pytorch.cli import LightningArgumentParser

from lmod_train.cli.commands import LIGHTNING
from lmod_train.cli.defaults import default_run
from lmod_train.cli.examination import findings_of, identity
from lmod_train.cli.experiment import Experiment, options
from lmod_train.cli.parser import PROGRAM
from lmod_train.cli.terminal import silenced
from lmod_train.core.artifacts.run import Run
from lmod_train.core.lock import locked
from lmod_train.training.doctor.check_result import failures, terminal_report, write_checks


class Parsed(Experiment):
    """Parses the options of `fit` without starting it."""

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        """Describe the command `doctor` in its help."""
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        parser.description = LIGHTNING["doctor"]
        return parser

    def before_instantiate_classes(self) -> None:
        """Do nothing, so that no run folder is written."""

    def instantiate_classes(self) -> None:
        """Do nothing; module and data are built separately, as each can fail."""

    def _run_subcommand(self, subcommand: str) -> None:
        """Do nothing."""


def run(arguments: Sequence[str]) -> int:
    """Run the checks for `fit` with these options, print their report, and write it to the run folder.

    Args:
        arguments: The command and its options, which are those of `fit`.

    Returns:
        0 if no check failed, else 2.
    """
    with silenced(sys.stderr.isatty()):
        if "--help" in arguments:
            print(_help())
            return 0
        parsed = Parsed(ExitStack(), **options(), args=["fit", *arguments[1:]])
        config = parsed.config["fit"]
        resolved = parsed.resolved()
        found = findings_of(config, resolved)
        folder = Path(config.run or default_run(map(str, config.config or ()), "fit"))
        with locked(folder, "--run"):
            write_checks(Run(folder).doctor, found, identity(resolved, dict(os.environ)))
        print(terminal_report(found))
    failed = len(failures(found))
    verdict = f"{failed} checks failed: `fit` would refuse to start" if failed else "no check failed"
    print(f"\n{verdict}; wrote {Run(folder).doctor}")
    return 2 if failed else 0


def _help() -> str:
    """Return the help of `fit`, which has the same options, under this command's name."""
    with redirect_stdout(StringIO()) as text, suppress(SystemExit):
        Parsed(ExitStack(), **options(), args=["fit", "--help"])
    return text.getvalue().replace(f"{PROGRAM} fit", f"{PROGRAM} doctor").rstrip()
