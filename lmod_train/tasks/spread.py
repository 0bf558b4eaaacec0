"""All scores of a task, and their spread over the ways in which its questions were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.items import group_of
from lmod_train.scoring.ways import FACTORS, compared, values_of
from lmod_train.tasks.base import Task
from lmod_train.types import Prediction, Score, status_of


def scores_with_spread(task: Task, predictions: Sequence[Prediction]) -> list[Score]:
    """Return the scores of a task, followed by the spread of its headline metric over each factor that varies.

    The scores are over all records, the questions in each of their ways. The spread is over the questions that have a
    reply in every way (`lmod_train.scoring.ways.compared`), so that all ways are compared on the same ones; a failed
    request is no reply, and says nothing about the way.

    Args:
        task: The task.
        predictions: Its predictions; the last one of an id counts. Without any there are no scores.
    """
    scores = task.score(predictions)
    last = {p.record.id: p for p in predictions}
    return scores + [row for factor in FACTORS if scores for row in _over(factor, task, last, scores)]


def _over(factor: str, task: Task, last: Mapping[str, Prediction], scores: Sequence[Score]) -> Iterator[Score]:
    """Yield the scores of the spread over one factor; none if it does not vary."""
    from lmod_train.scoring.spread import same_answer, spread_scores  # scipy: not for `rescore --help`

    replied = [(id, p.record.tags) for id, p in last.items() if status_of(p.answer) != "failed"]
    questions = compared(replied, factor)
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
