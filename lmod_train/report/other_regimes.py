"""Runs of one model in other regimes that stand beside a run of chains, and what earlier answers changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import LmodError
from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, Table, table
from lmod_train.report.chains import ALONE, ChainRun, chain_runs, every_chain
from lmod_train.report.contexts import Effect, effects
from lmod_train.report.results import read_results
from lmod_train.scoring.regimes import WHOLE

HEADS: Heads = [
    "compared", "with run", "stage", N, Column("difference", "signed"), Column(INTERVAL.head, "signed_interval"),
    Column("p, Holm", "p"),
]  # fmt: skip
NOTE = """Shares of right answers on the same questions, first regime minus second. Minus independent: the effect of
earlier answers as context. oracle minus the model's own answers: the propagation of its errors."""
APART = ("--run", "--data.regime", "--data.shard", "--against")
"""Options that another run has otherwise, or does not need."""
NOT_APPLICABLE = "not applicable: no earlier answer"


def regime_tables(run: Path, named: Sequence[Path] = (), trust: Sequence[str] = ()) -> Iterator[Table]:
    """Yield a table for each task of a run that asks chains: its differences from runs of the model in other regimes.

    Other runs are those named, and those in the same parent folder that asked the same curated folder in another
    regime and in the same ways (`data.asking`). Runs of other models or weights are not compared, nor unreadable ones.

    Args:
        run: Folder of the run, with scores.
        named: Folders of other runs to compare it with.
        trust: Modules outside this package whose task classes may be imported.

    Yields:
        Nothing for a task without chains; a table without rows if no other run can be compared.
    """
    own = read_results([run], trust=trust)
    chains = [(task, mine) for task, (mine,) in every_chain(own)]
    others = [results for path in _others(run, named) if (results := _readable(path, trust))] if chains else []
    for task, mine in chains:
        found = [other for results in others for other in chain_runs(results, task)]
        rows = [row for other in found for e in effects([mine, other]) for row in _rows(e, other)]
        yield table(f"other_regimes-{task}", HEADS, rows, f"{task}: what earlier answers changed", NOTE)


def _others(run: Path, named: Sequence[Path]) -> list[Path]:
    """Return the named runs, and those beside a run with scores of the same curated folder in another regime."""
    asked = _asked(run)
    beside = [path for path in sorted(run.parent.iterdir()) if Run(path).scores.is_file()]
    comparable = [path for path in beside if (other := _asked(path)) and asked and _differs(asked, other)]
    folders = {path.resolve(): path for path in (*named, *comparable)}
    folders.pop(run.resolve(), None)
    return list(folders.values())


def _differs(one: tuple[Path, Any, str], other: tuple[Path, Any, str]) -> bool:
    return one[:2] == other[:2] and one[2] != other[2]


def _asked(run: Path) -> tuple[Path, Any, str] | None:
    """Return curated folder, ways of asking and regime of a run; None if its configuration does not state them."""
    try:
        data: dict[str, Any] = Run(run).read_config().get("data") or {}
    except LmodError:
        return None
    data = data.get("init_args") or data
    if not data.get("curated"):
        return None
    return Path(data["curated"]).resolve(), data.get("asking"), str(data.get("regime", ""))


def _readable(run: Path, trust: Sequence[str]) -> Any:
    try:
        return read_results([run], trust=trust)
    except LmodError:
        return None


def _rows(e: Effect, other: ChainRun) -> Iterator[list[Cell]]:
    names: list[Cell] = [f"{e.first} - {e.second}", other.scores.run]
    for stage in e.stages:
        gap = stage.score
        difference = NOT_APPLICABLE if stage.why else gap.value
        yield [*names, stage.step, gap.n, difference, (gap.low, gap.high), stage.adjusted]
    for score in e.whole:
        yield [*names, WHOLE[score.metric], score.n, score.value, (score.low, score.high), None]


def compared(
    run: Path, against: Sequence[Path], trusted: Sequence[str], arguments: Sequence[str]
) -> Iterator[Table | str]:
    """Yield what earlier answers changed in chains, or the command of a run to compare with.

    Args:
        run: Folder of the run.
        against: Folders of runs to compare it with, beside those in its parent folder.
        trusted: Modules outside this package with task classes that the runs name.
        arguments: The command and its options, of which that of another run is made.
    """
    found = list(regime_tables(run, against, trusted))
    shown = [one for one in found if one.rows]
    for one in shown:
        yield f"{one.title}. {' '.join(one.note.split())}"
        yield one
    if found and not shown and (missing := in_another_regime(run, arguments)):
        yield f"no run in another regime to compare with; to make one type `{missing}`"
    names = {row[1] for one in found for row in one.rows}
    unlike = [str(other) for other in against if found and Run(other).name not in names]
    if unlike:
        yield f"not compared with {', '.join(unlike)}: of another model, other weights or other questions"


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
    words = zip(["", *arguments], arguments, strict=False)
    kept = [word for before, word in words if before not in APART and word.partition("=")[0] not in APART]
    return f"python -m lmod_train {shlex.join([*kept, '--data.regime', ALONE, '--run', str(_beside(run, regime))])}"


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
