"""The tables that are printed after a run: its scores, and comparisons with runs in another regime."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import chain, count, pairwise
from pathlib import Path

from lmod_train.cli.refusal import PROGRAM
from lmod_train.cli.shipped import by_short_name
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import NotScored
from lmod_train.report.chain_table import chain_tables
from lmod_train.report.finding import findings
from lmod_train.report.headline import headline, headline_table
from lmod_train.report.languages import KINDS, language_tables
from lmod_train.report.other_regimes import regime_tables
from lmod_train.report.results import read_outcomes, read_run_scores
from lmod_train.report.writers.markdown import markdown

ALONE = "independent"
APART = ("--run", "--data.regime", "--data.shard", "--against")
"""Options that another run has otherwise, or does not need."""


def scored(run: Path, trusted: Sequence[str] = ()) -> str:
    """Return what the scores of a run say, its headline table, and the tables of chains and of two languages.

    Args:
        run: Folder of the run.
        trusted: Modules outside this package with task classes that the run names.
    """
    scores = read_run_scores([run])
    rows = headline([run])
    tables = [headline_table(rows), *chain_tables(scores)]
    if KINDS.keys() & set(scores[0].tasks()):
        tables += language_tables(scores[0], read_outcomes(run, trusted))
    said = "\n".join(finding.text for finding in findings({scores[0].called: rows}))
    return "\n\n".join([said, *map(markdown, tables)])


def next_of(run: Path) -> str:
    """Return the line with the command that shows the replies of a run."""
    return f"next: `python -m lmod_train report {shlex.quote(str(run))} --out REPORT` shows every reply"


def compared(run: Path, against: Sequence[Path], trusted: Sequence[str], arguments: Sequence[str]) -> str:
    """Return what earlier answers changed in chains, or the command of a run to compare with; empty without chains.

    Args:
        run: Folder of the run.
        against: Folders of runs to compare it with, beside those in its parent folder.
        trusted: Modules outside this package with task classes that the runs name.
        arguments: The command and its options, of which that of another run is made.
    """
    found = list(regime_tables(run, against, trusted))
    texts = [f"{t.title}. {' '.join(t.note.split())}\n\n{markdown(t)}" for t in found if t.rows]
    if found and not texts and (missing := in_another_regime(run, arguments)):
        texts = [f"no run in another regime to compare with; to make one type `{missing}`"]
    rows = [row for t in found for row in t.rows]
    unlike = [str(other) for other in against if found and Run(other).name not in {row[1] for row in rows}]
    if unlike:
        texts.append(f"not compared with {', '.join(unlike)}: of another model, other weights or other questions")
    return "".join(f"\n{text}\n" for text in texts)


def refuse_unscored(run: Path) -> None:
    """Refuse a run to compare with that has no scores, before anything is asked.

    Raises:
        NotScored: It has none.
    """
    if not Run(run).scores.is_file():
        raise NotScored(Run(run).scores, "missing, so that there is nothing to compare with")


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


def _kept(command: str, options: Sequence[str]) -> list[str]:
    """Return the options that another run has too; shipped configurations by their names."""
    words = zip(["", *options], options, strict=False)
    kept = [word for before, word in words if before not in APART and word.partition("=")[0] not in APART]
    return by_short_name(command, kept)
