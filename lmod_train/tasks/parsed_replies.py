"""Replies in, predictions and scores out: the one path for every evaluation, with the spread over ways of asking.

Pure: the evaluation callback and `rescore` both read and write the files around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Prediction, Record, Reply, Score
from lmod_train.scoring.completeness import share_failed, share_not_asked
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.scoring.items import group_of, items_of
from lmod_train.scoring.ways import FACTORS, compared, values_of
from lmod_train.tasks.base import Task


@dataclass(frozen=True, slots=True)
class Scored:
    """What a command has read and scored of one task, so that nothing is read or scored twice.

    Attributes:
        predictions: The predictions, in the order of the records.
        scores: Their scores, as `scores_with_spread` gives them.
    """

    predictions: list[Prediction]
    scores: list[Score]


def parse_replies(
    task: Task, records: Iterable[Record], replies: Mapping[str, Reply], known: Iterable[Prediction] = ()
) -> list[Prediction]:
    """Return the predictions of one task: each of its records that has a reply, with the answer parsed from it.

    Args:
        task: Whose parser reads; records of other tasks are passed over.
        records: What was asked. A record id that comes twice (padding of a distributed sampler) counts once.
        replies: Record id -> the reply that counts.
        known: Predictions of this task's parser, which are taken where record and reply are the same.

    Returns:
        One prediction per answered record, in the order of the records (see `Task.prediction`). A record without a
        reply is absent: the run has not come to it yet.

    Raises:
        LmodError: A record or a setting cannot be used, which no reply is to blame for.
    """
    own = {r.id: r for r in records if r.task == task.name}
    before = {p.record.id: p for p in known}
    predictions = []
    for record in own.values():
        reply = replies.get(record.id)
        if reply is None:
            continue
        one = before.get(record.id)
        if one is None or (one.record, one.reply) != (record, reply):
            one = task.prediction(record, reply)
        predictions.append(one)
    return predictions


def scores_of(
    tasks: Iterable[Task],
    predictions: Iterable[Prediction],
    records: Iterable[Record] = (),
    known: Mapping[str, Scored] | None = None,
) -> list[Score]:
    """Return every figure of every task, tasks in the order given; a task without predictions and records gives none.

    Args:
        tasks: The tasks.
        predictions: Their predictions.
        records: What was to be asked; where some of a task's records have no prediction, ``share_not_asked`` follows.
        known: Task -> what is scored already; taken where the predictions are the same.

    Raises:
        BadArgument: There are predictions of a task that was not given; a figure must not go missing in silence.
    """
    by_task: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        by_task.setdefault(prediction.record.task, []).append(prediction)
    to_ask: dict[str, dict[str, Record]] = {}
    for record in records:
        to_ask.setdefault(record.task, {})[record.id] = record
    scores: list[Score] = []
    for task in tasks:
        own, due = by_task.pop(task.name, []), to_ask.get(task.name, {})
        missing = due.keys() - {p.record.id for p in own}
        if not own and due:
            scores += empty_scores(task, list(due.values()))
        before = (known or {}).get(task.name)
        scores += before.scores if before and before.predictions == own else scores_with_spread(task, own)
        scores += [share_not_asked(task.name, len(missing), len(due))] if missing else []
    if by_task:
        raise BadArgument("tasks", sorted(by_task), "each task of the predictions among the tasks", "name it too")
    return scores


# All scores of a task, what failed, and the spread over the ways in which its questions were asked.


def scores_with_spread(
    task: Task, predictions: Sequence[Prediction], known: Sequence[Score] | None = None
) -> list[Score]:
    """Return the scores of a task, the share of failed requests, and the spread over each factor that varies.

    The scores are over all records with a reply, the questions in each of their ways: a failed request says nothing
    about the model. Without any reply, every metric over all records has n = 0 and no value. The spread of the headline
    metric is over the questions that have a reply in every way (`lmod_train.scoring.ways.compared`), so that all ways
    are compared on the same ones.

    Args:
        task: The task.
        predictions: Its predictions; the last one of an id counts. Without any there are no scores.
        known: Its scores of those with a reply and ``share_failed``, where they are computed already.
    """
    last = {p.record.id: p for p in predictions}
    if not last:
        return []
    replied = {id: p for id, p in last.items() if p.status != "failed"}
    failed = share_failed(task.name, len(last) - len(replied), len(last))
    if not replied:
        scores = [*empty_scores(task, [p.record for p in last.values()])[:-1], failed]
    else:
        scores = list(known) if known else [*task.score(list(replied.values())), failed]
    spread = [row for factor in FACTORS if replied for row in _over(factor, task, replied, scores)]
    return [*scores, *spread]


def empty_scores(task: Task, records: Sequence[Record]) -> list[Score]:
    """Return the metrics of records without a reply, with n = 0 and no value; none without records."""
    return [Score(task.name, "all", name, 0, None) for name in task.metric_names(records)] if records else []


def _over(factor: str, task: Task, last: Mapping[str, Prediction], scores: Sequence[Score]) -> Iterator[Score]:
    """Yield the scores of the spread over one factor; none if it does not vary."""
    from lmod_train.scoring.repeats import repeat_scores
    from lmod_train.scoring.spread import same_answer, spread_scores  # scipy: not for `rescore --help`

    questions = compared([(id, p.record.tags) for id, p in last.items()], factor)
    if not questions:
        return
    kept = [last[id] for ids in questions for id in ids]
    own = scores if len(kept) == len(last) else task.score(kept)
    metric = headline_metric(own, task.name)
    by_subset = {s.subset: s for s in own if s.metric == metric}
    ways = [
        by_subset.get(f"{factor}={value}") for value in values_of(((p.record.id, p.record.tags) for p in kept), factor)
    ]
    values = [s.value for s in ways if s is not None and s.value is not None]
    yield from spread_scores(task.name, metric, factor, values, len(questions))
    answers = [[last[id].answer for id in ids] for ids in questions]
    yield from same_answer(task.name, factor, answers, [group_of(last[ids[0]].record) for ids in questions])
    if factor == "repeat":
        by_id = {item.id: item for item in items_of(kept, task.truth)}
        yield from repeat_scores(task.name, [[by_id[id] for id in ids] for ids in questions])
