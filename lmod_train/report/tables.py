"""The tables of a report as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmod_train.artifacts.shortcuts import Shortcut
from lmod_train.report.comparisons import joint, pairs
from lmod_train.report.every_figure import every_figure
from lmod_train.report.headline import format_table, grid, headline_rows, interval, number, percent
from lmod_train.report.judged_tables import AGREED, agreement_table, judged_table
from lmod_train.report.judged_tables import NOTE as JUDGED
from lmod_train.report.modalities import modality_table
from lmod_train.report.origin import NOTE as ORIGIN
from lmod_train.report.origin import not_as_published, origin_of, origin_table, remarks
from lmod_train.report.published import NOTE as PUBLISHED
from lmod_train.report.published import published_table
from lmod_train.report.runs import Figures, Outcomes
from lmod_train.report.shortcuts import NOTE as SHORTCUTS
from lmod_train.report.shortcuts import shortcut_table
from lmod_train.report.ways import NOTE as WAYS
from lmod_train.report.ways import spread_table, spreads
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.items import Item
from lmod_train.types import Score

_MAIN = """The score of each task is its strict one: a reply without a readable answer counts as wrong. Intervals are
bootstrapped over patients. Chance and majority class are computed on the same items. `scores.csv` has all metrics."""
_ACCOUNT = """Number of items by the outcome of the reply. Wrong: parsed answers that are not correct; a dash for tasks
with partly correct answers."""
_LIKELIHOODS = """Computed on the items whose reply has a likelihood for every choice; "given" is their share. With two
choices, the first is the positive class; with more, the mean over classes, each against the rest."""
_RETFOUND = """Metrics as defined in the program behind the published RETFound results, for comparison with these only.
Its accuracy is not the share of correct answers, and all metrics but the two areas leave out the healthy class (of
scales, the first level). Only runs in which every reply has a likelihood for every choice are shown; a dash marks a
metric whose denominator is zero."""
_MACRO = """The mean gives every modality the same weight. A model with one run per modality has a single row for all
its runs. In comparison with the published CNN, note that our classifiers choose among the options of the question,
which is easier than among all classes of a modality. If each box is given exactly one structure, as by a classifier,
precision, recall and F1 of an image are all equal to the share of its boxes named correctly."""
_PAIRS = """Runs are compared on their common items. First only: items that only the first run answers correctly (an
image is correct if every region is). p: exact two-sided McNemar test, items taken as independent. Holm: p adjusted for
all rows of this table. Difference: of mean scores (accuracy, or F1 per image), with an interval over patients. If both
runs ask in several ways, the test takes each question in one of them, and the difference is over all."""

_NINE = {
    "accuracy": "accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision": "precision",
    "g_mean": "G",
    "f1": "F1",
    "mcc": "MCC",
    "auroc": "AUROC",
    "auprc": "AUPRC",
}
"""Metric of `lmod_train.scoring.retfound`, without its prefix -> head of the column."""

_OF_LIKELIHOODS = {
    "accuracy_likeliest": "accuracy of the likeliest",
    "auroc_macro": "AUROC",
    "auprc_macro": "AUPRC",
    "brier": "Brier",
    "ece": "ECE",
}
"""Measures of `lmod_train.scoring.probability` -> head of the column."""


def tables(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes], shortcuts: Sequence[Shortcut] = ()) -> str:
    """Return all tables of the report as Markdown.

    Args:
        runs: The runs.
        outcomes: Label -> outcomes, in the same order.
        shortcuts: Scores of shortcut classifiers.
    """
    names, items = list(outcomes), {name: found.items for name, found in outcomes.items()}
    parts = ["# Scores", *(f"**{remark}**" for remark in remarks(outcomes)), _MAIN, format_table(headline_rows(runs))]
    parts += ["## Provenance of the runs", ORIGIN, origin_table({n: origin_of(o) for n, o in outcomes.items()})]
    judged = judged_table(runs, outcomes)
    if judged:
        parts += ["## Judged replies", JUDGED, judged]
    agreed = agreement_table(runs, outcomes)
    if agreed:
        parts += ["## Agreement of judges", AGREED, agreed]
    if shortcuts:
        parts += ["## Shortcut baselines", SHORTCUTS, shortcut_table(shortcuts)]
    printed = published_table(runs, not_as_published(outcomes))
    if printed:
        parts += ["## Published", PUBLISHED, printed]
    spread = spreads(runs, outcomes)
    if spread:
        parts += ["## Spread over ways of asking", WAYS, spread_table(spread)]
    mean = modality_table(runs, names, items)
    if mean:
        parts += ["## Macro over modalities", _MACRO, mean]
    parts += ["## All metrics", every_figure(runs, names)]
    parts += ["## Outcomes of the replies", _ACCOUNT, account(runs, names)]
    ranked = likelihoods(runs, names)
    if ranked:
        parts += ["## Discrimination and calibration", _LIKELIHOODS, ranked]
    original = retfound(runs, names)
    if original:
        parts += ["## Metrics of the RETFound program", _RETFOUND, original]
    compared = comparison(items)
    if compared:
        parts += ["## Pairwise comparisons", _PAIRS, compared]
    several = joint(items)
    if several:
        lines = [[task, str(k), str(n), f"{q:.2f}", p_value(p)] for task, k, n, q, p in several]
        parts += [
            "Cochran's Q test of the hypothesis that all runs are equally often correct:",
            grid(["task", ">runs", ">n", ">Q", ">p"], lines),
        ]
    parted = subsets(runs, names)
    if parted:
        parts += ["## By subset", "Subsets are shown for keys with more than one value.", parted]
    return "\n\n".join(parts) + "\n"


def account(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return the table of outcomes of the replies, in numbers of items."""
    lines = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        for run, name in zip(runs, names, strict=True):
            counts = {
                s: _count(run, task, f"share_{s}") for s in ("answered", "refused", "unparsed", "truncated", "failed")
            }
            right = _count(run, task, "accuracy_strict")
            answered = counts["answered"]
            if answered is None:
                continue
            wrong = None if right is None else answered - right
            every = sum(c for c in counts.values() if c is not None)
            rest = [counts["refused"], counts["unparsed"], counts["truncated"], counts["failed"]]
            lines.append([task, name, *("-" if c is None else str(c) for c in (every, answered, wrong, *rest))])
    heads = [">n", ">answered", ">wrong", ">refused", ">unparsed", ">truncated", ">failed"]
    return grid(["task", "model", *heads], lines)


