"""The table of the spread over ways of asking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, table
from lmod_train.report.contents import Part, heads, noted, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import cochran_q
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.repeats import PASS_AT, TIED, VOTE
from lmod_train.scoring.ways import FACTORS, compared, once_each, values_of
from lmod_train.tasks.run_scores import RunScores


class Ways(Section):
    """The spread of scores over wordings, orders of choices, system prompts, examples, repeats; and votes."""

    title: ClassVar[str] = "Spread over ways of asking"
    name: ClassVar[str] = "ways"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing if every question was asked once."""
        items, each = results.items, list(results.each())
        rows = [row for task, name, run in each for row in spreads(task, name, run, items[name].get(task, []))]
        yield from noted(texts(__file__)["note"], table("ways", heads(__file__)["ways"], rows))
        voted = [row for task, name, run in each for row in votes(task, name, run)]
        yield from noted(texts(__file__)["repeats_note"], table("repeats", heads(__file__)["repeats"], voted))


def votes(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    """Yield the vote over repeats, the ties, and pass@k of a task.

    Args:
        task: Name of the task.
        name: Label of the run.
        run: Its scores.
    """
    passed = {s.metric: f"pass@{s.metric.removeprefix(PASS_AT)}" for s in run.scores if s.metric.startswith(PASS_AT)}
    for metric, called in {VOTE: "majority vote", TIED: "ties of the vote", **passed}.items():
        if (score := run.find(task, metric)) and score.value is not None:
            yield [task, name, called, score.n, score.value, (score.low, score.high)]


def spreads(task: str, name: str, run: RunScores, items: Sequence[Item]) -> Iterator[list[Cell]]:
    """Yield the spread of the score of a task over each factor in which questions were asked in several ways.

    Args:
        task: Name of the task.
        name: Label of the run.
        run: Its scores.
        items: Its items of the task.
    """
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
            ends = [least.value, most.value, sd.value]
            count = [len(values_of(known, factor)), least.n]
            yield [task, name, factor, *count, pooled.value, (pooled.low, pooled.high), *ends, same.value, p]
