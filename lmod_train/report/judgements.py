"""Judgements of a run's replies: the verdicts of each judge on the replies as they are now, and their metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.records import read_run_column, read_run_records
from lmod_train.core.artifacts.replies import models_of, read_replies
from lmod_train.core.artifacts.run import CONTAINMENT, EXACT, PARSER, PEOPLE, Run
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Record, Reply, Score, Unparsed, status_of
from lmod_train.scoring.agreement import Rater, agreement_scores
from lmod_train.scoring.items import Item, items_of
from lmod_train.scoring.judged import judged_scores
from lmod_train.scoring.status import PENDING
from lmod_train.scoring.text import contains, words_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.current import current
from lmod_train.tasks.judgement import JUDGED_TASK, Judgement, judged_id
from lmod_train.tasks.reading import parse_replies


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
        itself: Whether the judge is the model whose replies it judges.
        sampled: Whether it judges a sample of the wrong replies only (`judge --wrong`).
    """

    judge: str
    task: Judgement
    model: str
    tasks: tuple[str, ...]
    verdicts: Mapping[str, Answer | Unparsed]
    stale: int
    people: bool
    itself: bool = False
    sampled: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The verdicts that it may give."""
        return self.task.choices

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
    return [_judged(run, judge, predictions) for judge in begun]


def _judged(run: Run, judge: Run, predictions: Sequence[Prediction]) -> Judged:
    stored, config = read_run_records(judge.records), judge.read_config()
    task = judgement_of(tasks_asked(stored, task_arguments(config)), judge.folder)
    tasks = tuple(dict.fromkeys(record.tags.get(JUDGED_TASK, "") for record in stored))
    due = task.records(p for p in predictions if p.record.task in tasks)
    kept = current(read_run_column(judge.records, "asked"), read_replies(judge.replies).values()).replies
    found, stale = verdicts_on(task, due, stored, kept)
    verdicts = {judged_id(id): verdict for id, verdict in found.items()}
    models = ", ".join(name for name in models_of(kept.values()) if name)
    people, itself = bool(config.get(PEOPLE)), judges_itself(run, judge)
    sampled = bool((config.get("data") or {}).get("wrong"))
    return Judged(judge.folder.name, task, models, tasks, verdicts, stale, people, itself, sampled)


def judges_itself(run: Run, judge: Run) -> bool:
    """Return whether judge and run have weights, or the name of a model of an endpoint, in common."""
    ours, theirs = (_weights(one.read_config()) for one in (run, judge))
    return bool(ours & theirs)


def _weights(config: Mapping[str, Any]) -> set[str]:
    """Return SHA-256 of the weights in a configuration; of endpoints, ``<URL> <model>``, the model at any URL."""
    known = (config.get("provenance") or {}).get("weights") or {}
    return {str(value).rpartition(" ")[2] for value in known.values()}


def judgement_of(tasks: Sequence[Task], folder: Path, kind: type[Judgement] = Judgement) -> Judgement:
    """Return the task of a judge's records.

    Raises:
        BadArgument: They are not judgements, or not of this kind.
    """
    if len(tasks) != 1 or not isinstance(tasks[0], kind):
        found = [task.name for task in tasks]
        raise BadArgument(str(folder), found, "the folder of a judge", "move this folder out of `judgements`")
    return tasks[0]


def verdicts_on(
    task: Judgement, due: Sequence[Record], stored: Sequence[Record], replies: Mapping[str, Reply]
) -> tuple[dict[str, Answer | Unparsed], int]:
    """Return the id of each record that is due -> verdict or `PENDING`, and the number of stale replies.

    Args:
        task: The task of the judge.
        due: What the judge would be sent today.
        stored: What it was sent.
        replies: Record id -> the judge's reply.
    """
    now = {record.id: record for record in due}
    same = {r.id for r in stored if r.id in now and (now[r.id].messages, now[r.id].choices) == (r.messages, r.choices)}
    valid = {id: reply for id, reply in replies.items() if id in same}
    found = {p.record.id: p.answer for p in parse_replies(task, due, valid)}
    return {id: found.get(id, PENDING) for id in now}, len(replies) - len(valid)


def scores_of_judges(judges: Sequence[Judged], predictions: Sequence[Prediction], tasks: Sequence[Task]) -> list[Score]:
    """Return the metrics of every judge, and the agreement of every two judges, and of each with rules.

    A judge of wrong replies only has none: the share of right ones among them says nothing about the run.

    Args:
        judges: The judges of a run.
        predictions: Its predictions.
        tasks: Its tasks.
    """
    scores: list[Score] = []
    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name]
        items = items_of(own, lambda p: p.record.answer)
        having = [judge for judge in judges if task.name in judge.tasks and not judge.sampled]
        for judge in having:
            scores += judged_scores(task.name, judge.judge, items, judge.verdicts, judge.task.choices, judge.task.right)
        for first, second in combinations(sorted(having, key=lambda judge: judge.people), 2):
            pair = (first.judge, first.right()), (second.judge, second.right())
            scores += agreement_scores(task.name, items, *pair, reference=second.people)
        rules = rule_verdicts(task, own) if having else {}
        for judge, name in product(having, rules):
            ordered = _with_rule((judge.judge, judge.right()), (name, rules[name]), judge.people)
            scores += agreement_scores(task.name, items, *ordered, reference=name != PARSER)
    return scores


def _with_rule(judge: Rater, rule: Rater, people: bool) -> tuple[Rater, Rater]:
    """Return a judge and a rule, the reference last: people are that of a rule, and a rule that of a model."""
    return (rule, judge) if people and rule[0] != PARSER else (judge, rule)


def judge_lines(judges: Sequence[Judged]) -> Iterator[str]:
    """Yield a line per judge: number of verdicts, of unjudged and pending replies, and of stale judgements.

    A second line warns of a judge that judges its own replies.
    """
    for judge in judges:
        statuses = Counter(status_of(verdict) for verdict in judge.verdicts.values() if verdict != PENDING)
        failed, verdicts = statuses.pop("failed", 0), statuses.pop("answered", 0)
        pending = "not in the sample" if judge.sampled else "pending"
        counted = {"unjudged": statuses.total(), "failed": failed, pending: judge.pending, "stale": judge.stale}
        left = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n)
        more = failed or (judge.pending and not judge.sampled)
        again = "; the same `judge` command judges the rest" if more and not judge.people else ""
        line = f"judged by {judge.judge}: {verdicts} of {len(judge.verdicts)} replies of {', '.join(judge.tasks)}"
        yield f"{line}{f' ({left}{again})' if left else ''}"
        if judge.itself:
            yield f"warning: {judge.judge} judges its own replies; models tend to prefer these"


def _equal(reply: str, reference: str) -> bool:
    return words_of(reply) == words_of(reference)


WORD_RULES: Mapping[str, Callable[[str, str], bool]] = {EXACT: _equal, CONTAINMENT: contains}
"""Name of a rule on open answers -> whether a reply is right by it, given the reference answer."""


def rule_verdicts(task: Task, predictions: Sequence[Prediction]) -> dict[str, dict[str, bool]]:
    """Return rule -> record id -> whether the answer is right by it; rules without an answer to read are left out.

    `PARSER` compares answers to questions with choices or regions with the truth, `EXACT` and `CONTAINMENT` the words
    of open answers with those of the reference answer. Replies without an answer have no verdict.

    Args:
        task: The task.
        predictions: Its predictions.
    """
    closed = [p for p in predictions if p.record.choices or p.record.regions]
    open_ended = [p for p in predictions if not (p.record.choices or p.record.regions)]
    scored: list[Item] = [task.as_scored(item) for item in _answered(task, closed)]
    found = {PARSER: {item.id: item.answer == item.truth for item in scored if item.status == "answered"}}
    texts = [(i.id, i.answer, str(i.truth)) for i in _answered(task, open_ended)]
    for name, rule in WORD_RULES.items():
        found[name] = {id: rule(answer, truth) for id, answer, truth in texts if isinstance(answer, str)}
    return {name: verdicts for name, verdicts in found.items() if verdicts}


def _answered(task: Task, predictions: Sequence[Prediction]) -> list[Item]:
    items = items_of(predictions, task.truth)
    return [item for item in items if item.status == "answered"]
