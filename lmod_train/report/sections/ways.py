"""The table of the spread over ways of asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import cochran_q
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.ways import FACTORS, compared, once_each, values_of
from lmod_train.tasks.run_scores import RunScores

NOTE = """Every question was asked in several ways. The score is over all of them, with an interval over patients.
Least, most and sd are the lowest and the highest score of a way and the standard deviation of these scores, on the
questions with a reply in every way. Same answer: share of these questions with one answer in all ways. p: Cochran's Q
test of equally many correct answers in all ways, each question in one way of the other factors, questions taken as
independent (an image is correct if every region is)."""

_COLUMNS: Heads = [
    "task", "model", "over", Column("ways", "count"), N, SCORE, INTERVAL, Column("least", "number"),
    Column("most", "number"), Column("sd", "number"), Column("same answer", "percent"), Column("p", "p"),
]  # fmt: skip


class Ways(Section):
    """The spread of scores over wordings, orders of choices, system prompts, examples and repeats."""

    title: ClassVar[str] = "Spread over ways of asking"
    name: ClassVar[str] = "ways"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if every question was asked once."""
        found = spreads(results.runs, results.outcomes)
        if found:
            yield Text(NOTE)
            yield table("ways", _COLUMNS, [_row(spread) for spread in found])


def _row(s: Spread) -> list[Cell]:
    ends = [s.least.value, s.most.value, s.sd.value]
    pooled = [s.score.value, (s.score.low, s.score.high)]
    return [s.task, s.run, s.factor, s.ways, s.least.n, *pooled, *ends, s.same.value, s.p]


# The spread of scores over ways of asking.


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of one run's score of a task over one factor, e.g. the wording.

    Attributes:
        task: Name of the task.
        run: Label of the run.
        factor: What the ways differ in.
        ways: Number of ways.
        score: The headline score over all ways.
        least: Lowest score of a way.
        most: Highest score of a way.
        sd: Standard deviation of the scores of the ways.
        same: Share of questions with the same answer in every way.
        p: p value of Cochran's Q test.
    """

    task: str
    run: str
    factor: str
    ways: int
    score: Score
    least: Score
    most: Score
    sd: Score
    same: Score
    p: float | None


def spreads(runs: Sequence[RunScores], outcomes: Mapping[str, Outcomes]) -> list[Spread]:
    """Return the spread of each task, run and factor that varies; an empty list if questions were asked once.

    Args:
        runs: The runs.
        outcomes: Label -> outcomes, in the same order.
    """
    named = list(zip(runs, outcomes.items(), strict=True))
    tasks = dict.fromkeys(task for run in runs for task in run.tasks())
    return [
        row for task in tasks for run, (label, own) in named for row in _of(task, run, label, own.items.get(task, []))
    ]


def _of(task: str, run: RunScores, label: str, items: Sequence[Item]) -> Iterator[Spread]:
    if task not in run.tasks():
        return
    metric = headline_metric(run.scores, task)
    pooled, by_id = run.find(task, metric), {item.id: item for item in items}
    for factor in FACTORS:
        least, most, sd = (run.find(task, f"{metric}_over_{factor}_{end}") for end in ("min", "max", "sd"))
        same = run.find(task, f"same_answer_over_{factor}")
        if pooled and least and most and sd and same:
            known = [(item.id, item.tags) for item in items]
            rows = {ids[0]: ids for ids in compared(known, factor)}
            tested = once_each((id, by_id[id].tags) for id in rows)
            right = [[item_score(by_id[id]) == 1 for id in rows[first]] for first in tested]
            p = cochran_q(right)[1] if right else None
            yield Spread(task, label, factor, len(values_of(known, factor)), pooled, least, most, sd, same, p)
