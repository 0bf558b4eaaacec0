"""BERTScores of the open answers of a run: ``bert_scores.json``, which `validate` writes and `rescore` reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import write_durably
from lmod_train.core.raw import read_json


@dataclass(frozen=True, slots=True)
class BertScore:
    """BERTScore of one answer.

    Attributes:
        text: Hash of answer and reference (`text_hash`); of a changed answer, the score does not count.
        encoder: Encoder, layer and fingerprint.
        f1: Raw F1.
        rescaled: F1 rescaled with the encoder's baseline; None without one.
    """

    text: str
    encoder: str
    f1: float
    rescaled: float | None = None


def text_hash(answer: str, reference: str) -> str:
    """Return the hash of an answer with its reference.

    Example:
        >>> text_hash("ab", "c") == text_hash("a", "bc")
        False
    """
    return hashlib.sha256(json.dumps([answer, reference]).encode()).hexdigest()[:24]


def write_bert_scores(path: Path, scores: Mapping[str, BertScore]) -> None:
    """Write the scores by record id, whole or not at all."""
    with write_durably(path) as beside:
        beside.write_text(json.dumps({id: asdict(scores[id]) for id in sorted(scores)}), encoding="utf-8")


def read_bert_scores(path: Path) -> dict[str, BertScore]:
    """Return record id -> score; empty without a file.

    Raises:
        ArtifactError: The file is damaged.
    """
    if not path.exists():
        return {}
    try:
        return {id: _checked(BertScore(**row)) for id, row in read_json(path).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        problem = f"cannot be read ({' '.join(str(error).split())[:200]})"
        cure = f"delete it, and type the `validate` command of {path.parent} again: only the scores are computed"
        raise ArtifactError(path, problem, cure) from error


def _checked(score: BertScore) -> BertScore:
    numbers = [score.f1] if score.rescaled is None else [score.f1, score.rescaled]
    texts = (score.text, score.encoder)
    if not all(isinstance(n, float) and abs(n) < 1e9 for n in numbers) or not all(isinstance(t, str) for t in texts):
        raise TypeError("a score is no number, or a name is no text")
    return score
