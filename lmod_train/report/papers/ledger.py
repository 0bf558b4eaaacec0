"""The ledger: every printed number of a run's model, compared with the run's score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lmod_train.report.origin import phantom_tasks
from lmod_train.report.papers.measured import find_score, measured
from lmod_train.report.papers.models import canonical_names, model_of_run
from lmod_train.report.papers.printed import PAPERS, Printed, printed
from lmod_train.report.papers.protocols import Protocol, protocol_of
from lmod_train.report.papers.verdicts import Found, Measured, compare
from lmod_train.report.results import Results
from lmod_train.types import Score


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
        outcomes = results.outcomes[name]
        for cell in cells_of(model_of_run(run.model)):
            protocol = protocol_of(cell)
            if protocol is None or protocol.task in drawn or not outcomes.items.get(protocol.task):
                continue
            score = find_score(run, outcomes.items[protocol.task], protocol)
            if score is not None:
                here = measured(score, outcomes, results.images[name], protocol)
                yield Entry(name, cell, protocol, score, here, compare(cell, protocol, here))


def cells_of(model: str) -> Iterator[Printed]:
    """Yield all printed numbers of a model, by its name in all papers; none for an empty name."""
    names = canonical_names()
    cells = (cell for paper in PAPERS for cell in printed(paper))
    yield from (c for c in cells if model and c.value and names.get((c.paper, c.model)) == model)


def unknown_models(results: Results) -> list[str]:
    """Return the labels of the runs whose model is in no paper."""
    return [n for n, run in zip(results.names, results.runs, strict=True) if not model_of_run(run.model)]
