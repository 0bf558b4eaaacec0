"""The ledger: every printed number of a run's model, compared with the run's score."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lmod_train.core.types import Score
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.papers.measured import conditions, find_score, manifest_of
from lmod_train.report.papers.models import canonical_names, models_of_run
from lmod_train.report.papers.printed import PAPERS, Printed, printed
from lmod_train.report.papers.protocols import Protocol, protocol_of
from lmod_train.report.papers.relations import Found, Measured, compare
from lmod_train.report.results import Outcomes, Results
from lmod_train.tasks.run_scores import RunScores


@dataclass(frozen=True, slots=True)
class Entry:
    """One printed number beside the score of a run.

    Attributes:
        run: Label of the run.
        cell: The printed number.
        protocol: How it was obtained.
        score: The run's score.
        here: How the score was obtained.
        found: How the two compare.
    """

    run: str
    cell: Printed
    protocol: Protocol
    score: Score
    here: Measured
    found: Found


def entries(results: Results) -> Iterator[Entry]:
    """Yield an entry for each printed number that a run has a score for, run by run, in the order of the papers.

    A printed number belongs to a run if its row is of the run's model and the run has the metric on these items. Tasks
    with records of phantoms have no entries.
    """
    drawn = phantom_tasks(results.outcomes)
    for name, run in zip(results.names, results.runs, strict=True):
        yield from _entries_of(name, run, results.outcomes[name], manifest_of(results.images[name]), drawn)


def _entries_of(
    name: str, run: RunScores, outcomes: Outcomes, manifest: Mapping[str, Any], drawn: set[str]
) -> Iterator[Entry]:
    known: dict[tuple[str, str], Measured] = {}
    for cell in cells_of(models_of_run(run.model)):
        protocol = protocol_of(cell)
        if protocol is None or protocol.task in drawn or not (items := outcomes.items.get(protocol.task)):
            continue
        part = protocol.task, protocol.asked
        if part not in known:
            known[part] = conditions(outcomes, manifest, protocol)
        here = known[part]
        score = find_score(run, protocol, here.n, len(items))
        if score is not None:
            here = replace(here, value=score.value, low=score.low, high=score.high)
            yield Entry(name, cell, protocol, score, here, compare(cell, protocol, here))


def cells_of(models: Collection[str]) -> Iterator[Printed]:
    """Yield all printed numbers of models, given by their names in all papers."""
    names = canonical_names()
    cells = (cell for paper in PAPERS for cell in printed(paper))
    yield from (c for c in cells if c.value and names.get((c.paper, c.model)) in models)


def unknown_models(results: Results) -> list[str]:
    """Return the labels of the runs whose model is in no paper."""
    return [n for n, run in zip(results.names, results.runs, strict=True) if not models_of_run(run.model)]
