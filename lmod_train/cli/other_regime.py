"""The command that asks the questions of a run in another regime."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise
from pathlib import Path

from lmod_train.cli.refusal import PROGRAM
from lmod_train.cli.shipped import by_name
from lmod_train.core.artifacts.run import Run

ALONE = "independent"
APART = ("--run", "--data.regime", "--data.shard", "--against")
"""Options that another run has otherwise, or does not need."""


def in_another_regime(run: Path, arguments: Sequence[str]) -> str:
    """Return the command that asks the questions of a run without earlier answers.

    Args:
        run: Folder of the run, which was asked with earlier answers.
        arguments: The command of the run and its options.

    Returns:
        The command, with a run folder beside that of the run; empty if the run itself was asked in this way, as
        comparing it with a run with earlier answers is a choice.

    Example:
        >>> in_another_regime(Path("no/cas_all"), ["test", "--config", "xpcr", "--data.regime=cas_all"])
        'python -m lmod_train test --config xpcr --data.regime independent --run no/independent'
    """
    regime = _regime(run, arguments)
    if regime == ALONE:
        return ""
    kept = _kept(arguments[0], arguments[1:])
    options = [arguments[0], *kept, "--data.regime", ALONE, "--run", str(_beside(run, regime))]
    return f"{PROGRAM} {shlex.join(options)}"


def _beside(run: Path, regime: str) -> Path:
    """Return a new folder beside that of a run, named after it."""
    name = run.name.replace(regime, ALONE) if regime in run.name else f"{run.name}_{ALONE}"
    names = chain([name], (f"{name}_{n}" for n in count(2)))
    return next(run.parent / n for n in names if not (run.parent / n).exists())


def _regime(run: Path, arguments: Sequence[str]) -> str:
    """Return the regime of a run: that of its configuration, of one without that of the command."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    typed = [word for before, word in pairwise(words) if before == "--data.regime"]
    data = Run(run).read_config().get("data") or {}
    return str((data.get("init_args") or data).get("regime") or (typed or [ALONE])[-1])


def _kept(command: str, options: Sequence[str]) -> Iterator[str]:
    """Yield the options that another run has too; shipped configurations by their names."""
    for before, word in zip(["", *options], options, strict=False):
        option, equals, value = word.partition("=")
        if before not in APART and option not in APART:
            name = Path(value or word).stem
            short = f"{option}={name}" if equals else name
            yield short if by_name(command, [before, short])[1] == word else word
