"""BERTScores of the open answers of a run, computed once and stored in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lmod_train.core.artifacts.bert_scores import BertScore, read_bert_scores, text_hash, write_bert_scores
from lmod_train.core.types import Prediction
from lmod_train.scoring.metrics.bert_score import Encoder

if TYPE_CHECKING:
    import torch


def encoders_named(option: str, encoders: Mapping[str, str] | None) -> dict[str, Encoder]:
    """Return language -> encoder.

    Args:
        option: Option that names them, for errors.
        encoders: Language -> ``FOLDER`` or ``FOLDER@LAYER``; None for none.

    Raises:
        BadArgument: An encoder is not there or not complete.
    """
    return {language: Encoder.named(f"{option}.{language}", name) for language, name in (encoders or {}).items()}


def score_answers(
    path: Path, encoders: Mapping[str, Encoder], predictions: Iterable[Prediction], device: str | torch.device = "cpu"
) -> int:
    """Compute and write the BERTScores of open answers; return the number of those that were not stored before.

    Args:
        path: File of the scores.
        encoders: Language -> encoder; answers to questions in other languages have no score.
        predictions: Of any tasks; only answers in words to questions without choices have a score.
        device: Device of the encoders.
    """
    stored, kept, due = read_bert_scores(path), dict[str, BertScore](), list[Prediction]()
    for prediction in predictions:
        encoder, record = encoders.get(prediction.record.language), prediction.record
        if encoder is None or record.choices or record.regions or not isinstance(prediction.answer, str):
            continue
        known = stored.get(record.id)
        if known and (known.text, known.encoder) == (_hash(prediction), encoder.settings):
            kept[record.id] = known
        else:
            due.append(prediction)
    for language, encoder in encoders.items():
        own = [p for p in due if p.record.language == language]
        found = encoder.f1([(str(p.answer), p.record.answer) for p in own], device)
        for p, f1 in zip(own, found, strict=True):
            kept[p.record.id] = BertScore(_hash(p), encoder.settings, f1, encoder.rescaled(f1))
    if due:
        write_bert_scores(path, kept)
    return len(due)


def _hash(prediction: Prediction) -> str:
    return text_hash(str(prediction.answer), prediction.record.answer)
