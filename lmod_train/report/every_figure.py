"""Every figure of a task over all its items, run by run: the headline is one of them."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.report.headline import grid, interval, number
from lmod_train.report.runs import Figures

_FIRST = (
    "accuracy_strict", "accuracy_answered", "accuracy_chance_filled", "balanced_accuracy", "kappa", "macro_f1",
    "sensitivity", "specificity", "auroc_macro", "f1_lmod_plus", "f1_lmod_v1", "precision", "recall", "hr",
)  # fmt: skip
"""Figures in the order of their rows; the others follow as the scores have them."""
_LEFT_OUT = ("share_", "retfound_", "chance", "majority", "likelihoods_given")
"""What other tables of the report hold."""


def every_figure(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return one table a task under its name: a row a figure, a column a run, each with n and interval."""
    parts = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        own = [(name, run) for name, run in zip(names, runs, strict=True) if task in run.tasks()]
        lines = [[metric, *(_cell(run, task, metric) for _, run in own)] for metric in _metrics(task, runs)]
        parts += [f"### {task}", grid(["figure", *(name for name, _ in own)], lines)]
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
