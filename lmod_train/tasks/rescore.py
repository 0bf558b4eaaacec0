"""Parse and score the saved replies of a run again, without a model."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lmod_train.core.artifacts.bert_scores import read_bert_scores
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import read_records, read_run_column, read_run_records, write_run_records
from lmod_train.core.artifacts.replies import models_of, read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.errors import ArtifactError, BadArgument, ExtensionMissing
from lmod_train.core.lock import locked
from lmod_train.core.types import Prediction, Record, Score
from lmod_train.scoring.completeness import Account
from lmod_train.scoring.items import items_of
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.asked import Current
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_here
from lmod_train.tasks.cascade import current_in_rounds
from lmod_train.tasks.parsed_replies import Scored, parse_replies, scores_of
from lmod_train.tasks.trust import Trust
from lmod_train.tasks.verdicts import other_replies


def rescore(
    folder: Path,
    trust: Sequence[str] = (),
    tasks: Sequence[Task] | None = None,
    known: Mapping[str, Scored] | None = None,
) -> list[str]:
    """Rewrite ``predictions.parquet`` and ``scores.csv`` of a run from its saved replies, and what others say of them.

    Records without a reply, and failed requests, are left out and counted. If replies of several checkpoint steps were
    saved, the latest reply of each record counts. Judgements of a reply that has changed do not count.

    Args:
        folder: Folder of the run, containing ``records.parquet`` and ``replies/``.
        trust: Modules outside this package with task classes that the run names, which may be imported.
        tasks: Tasks that parse and score; None uses those named by the run. Records of other tasks are left out.
        known: Task -> what the same command has read and scored; taken for the replies that are the same.

    Returns:
        Lines to print: number of records with a reply, replies left out, and files written.

    Raises:
        ArtifactError: There are no replies, or none to the run's records.
        FolderBusy: Another process is writing to the folder.
    """
    run = Run(folder)
    if not run.replies.is_dir():
        raise ArtifactError(run.replies, "no saved replies in this folder", _ask_first(folder))
    with locked(folder, "run"):
        return list(_rescored(run, tuple(trust), tasks, known or {}))


def _rescored(
    run: Run, trust: tuple[str, ...], given: Sequence[Task] | None, known: Mapping[str, Scored]
) -> Iterator[str]:
    from lmod_train.scoring.encoded import bert_scores, counted  # scipy: not for `--help`

    records, tasks, lost = read_run_records(run.records), list(given or ()), dict[str, str]()
    if not given:
        tasks, lost = tasks_here(records, task_arguments(run.read_config()), Trust(trust, run.folder))
    if lost and not tasks:
        raise ExtensionMissing("; ".join(lost.values()))
    asked, replies = read_run_column(run.records, "asked"), read_replies(run.replies).values()
    saved = current_in_rounds(records, {task.name: task for task in tasks}, asked, replies)
    before = {name: scored.predictions for name, scored in known.items()}
    predictions = [p for t in tasks for p in parse_replies(t, records, saved.replies, before.get(t.name, ()))]
    if not predictions:
        others = f" ({saved.stale} saved replies are outdated)" if saved.stale else ""
        cure = _ask_first(run.folder)
        raise ArtifactError(run.replies, f"no reply to any of the {len(records)} records{others}", cure)
    found = other_replies(run, predictions)
    encoded, changed = counted(read_bert_scores(run.bert_scores), predictions)
    scores = [*scores_of(tasks, predictions, records, known), *bert_scores(predictions, encoded)]
    scores += [score for other in found for score in other.scores(tasks)]
    write_predictions(run.predictions, predictions)
    write_scores(run.scores, run.name, ", ".join(models_of(p.reply for p in predictions)), scores)
    account = _account([r for r in records if r.task in {task.name for task in tasks}], predictions)
    yield f"{run.folder}: {account}"
    yield from (f"left out: {sentence}" for sentence in lost.values())
    if not account.complete:
        missing = " and ".join(_missing(account, predictions))
        yield f"incomplete: {missing}; the command that asked them asks these again"
    yield from _left_out(saved)
    yield from _versions(tasks, records)
    yield from _steps(predictions)
    yield from _spread(scores)
    yield from _unread(tasks, predictions)
    for other in found:
        yield from other.lines()
    if changed:
        yield f"left out: BERTScores of {changed} answers that have changed; `validate` computes them again"
    yield f"wrote {run.predictions} and {run.scores}"


def replace_facts(folder: Path, curated: Path) -> str:
    """Take the facts of a run's records from a curated folder, by question and images; return a line to print.

    What was asked stays as it is. Records that the folder lacks, or shows another image for, keep their facts.

    Raises:
        ArtifactError: The run or the folder cannot be read.
        BadArgument: The folder has none of the run's questions about the same images.
    """
    run = Run(folder)
    with locked(folder, "run"):
        records, asked = read_run_records(run.records), read_run_column(run.records, "asked")
        there = {(r.id, r.image_sha256): r.facts for r in read_records(curated / "records")}
        found = {r.id: there.get((question_of(r.id, r.tags), r.image_sha256)) for r in records}
        known = {id: facts for id, facts in found.items() if facts is not None}
        if not known:
            cure = "name the one that was asked, curated again: `python -m lmod_train curate --raw RAW --out CURATED`"
            raise BadArgument("--facts", str(curated), f"questions of {folder} about the same images", cure)
        write_run_records(run.records, (replace(r, facts=known.get(r.id, r.facts)) for r in records), asked)
    measured, left = sum(map(bool, known.values())), len(records) - len(known)
    lacking = f"; {left} are not in it, or show another image, and keep theirs" if left else ""
    return f"{folder}: facts of {measured} of {len(records)} records from {curated}{lacking}"


def _account(records: Sequence[Record], predictions: Sequence[Prediction]) -> Account:
    failed = sum(p.status == "failed" for p in predictions)
    return Account(len(predictions) - failed, failed, len({r.id for r in records}) - len(predictions))


def _missing(account: Account, predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield what is missing, with the most frequent error; scores are over the records with a reply."""
    if account.failed:
        errors = Counter(" ".join(p.reply.error.split()) for p in predictions if p.status == "failed")
        (error, n), *others = errors.most_common()
        more = f", {len(others)} other errors" if others else ""
        yield f"{account.failed} requests failed ({n} with {error!r}{more})"
    if account.not_asked:
        yield f"{account.not_asked} records were not asked"


