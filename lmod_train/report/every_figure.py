"""Tables of all metrics of each task, with a column per run."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.report.headline import grid, interval, number
from lmod_train.report.runs import Figures

_FIRST = (
    "accuracy_strict", "accuracy_answered", "accuracy_chance_filled", "balanced_accuracy", "kappa", "macro_f1",
    "sensitivity", "specificity", "auroc_macro", "f1_lmod_plus", "f1_lmod_v1", "precision", "recall", "hr",
)  # fmt: skip
"""Order of the rows; other metrics follow in the order of the scores."""
_LEFT_OUT = ("share_", "retfound_", "chance", "majority", "likelihoods_given")
"""Prefixes of metrics in other tables of the report."""


def every_figure(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return a table per task below its name, with a row per metric and a column per run."""
    parts = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        own = [(name, run) for name, run in zip(names, runs, strict=True) if task in run.tasks()]
        lines = [[metric, *(_cell(run, task, metric) for _, run in own)] for metric in _metrics(task, runs)]
        parts += [f"### {task}", grid(["metric", *(name for name, _ in own)], lines)]
    return "\n\n".join(parts)


def _metrics(task: str, runs: Sequence[Figures]) -> list[str]:
    found = dict.fromkeys(s.metric for run in runs for s in run.scores if s.task == task and s.subset == "all")
    shown = [m for m in found if not m.startswith(_LEFT_OUT)]
    return sorted(shown, key=lambda m: _FIRST.index(m) if m in _FIRST else len(_FIRST))


def _cell(run: Figures, task: str, metric: str) -> str:
    score = run.find(task, metric)
    if score is None or score.value is None:
        return "-"
    between = f" ({interval(score.low, score.high)})" if score.low is not None else ""
    return f"{number(score.value)}{between}, n {score.n}"