def likelihoods(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return areas under curves and calibration per task and run; empty if no run has likelihoods."""
    lines = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        for run, name in zip(runs, names, strict=True):
            given = run.find(task, "likelihoods_given")
            if given is None:
                continue
            found = [run.find(task, metric) for metric in _OF_LIKELIHOODS]
            cells = ["-" if s is None or s.value is None else _with_interval(s) for s in found]
            lines.append([task, name, str(found[-1].n if found[-1] else 0), percent(given.value), *cells])
    heads = ["task", "model", ">n", ">given", *_OF_LIKELIHOODS.values()]
    return grid(heads, lines) if lines else ""


def retfound(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return the metrics of the RETFound program per task and run; empty if no run has them."""
    lines = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        for run, name in zip(runs, names, strict=True):
            found = [run.find(task, f"retfound_{metric}") for metric in _NINE]
            if any(found):
                n = max(score.n for score in found if score)
                lines.append([task, name, str(n), *(number(score.value if score else None) for score in found)])
    heads = [">n", *(f">{head}" for head in _NINE.values())]
    return grid(["task", "model", *heads], lines) if lines else ""


def _with_interval(score: Score) -> str:
    return f"{number(score.value)} ({interval(score.low, score.high)})"


def _count(run: Figures, task: str, metric: str) -> int | None:
    score = run.find(task, metric)
    return None if score is None or score.value is None else round(score.value * score.n)


def comparison(items: Mapping[str, Mapping[str, Sequence[Item]]]) -> str:
    """Return the table of pairwise comparisons; empty for a single run."""
    lines = []
    for pair in pairs(items):
        gap = pair.difference
        mean = "-" if gap.value is None else f"{gap.value:+.3f}"
        between = "none" if gap.low is None or gap.high is None else f"{gap.low:+.3f} to {gap.high:+.3f}"
        only = [str(pair.test.only_first), str(pair.test.only_second)]
        ps = [p_value(pair.test.p), p_value(pair.adjusted)]
        lines.append([pair.task, pair.first, pair.second, str(pair.test.n), *only, *ps, mean, between])
    heads = [
        "task",
        "first",
        "second",
        ">n",
        ">first only",
        ">second only",
        ">p",
        ">Holm",
        ">difference",
        "95 % interval",
    ]
    return grid(heads, lines) if lines else ""


def subsets(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return the headline score of each subset; empty if there are none."""
    lines = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        for run, name in zip(runs, names, strict=True):
            own = [s for s in run.scores if s.task == task and s.subset != "all"]
            for s in own:
                if s.metric == headline_metric(run.scores, task):
                    chance = run.find(task, "chance", s.subset)
                    base = number(chance.value if chance else None)
                    lines.append([task, s.subset, name, str(s.n), number(s.value), interval(s.low, s.high), base])
    return grid(["task", "subset", "model", ">n", ">score", "95 % interval", ">chance"], lines) if lines else ""


def p_value(p: float | None) -> str:
    """Return a p value in the notation of papers.

    Example:
        >>> p_value(0.04), p_value(1e-9), p_value(None)
        ('0.040', '< 0.001', '-')
    """
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
