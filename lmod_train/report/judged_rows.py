"""Scores of judges with their own account, and the agreement of judges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.types import Score
from lmod_train.report.judgements import Judged
from lmod_train.report.results import Outcomes
from lmod_train.tasks.run_scores import RunScores


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """The scores of one judge for one task of one run; a score is None if ``scores.csv`` does not contain it."""

    task: str
    run: str
    judge: str
    model: str
    prompt: str
    accuracy: Score | None
    answered: Score | None
    unjudged: Score | None
    pending: Score | None
    not_sent: Score | None


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """The agreement of two judges, or of a judge and a rule, for a task of a run or its questions in one language."""

    task: str
    run: str
    subset: str
    first: str
    second: str
    agreement: Score
    kappa: Score | None
    sensitivity: Score | None
    specificity: Score | None


def judged_rows(runs: Sequence[RunScores], outcomes: Mapping[str, Outcomes]) -> list[JudgedRow]:
    """Return a row per task, run and judge, in this order."""
    return [
        _row(task, run, name, judge)
        for task in dict.fromkeys(task for run in runs for task in run.tasks())
        for run, (name, found) in zip(runs, outcomes.items(), strict=True)
        for judge in found.judged
        if isinstance(judge, Judged) and task in judge.tasks
    ]


def _row(task: str, run: RunScores, name: str, judge: Judged) -> JudgedRow:
    metrics = ("accuracy_judged", "accuracy_judged_answered", "share_unjudged", "share_pending", "share_not_sent")
    scores = [run.find(task, f"{metric}:{judge.judge}") for metric in metrics]
    return JudgedRow(task, name, judge.judge, judge.model, prompt_name(judge), *scores)


def prompt_name(judge: Judged) -> str:
    """Return the wording and version of a judge's prompt; of one of the user's own the start of its SHA-256."""
    if judge.people:
        return "people"
    own = hashlib.sha256(judge.task.prompt.encode()).hexdigest()[:8] if judge.task.prompt else ""
    return f"own {own}" if own else f"{judge.task.wording} {judge.task.version}"


def agreement_rows(runs: Sequence[RunScores], outcomes: Mapping[str, Outcomes]) -> list[AgreementRow]:
    """Return a row per task, run and pair of judges, in the order of the scores."""
    return [row for run, name in zip(runs, outcomes, strict=True) for row in _pairs(run, name)]


def _pairs(run: RunScores, name: str) -> Iterator[AgreementRow]:
    for score in run.scores:
        metric, colon, judges = score.metric.partition(":")
        if metric == "agreement_judged" and colon:
            first, _, second = judges.partition(":")
            metrics = [f"{metric}_judged:{judges}" for metric in ("kappa", "sensitivity", "specificity")]
            others = [run.find(score.task, metric, score.subset) for metric in metrics]
            yield AgreementRow(score.task, name, score.subset, first, second, score, *others)
