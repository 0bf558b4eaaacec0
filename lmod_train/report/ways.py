"""The table of the spread over ways of asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.report.comparisons import merit
from lmod_train.report.headline import grid, interval, number, percent
from lmod_train.report.runs import Figures, Outcomes
from lmod_train.scoring.comparison import cochran_q
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.items import Item
from lmod_train.scoring.ways import FACTORS, compared, once_each, values_of
from lmod_train.types import Score

NOTE = """Every question was asked in several ways. The score is over all of them, with an interval over patients.
Least, most and sd are the lowest and the highest score of a way and the standard deviation of these scores, on the
questions with a reply in every way. Same answer: share of these questions with one answer in all ways. p: Cochran's Q
test of equally many correct answers in all ways, each question in one way of the other factors, questions taken as
independent (an image is correct if every region is)."""

HEADS = ("task", "model", "over", ">ways", ">n", ">score", "95 % interval", ">least", ">most", ">sd",
         ">same answer", ">p")  # fmt: skip


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

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        numbers = [number(s.value) for s in (self.least, self.most, self.sd)]
        tested = "-" if self.p is None else "< 0.001" if self.p < 0.001 else f"{self.p:.3f}"
        pooled = [number(self.score.value), interval(self.score.low, self.score.high)]
        first = [self.task, self.run, self.factor, str(self.ways), str(self.least.n)]
        return [*first, *pooled, *numbers, percent(self.same.value), tested]


def spreads(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes]) -> list[Spread]:
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


def _of(task: str, run: Figures, label: str, items: Sequence[Item]) -> Iterator[Spread]:
    if task not in run.tasks():
        return
    metric = headline_metric(run.scores, task)
    pooled, by_id = run.find(task, metric), {item.id: item for item in items}
    for factor in FACTORS:
        least, most, sd = (run.find(task, f"{metric}_over_{factor}_{end}") for end in ("min", "max", "sd"))
        same = run.find(task, f"same_answer_over_{factor}")
        if pooled and least and most and sd and same:
            known = [(item.id, item.tags) for item in items if item.status != "failed"]
            rows = {ids[0]: ids for ids in compared(known, factor)}
            tested = once_each((id, by_id[id].tags) for id in rows)
            right = [[merit(by_id[id]) == 1 for id in rows[first]] for first in tested]
            p = cochran_q(right)[1] if right else None
            yield Spread(task, label, factor, len(values_of(known, factor)), pooled, least, most, sd, same, p)


def spread_table(rows: Sequence[Spread]) -> str:
    """Return the table as aligned Markdown."""
    return grid(HEADS, [row.cells for row in rows])
