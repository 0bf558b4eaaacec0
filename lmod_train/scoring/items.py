"""Items, the input of all metrics: one per record id, with only what scoring needs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Patient, Prediction, Record, Status, Unparsed, status_of
from lmod_train.scoring.ways import question_of


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its answer and its truth.

    Attributes:
        id: Record id.
        status: Status of the prediction.
        answer: The parsed answer, or why there is none.
        truth: The right answer.
        choices: The choices of the question.
        group: Patient or augmentation family, qualified by its source: ``source/group``. Intervals are clustered by it;
            the image, if the source has no groups.
        image: Hash of the image or images, their paths without a hash.
        modality: Name in `lmod_train.core.vocabulary.modalities`, or a combination such as CFP+OCT.
        source: Name of the source.
        split: Split of the record.
        language: ISO 639-1 code of the question.
        patient: Demographics, for subsets.
        variant: Which of several questions of the task about one sample it is.
        tags: Key -> value; each key is a subset of the scores.
        likelihoods: Choice -> log-likelihood, if the responder returned them.
        confidence: Confidence stated in the reply, 0 to 1; None if it states none.
        chain: Chain of questions it belongs to, ``source/chain``; empty for none.
        chain_step: Its step of the chain.
    """

    id: str
    status: Status
    answer: Answer | Unparsed
    truth: Answer
    choices: tuple[str, ...] = ()
    group: str = ""
    image: str = ""
    modality: str = ""
    source: str = ""
    split: str = ""
    language: str = ""
    patient: Patient = field(default_factory=Patient)
    variant: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    likelihoods: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    chain: str = ""
    chain_step: str = ""


FEW_PATIENTS = 10
"""Patients of a class below which the width of its intervals is not what it should be (benchmark of rare classes)."""


def patients_of_classes(items: Sequence[Item]) -> dict[str, int]:
    """Return the number of patients of each true class; regions have no classes.

    Example:
        >>> patients_of_classes([Item(i, "answered", "x", t, group=g) for i, t, g in ("axp", "bxp", "cxq", "dyq")])
        {'x': 2, 'y': 1}
    """
    patients: dict[str, set[str]] = {}
    for item in items:
        if not isinstance(item.truth, Mapping):
            text = item.truth if isinstance(item.truth, str) else f"{item.truth:g}"
            patients.setdefault(text, set()).add(item.group)
    return {label: len(groups) for label, groups in patients.items()}


def items_of(predictions: Sequence[Prediction], truth: Callable[[Prediction], Answer | Unparsed]) -> list[Item]:
    """Return one item per record id with a reply, in id order; an empty list without predictions.

    The last prediction of an id counts, so that padding duplicates of a distributed sampler count once. A failed
    request says nothing about the model and is no item; `lmod_train.scoring.completeness.share_failed` counts these. An
    empty region answer counts as unparsed, as HR is undefined there (LMOD, section 3.2).

    Args:
        predictions: In any order, ids may repeat.
        truth: Returns the right answer of a prediction's record, usually the task's parser on the reference reply.

    Raises:
        BadArgument: A reference reply cannot be read by its own task.
    """
    last = {p.record.id: p for p in predictions}
    return [item_of(last[key], truth(last[key])) for key in sorted(last) if last[key].status != "failed"]


def item_of(prediction: Prediction, truth: Answer | Unparsed) -> Item:
    """Return the item of one prediction, a failed one too.

    Raises:
        BadArgument: The reference reply cannot be read by its own task.
    """
    record, answer = prediction.record, prediction.answer
    if isinstance(truth, Unparsed):
        raise BadArgument(
            f"answer of record {record.id}",
            record.answer,
            f"a reference reply that task {record.task!r} can parse (its reason: {truth.reason})",
            "make the records again: `python -m lmod_train curate --config CONFIG --raw RAW --out NEW`",
        )
    if isinstance(answer, Mapping) and not answer:
        answer = Unparsed("empty")
    return Item(
        id=record.id,
        status=status_of(answer),
        answer=answer,
        truth=truth,
        choices=record.choices,
        group=group_of(record),
        image=images_of(record),
        modality=record.modality,
        source=record.source,
        split=record.split,
        language=record.language,
        patient=record.patient,
        variant=record.variant,
        tags=record.tags,
        likelihoods=prediction.reply.likelihoods,
        confidence=prediction.confidence,
        chain=record.chain,
        chain_step=record.chain_step,
    )


def group_of(record: Record) -> str:
    """Return ``source/group`` of a record; its images stand for a missing group, and its question for missing images.

    So all ways of asking a question are in one group.
    """
    return f"{record.source}/{record.group or images_of(record) or question_of(record.id, record.tags)}"


def images_of(record: Record) -> str:
    """Return the SHA-256 of a record's images, or their paths where none is recorded, joined by ``+``."""
    return "+".join(record.image_sha256 or record.image)


def is_wrong(item: Item) -> bool:
    """Return whether a reply has another answer than the true one, or none; a failed request has no reply."""
    return item.status != "failed" and item.answer != item.truth


def wrong_ids(items: Iterable[Item], count: int) -> list[str]:
    """Return the ids of `count` wrong replies, those of the least SHA-256; of all if there are fewer.

    Example:
        >>> items = [Item(id, "answered", answer, "yes") for id, answer in (("a", "no"), ("b", "yes"), ("c", "no"))]
        >>> wrong_ids(items, 1), sorted(wrong_ids(items, 9))
        (['c'], ['a', 'c'])
    """
    ids = [item.id for item in items if is_wrong(item)]
    return sorted(ids, key=lambda id: hashlib.sha256(id.encode()).digest())[:count]
