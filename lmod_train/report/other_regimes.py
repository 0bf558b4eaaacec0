"""Runs of one model in other regimes that stand beside a run of chains, and what earlier answers changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import LmodError
from lmod_train.report.chains import ChainRun, chain_runs, every_chain
from lmod_train.report.contents import INTERVAL, Cell, Column, Heads, N, Table, table
from lmod_train.report.contexts import Effect, effects
from lmod_train.report.results import read_results
from lmod_train.scoring.regimes import WHOLE

HEADS: Heads = [
    "compared", "with run", "stage", N, Column("difference", "signed"), Column(INTERVAL.head, "signed_interval"),
    Column("p, Holm", "p"),
]  # fmt: skip
NOTE = """Shares of right answers on the same questions, first regime minus second. Minus independent: the effect of
earlier answers as context. oracle minus the model's own answers: the propagation of its errors."""
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
