"""Tables of judged replies: a row per judge with its own account, and the agreement of judges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.report.headline import grid, interval, number, percent
from lmod_train.report.judgements import Judged
from lmod_train.report.runs import Figures, Outcomes
from lmod_train.types import Score

NOTE = """Verdicts of a model or of people on whether the replies agree with the reference answers. Accuracy judged:
replies judged right among all records; a reply that is unjudged (the judge's reply states no label) or was not sent (no
reply, refused, cut off, empty) counts as wrong. It is shown once no judgement is pending. Judged only: among the
replies with a verdict. What a model judges is an estimate: compare it with verdicts of people on the same replies."""

AGREED = """Verdicts of two judges on the replies that both have judged, and of each judge and the task's parser for
questions with choices. Kappa: Cohen's. Sensitivity and specificity: of the first judge for replies that the second
judges right or wrong, if the second is a person."""


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
    """The agreement of two judges for one task of one run."""

    task: str
    run: str
    first: str
    second: str
    agreement: Score
    kappa: Score | None
    sensitivity: Score | None
    specificity: Score | None


def judged_rows(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes]) -> list[JudgedRow]:
    """Return a row per task, run and judge, in this order."""
    return [
        _row(task, run, name, judge)
        for task in dict.fromkeys(task for run in runs for task in run.tasks())
        for run, (name, found) in zip(runs, outcomes.items(), strict=True)
        for judge in found.judged
        if task in judge.tasks
    ]


def _row(task: str, run: Figures, name: str, judge: Judged) -> JudgedRow:
    metrics = ("accuracy_judged", "accuracy_judged_answered", "share_unjudged", "share_pending", "share_not_sent")
    scores = [run.find(task, f"{metric}:{judge.judge}") for metric in metrics]
    return JudgedRow(task, name, judge.judge, judge.model, prompt_name(judge), *scores)


def prompt_name(judge: Judged) -> str:
    """Return the wording and version of a judge's prompt; of one of the user's own the start of its SHA-256."""
    if judge.people:
        return "people"
    own = hashlib.sha256(judge.task.prompt.encode()).hexdigest()[:8] if judge.task.prompt else ""
    return f"own {own}" if own else f"{judge.task.wording} {judge.task.version}"


def agreement_rows(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes]) -> list[AgreementRow]:
    """Return a row per task, run and pair of judges, in the order of the scores."""
    return [row for run, name in zip(runs, outcomes, strict=True) for row in _pairs(run, name)]


def _pairs(run: Figures, name: str) -> Iterator[AgreementRow]:
    for score in run.scores:
        metric, colon, judges = score.metric.partition(":")
        if metric == "agreement_judged" and colon:
            first, _, second = judges.partition(":")
            others = [run.find(score.task, f"{m}_judged:{judges}") for m in ("kappa", "sensitivity", "specificity")]
            yield AgreementRow(score.task, name, first, second, score, *others)


def judged_table(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes]) -> str:
    """Return the rows of the judges as Markdown; empty if no run has judgements."""
    lines = [
        [r.task, r.run, r.judge, r.model, r.prompt, *cells(r.accuracy), *cells(r.answered), share(r.unjudged),
         share(r.pending), share(r.not_sent)]
        for r in judged_rows(runs, outcomes)
    ]  # fmt: skip
    heads = [">n", ">accuracy judged", "95 % interval", ">n", ">judged only", "95 % interval", ">unjudged", ">pending"]
    heads += [">not sent"]
    return grid(["task", "run", "judge", "judge's model", "prompt", *heads], lines) if lines else ""


def agreement_table(runs: Sequence[Figures], outcomes: Mapping[str, Outcomes]) -> str:
    """Return the agreement of judges as Markdown; empty if there are no two judges of the same replies."""
    lines = [
        [r.task, r.run, r.first, r.second, *cells(r.agreement), *cells(r.kappa)[1:], value(r.sensitivity),
         value(r.specificity)]
        for r in agreement_rows(runs, outcomes)
    ]  # fmt: skip
    heads = [">n", ">agreement", "95 % interval", ">kappa", "95 % interval", ">sensitivity", ">specificity"]
    return grid(["task", "run", "first", "second", *heads], lines) if lines else ""


def cells(score: Score | None) -> list[str]:
    """Return n, value and interval of a score; dashes if it has no value."""
    return (
        ["-", "-", "-"]
        if score is None or score.value is None
        else [str(score.n), value(score), interval(score.low, score.high)]
    )


def value(score: Score | None) -> str:
    """Return the value of a score; a dash if there is none."""
    return number(score.value if score else None)


def share(score: Score | None) -> str:
    """Return the value of a score in percent; a dash if there is none."""
    return percent(score.value if score else None)
