"""The headline table: a row per task and run, with the score, its interval and baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmod_train.escaping import for_markdown
from lmod_train.report.runs import Figures, read_figures
from lmod_train.scoring.headline import headline_metric


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the headline table; None if a run does not have a value."""

    task: str
    run: str
    model: str
    metric: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    majority: float | None
    unparsed: float | None


def headline(runs: Sequence[Path]) -> list[Row]:
    """Return the headline table: tasks in order of first appearance, runs in the given order.

    Raises:
        BadArgument: No run was given, or one twice.
        ArtifactError: A run has no scores.
    """
    return headline_rows(read_figures(runs))


def headline_rows(figures: Sequence[Figures]) -> list[Row]:
    """Return the headline table of runs whose scores were read."""
    rows = []
    for task in dict.fromkeys(task for run in figures for task in run.tasks()):
        for run in figures:
            if task not in run.tasks():
                continue
            metric = headline_metric(run.scores, task)
            score = run.find(task, metric)
            assert score is not None
            beside = [run.find(task, name) for name in ("chance", "majority", "share_unparsed")]
            chance, majority, unparsed = (b.value if b else None for b in beside)
            numbers = (score.n, score.value, score.low, score.high, chance, majority, unparsed)
            rows.append(Row(task, run.run, run.called, metric, *numbers))
    return rows


def format_table(rows: Sequence[Row]) -> str:
    """Return the table as aligned Markdown; without rows only the heading.

    Example:
        >>> print(format_table([Row("glaucoma", "tuned", "base", "accuracy_strict", 200, .9, .85, .94, .5, .5, 0.0)]))
        | task     | model | run   | metric          |   n | score | 95 % interval | chance | majority | unparsed |
        | -------- | ----- | ----- | --------------- | --: | ----: | ------------- | -----: | -------: | -------: |
        | glaucoma | base  | tuned | accuracy_strict | 200 | 0.900 | 0.850-0.940   |  0.500 |    0.500 |    0.0 % |
    """
    heads = ["task", "model", "run", "metric", ">n", ">score", "95 % interval", ">chance", ">majority", ">unparsed"]
    lines = [
        [
            r.task,
            r.model,
            r.run,
            r.metric,
            str(r.n),
            number(r.value),
            interval(r.low, r.high),
            number(r.chance),
            number(r.majority),
            percent(r.unparsed),
        ]
        for r in rows
    ]
    return grid(heads, lines)


def grid(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    r"""Return an aligned Markdown table; columns whose head starts with ``>`` are right-aligned.

    Example:
        >>> print(grid(["a", ">b"], [["x|y", "1"]]))
        | a    |  b |
        | ---- | -: |
        | x\|y |  1 |
    """
    right = [head.startswith(">") for head in heads]
    cells = [[head.removeprefix(">") for head in heads], *[[_cell(c) for c in line] for line in lines]]
    widths = [max(2, *(len(line[i]) for line in cells)) for i in range(len(heads))]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]

    def join(line: Sequence[str]) -> str:
        set_out = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)]
        return "| " + " | ".join(set_out) + " |"

    return "\n".join([join(cells[0]), join(rule), *map(join, cells[1:])])


def _cell(text: str) -> str:
    return for_markdown(" ".join(text.split()))


def number(value: float | None) -> str:
    """Return a number with three decimals; a dash for None."""
    return "-" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Return ``low-high``; ``none`` where no interval is defined."""
    return "none" if low is None or high is None else f"{low:.3f}-{high:.3f}"


def percent(share: float | None) -> str:
    """Return a share in percent with one decimal; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f} %"
