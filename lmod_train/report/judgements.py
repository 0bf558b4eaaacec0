"""Judgements of a run's replies: the verdicts of each judge on the replies as they are now, and their metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from lmod_train.artifacts.records import read_run_column, read_run_records
from lmod_train.artifacts.replies import read_replies
from lmod_train.artifacts.run import PARSER, PEOPLE, Run
from lmod_train.errors import BadArgument
from lmod_train.scoring.agreement import agreement_scores
from lmod_train.scoring.items import Item, items_of
from lmod_train.scoring.judged import PENDING, judged_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.current import current
from lmod_train.tasks.judgement import JUDGED_TASK, Judgement, judged_id
from lmod_train.tasks.reading import parse_replies
from lmod_train.types import Answer, Prediction, Record, Reply, Score, Unparsed, status_of


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge has found about the replies of a run.

    Attributes:
        judge: Name of the judge, that of its folder.
        task: The task that asked it, with its labels and prompt.
        model: Name of the model, or of the person.
        tasks: The judged tasks.
        verdicts: Id of each record whose reply is to be judged -> label, or why it is unjudged.
        stale: Number of judgements of an earlier reply, reference answer or prompt, which do not count.
        people: Whether people gave the verdicts.
    """

    judge: str
    task: Judgement
    model: str
    tasks: tuple[str, ...]
    verdicts: Mapping[str, Answer | Unparsed]
    stale: int
    people: bool

    @property
    def pending(self) -> int:
        """Number of replies without a judgement of their present text."""
        return sum(verdict == PENDING for verdict in self.verdicts.values())

    def right(self) -> dict[str, bool]:
        """Return record id -> whether the reply is right, where there is a verdict."""
        return {id: verdict in self.task.right for id, verdict in self.verdicts.items() if isinstance(verdict, str)}


def read_judged(run: Run, predictions: Sequence[Prediction]) -> list[Judged]:
    """Return the verdicts of every judge of a run, in the order of their names; none without judgements.

    A judgement counts if the judge would be sent the same words today: it is of the same question, reference answer,
    reply and prompt. Others are stale.

    Args:
        run: The run.
        predictions: Its predictions as they are now.

    Raises:
        ArtifactError: A file of a judge is damaged.
        BadArgument: A folder in ``judgements`` was not written by `judge`.
    """
    folders = sorted(run.judgements.iterdir()) if run.judgements.is_dir() else []
    begun = [Run(folder) for folder in folders if (folder / "records.parquet").exists()]
    return [_judged(judge, predictions) for judge in begun]


def _judged(judge: Run, predictions: Sequence[Prediction]) -> Judged:
    stored, config = read_run_records(judge.records), judge.read_config()
    task = judgement_of(tasks_asked(stored, task_arguments(config)), judge.folder)
    tasks = tuple(dict.fromkeys(record.tags.get(JUDGED_TASK, "") for record in stored))
    due = {record.id: record for record in task.records(p for p in predictions if p.record.task in tasks)}
    kept = current(read_run_column(judge.records, "asked"), read_replies(judge.replies).values()).replies
    valid, stale = _divided(stored, due, kept)
    found = {p.record.id: p.answer for p in parse_replies(task, due.values(), valid)}
    verdicts = {judged_id(id): found.get(id, PENDING) for id in due}
    models = ", ".join(sorted({reply.model for reply in kept.values()} - {""}))
    return Judged(judge.folder.name, task, models, tasks, verdicts, stale, bool(config.get(PEOPLE)))


def judgement_of(tasks: Sequence[Task], folder: Path) -> Judgement:
    """Return the task of a judge's records.

    Raises:
        BadArgument: They are not judgements.
    """
    if len(tasks) != 1 or not isinstance(tasks[0], Judgement):
        found = [task.name for task in tasks]
        raise BadArgument(str(folder), found, "the folder of a judge", "move this folder out of `judgements`")
    return tasks[0]


def _divided(
    stored: Sequence[Record], due: Mapping[str, Record], replies: Mapping[str, Reply]
) -> tuple[dict[str, Reply], int]:
    """Return the judge's replies to the words it would be sent today, and the number of the others."""
    same = {r.id for r in stored if r.id in due and (due[r.id].messages, due[r.id].choices) == (r.messages, r.choices)}
    valid = {id: reply for id, reply in replies.items() if id in same}
    return valid, len(replies) - len(valid)


def scores_of_judges(judges: Sequence[Judged], predictions: Sequence[Prediction], tasks: Sequence[Task]) -> list[Score]:
    """Return the metrics of every judge, and the agreement of every two judges and of each with the parser.

    Args:
        judges: The judges of a run.
        predictions: Its predictions.
        tasks: Its tasks.
    """
    scores: list[Score] = []
    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name]
        items = items_of(own, lambda p: p.record.answer)
        having = [judge for judge in judges if task.name in judge.tasks]
        for judge in having:
            scores += judged_scores(task.name, judge.judge, items, judge.verdicts, judge.task.choices, judge.task.right)
        for first, second in combinations(sorted(having, key=lambda judge: judge.people), 2):
            pair = (first.judge, first.right()), (second.judge, second.right())
            scores += agreement_scores(task.name, items, *pair, reference=second.people)
        rule = _by_parser(task, own) if having else {}
        for judge in having:
            scores += agreement_scores(task.name, items, (judge.judge, judge.right()), (PARSER, rule))
    return scores


def _by_parser(task: Task, predictions: Sequence[Prediction]) -> dict[str, bool]:
    """Return record id -> whether the parsed answer is the true one; only for questions with choices."""
    closed = [p for p in predictions if p.record.choices or p.record.regions]
    items = items_of(closed, lambda p: task.parse(Reply(p.record.id, p.record.answer), p.record))
    scored: list[Item] = [task.as_scored(item) for item in items]
    return {item.id: item.answer == item.truth for item in scored if item.status == "answered"}


def judge_lines(judges: Sequence[Judged]) -> Iterator[str]:
    """Yield a line per judge: number of verdicts, of unjudged and pending replies, and of stale judgements."""
    for judge in judges:
        statuses = Counter(status_of(verdict) for verdict in judge.verdicts.values() if verdict != PENDING)
        failed, verdicts = statuses.pop("failed", 0), statuses.pop("answered", 0)
        counted = {"unjudged": statuses.total(), "failed": failed, "pending": judge.pending, "stale": judge.stale}
        left = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n)
        again = "; the same `judge` command judges the rest" if (failed or judge.pending) and not judge.people else ""
        line = f"judged by {judge.judge}: {verdicts} of {len(judge.verdicts)} replies of {', '.join(judge.tasks)}"
        yield f"{line}{f' ({left}{again})' if left else ''}"
