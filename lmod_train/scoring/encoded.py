"""BERTScores of the replies of a run as they are now, and their means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lmod_train.core.artifacts.bert_scores import BertScore, text_hash
from lmod_train.core.types import Prediction, Score
from lmod_train.scoring.items import items_of
from lmod_train.scoring.text import similarity_scores


def counted(stored: Mapping[str, BertScore], predictions: Iterable[Prediction]) -> tuple[dict[str, BertScore], int]:
    """Return the BERTScores of answers and references that have not changed since, and the number of the others."""
    by_id = {p.record.id: p for p in predictions}
    same = {id: score for id, score in stored.items() if id in by_id and score.text == _hash(by_id[id])}
    return same, len([id for id in stored if id in by_id]) - len(same)


def _hash(prediction: Prediction) -> str:
    return text_hash(str(prediction.answer), prediction.record.answer) if isinstance(prediction.answer, str) else ""


def bert_scores(predictions: Sequence[Prediction], encoded: Mapping[str, BertScore]) -> list[Score]:
    """Return the metrics of BERTScore of each task and language; none without any.

    Args:
        predictions: Of all tasks of a run.
        encoded: Record id -> score, as `counted`.
    """
    places = dict.fromkeys((p.record.task, p.record.language) for p in predictions if p.record.id in encoded)
    return [score for task, language in places for score in _of(task, language, predictions, encoded)]


def _of(task: str, language: str, predictions: Sequence[Prediction], encoded: Mapping[str, BertScore]) -> list[Score]:
    own = [p for p in predictions if (p.record.task, p.record.language) == (task, language)]
    items = items_of(own, lambda p: p.record.answer)
    found = {p.record.id: encoded[p.record.id] for p in own if p.record.id in encoded}
    settings = "; ".join(sorted({score.encoder for score in found.values()}))
    scores = similarity_scores(task, items, {id: score.f1 for id, score in found.items()})
    rescaled = {id: score.rescaled for id, score in found.items() if score.rescaled is not None}
    if len(rescaled) == len(found):
        scores += similarity_scores(task, items, rescaled, "_rescaled")
    return [replace(s, subset=f"language={language}", settings=settings) for s in scores]
