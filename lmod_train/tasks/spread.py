"""All scores of a task, what failed, and the spread over the ways in which its questions were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lmod_train.core.types import Prediction, Record, Reply, Score, Unparsed
from lmod_train.scoring.account import share_failed
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.items import group_of
from lmod_train.scoring.ways import FACTORS, compared, values_of
from lmod_train.tasks.base import Task


def scores_with_spread(task: Task, predictions: Sequence[Prediction]) -> list[Score]:
    """Return the scores of a task, the share of failed requests, and the spread over each factor that varies.

    The scores are over all records with a reply, the questions in each of their ways: a failed request says nothing
    about the model. Without any reply, every metric over all records has n = 0 and no value. The spread of the headline
    metric is over the questions that have a reply in every way (`lmod_train.scoring.ways.compared`), so that all ways
    are compared on the same ones.

    Args:
        task: The task.
        predictions: Its predictions; the last one of an id counts. Without any there are no scores.
    """
    last = {p.record.id: p for p in predictions}
    if not last:
        return []
    replied = {id: p for id, p in last.items() if p.status != "failed"}
    scores = task.score(list(replied.values())) if replied else empty_scores(task, [p.record for p in last.values()])
    spread = [row for factor in FACTORS if replied for row in _over(factor, task, replied, scores)]
    return [*scores, share_failed(task.name, len(last) - len(replied), len(last)), *spread]


def empty_scores(task: Task, records: Sequence[Record]) -> list[Score]:
    """Return the metrics of records without a reply, with n = 0 and no value; none without records.

    ``share_failed`` is not among them, as it is known.
    """
    unread = [Prediction(record, Reply(record.id, ""), Unparsed("empty")) for record in records]
    names = dict.fromkeys(s.metric for s in task.score(unread) if s.subset == "all") if unread else ()
    return [Score(task.name, "all", name, 0, None) for name in names]


def _over(factor: str, task: Task, last: Mapping[str, Prediction], scores: Sequence[Score]) -> Iterator[Score]:
    """Yield the scores of the spread over one factor; none if it does not vary."""
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