def account_of(folder: Path, tasks: Mapping[str, Task], ids: Collection[str] | None = None) -> Account:
    """Return what became of the records of a run that has no scores, such as one of `predict`, or of some of them.

    Args:
        folder: Folder of the run.
        tasks: Name -> task.
        ids: Record ids; None for all.
    """
    run = Run(folder)
    records = read_run_records(run.records)
    asked, replies = read_run_column(run.records, "asked"), read_replies(run.replies).values()
    kept = current_in_rounds(records, tasks, asked, replies).replies
    own = [r for r in records if ids is None or r.id in ids]
    return _account(own, [p for task in tasks.values() for p in parse_replies(task, own, kept)])


def _left_out(saved: Current) -> Iterator[str]:
    if saved.stale:
        others = "other prompts, earlier answers, images, choices, weights or settings"
        yield f"left out: {saved.stale} outdated replies, to {others}"


def _versions(tasks: Sequence[Task], records: Sequence[Record]) -> Iterator[str]:
    for task in tasks:
        older = sorted({r.task_version for r in records if r.task == task.name} - {task.version})
        if older:
            yield f"{task.name}: asked with version {', '.join(map(str, older))}, parsed and scored with {task.version}"


def _steps(predictions: Sequence[Prediction]) -> Iterator[str]:
    steps = sorted({p.reply.step for p in predictions})
    if len(steps) > 1:
        yield f"the replies come from several checkpoint steps: {', '.join(map(str, steps))}"


def _unread(tasks: Sequence[Task], predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield a line for each task in which one answer is read and another mostly is not."""
    from lmod_train.scoring.warnings import TaskOfRun, one_answer_unread

    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name and p.record.choices and not p.record.regions]
        if found := one_answer_unread(TaskOfRun(items_of(own, task.truth))):
            yield f"warning: {task.name}: {found}"


def _spread(scores: Sequence[Score]) -> Iterator[str]:
    """Yield a line for each task and factor in which questions were asked in several ways."""
    values = {(s.task, s.metric): s.value for s in scores if s.subset == "all"}
    for task, metric in values:
        headline, _, factor = metric.removesuffix("_min").partition("_over_")
        if metric == f"{headline}_over_{factor}_min":
            low, high, sd = (values[task, f"{headline}_over_{factor}_{end}"] for end in ("min", "max", "sd"))
            same = values[task, f"same_answer_over_{factor}"]
            if low is not None and high is not None and sd is not None and same is not None:
                spread = f"{low:.3f} to {high:.3f} over {factor}, sd {sd:.3f}"
                voted = _voted(task, values) if factor == "repeat" else ""
                yield f"{task}: {headline} {spread}; same answer {100 * same:.1f} %{voted}"


def _voted(task: str, values: Mapping[tuple[str, str], float | None]) -> str:
    """Return the accuracy of the vote over repeats with the share of ties, and pass@k of all repeats."""
    vote, tied = (values.get((task, name)) for name in ("accuracy_vote_over_repeat", "share_tied_over_repeat"))
    passed = [int(name.removeprefix("pass_at_")) for own, name in values if own == task and name.startswith("pass_at_")]
    if vote is None or tied is None or not passed:
        return ""
    k = max(passed)
    return f"; vote {vote:.3f} ({100 * tied:.1f} % tied), pass@{k} {values[task, f'pass_at_{k}']:.3f}"


def _ask_first(run: Path) -> str:
    taken = run.is_dir() and any(run.iterdir()) and not Run(run).has_begun()
    place = "RUN" if taken else shlex.quote(str(run))
    return f"name the folder of a run, or ask first: `python -m lmod_train validate --config CONFIG --run {place}`"
