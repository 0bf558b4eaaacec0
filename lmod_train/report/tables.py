"""The tables of a report as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmod_train.artifacts.shortcuts import Shortcut
from lmod_train.report.comparisons import joint, pairs
from lmod_train.report.every_figure import every_figure
from lmod_train.report.headline import format_table, grid, headline_metric, headline_rows, interval, number, percent
from lmod_train.report.modalities import modality_table
from lmod_train.report.origin import SAID as ORIGIN
from lmod_train.report.origin import origin_of, origin_table, phantom_tasks, remarks
from lmod_train.report.published import SAID, published_table
from lmod_train.report.runs import Figures, Outcomes
from lmod_train.report.shortcuts import SAID as SHORTCUTS
from lmod_train.report.shortcuts import shortcut_table
from lmod_train.scoring.items import Item
from lmod_train.types import Score

_MAIN = """The figure of each task is its strict one: whatever is not an answer counts as wrong. Intervals draw whole
patients. Chance and majority class are those of the very items asked. `scores.csv` has every figure."""
_ACCOUNT = """Items by how the reply ended. Wrong are the answers that were read and are not right; a dash where a task
has degrees of right."""
_LIKELIHOODS = """Over the items whose reply carries a likelihood of every choice; their share of all is given. Of two
choices the first is the positive class; otherwise it is each class against the rest, averaged."""
_RETFOUND = """What the program behind the published RETFound figures measures, to be read beside those alone: the
headline above is ours. Its accuracy is no share of right answers; all but the two areas leave out the healthy class, on
scales the first level. Runs are shown whose every reply carries a likelihood of every choice; a dash where a class
leaves nothing to divide by."""
_MACRO = """Each modality counts alike in the mean; a model of which each run is about one modality takes a row for all
its runs. Beside the published CNN: our classifiers answer among the record's own options; to choose among all classes
of a modality, where sources have different ones, is harder. Where each box gets one word, as from a classifier,
precision, recall and F1 of an image are all the share of its boxes named rightly."""
_PAIRS = """Runs on the items that both have. First only: items that only the first has right (an image is right when
every region is). p: exact McNemar, two-sided, items taken as independent; Holm: over all rows of this table.
Difference: of the mean score (accuracy, or F1 per image), with an interval that draws whole patients."""

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
"""The measures of `lmod_train.scoring.retfound`, without what their names begin with -> head of the column."""

_OF_LIKELIHOODS = {
    "accuracy_likeliest": "accuracy of the likeliest",
    "auroc_macro": "AUROC",
    "auprc_macro": "AUPRC",
    "brier": "Brier",
    "ece": "ECE",
}
"""Measures of `lmod_train.scoring.probability` -> head of the column."""


def tables(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes], shortcuts: Sequence[Shortcut] = ()) -> str:
    """Return every table of the report.

    Args:
        runs: The runs.
        outcomes: Label -> outcomes, in the same order.
        shortcuts: What was reached without looking at the eye.
    """
    names, items = list(outcomes), {name: found.items for name, found in outcomes.items()}
    parts = ["# Scores", *(f"**{said}**" for said in remarks(outcomes)), _MAIN, format_table(headline_rows(runs))]
    parts += ["## Where the rows come from", ORIGIN, origin_table({n: origin_of(o) for n, o in outcomes.items()})]
    if shortcuts:
        parts += ["## What answers without reading the eye", SHORTCUTS, shortcut_table(shortcuts)]
    printed = published_table(runs, phantom_tasks(outcomes))
    if printed:
        parts += ["## Published", SAID, printed]
    mean = modality_table(runs, names, items)
    if mean:
        parts += ["## Macro over modalities", _MACRO, mean]
    parts += ["## Every figure", every_figure(runs, names)]
    parts += ["## How the replies ended", _ACCOUNT, account(runs, names)]
    ranked = likelihoods(runs, names)
    if ranked:
        parts += ["## What the likelihoods are worth", _LIKELIHOODS, ranked]
    original = retfound(runs, names)
    if original:
        parts += ["## As the RETFound program measures", _RETFOUND, original]
    compared = comparison(items)
    if compared:
        parts += ["## Runs compared", _PAIRS, compared]
    several = joint(items)
    if several:
        lines = [[task, str(k), str(n), f"{q:.2f}", p_value(p)] for task, k, n, q, p in several]
        parts += ["Do the runs differ at all (Cochran's Q)?", grid(["task", ">runs", ">n", ">Q", ">p"], lines)]
    parted = subsets(runs, names)
    if parted:
        parts += ["## By subset", "A subset is shown where more than one value of its key occurs.", parted]
    return "\n\n".join(parts) + "\n"


def account(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return the table of how replies ended, in items."""
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
    heads = [">n", ">answered", ">of them wrong", ">refused", ">unparsed", ">truncated", ">failed"]
    return grid(["task", "model", *heads], lines)


def likelihoods(runs: Sequence[Figures], names: Sequence[str]) -> str:
    """Return the areas and the calibration of each task and run that has them; empty where none has."""
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
    """Return the RETFound program's own measures of each task and run that has them; empty where none has."""
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
    """Return the table of paired comparisons; empty with a single run."""
    lines = []
    for pair in pairs(items):
        gap = pair.difference
        said = "-" if gap.value is None else f"{gap.value:+.3f}"
        between = "none" if gap.low is None or gap.high is None else f"{gap.low:+.3f} to {gap.high:+.3f}"
        only = [str(pair.test.only_first), str(pair.test.only_second)]
        ps = [p_value(pair.test.p), p_value(pair.adjusted)]
        lines.append([pair.task, pair.first, pair.second, str(pair.test.n), *only, *ps, said, between])
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
    """Return the headline of each subset; empty where there is none."""
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
    """Return a p value as papers print it.

    Example:
        >>> p_value(0.04), p_value(1e-9), p_value(None)
        ('0.040', '< 0.001', '-')
    """
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
