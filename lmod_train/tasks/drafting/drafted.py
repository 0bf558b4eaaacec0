"""A draft with what is known of its image: the input of every check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmod_train.core.types import Prediction, Record, Unparsed
from lmod_train.tasks.drafts.draft import Draft, read_draft
from lmod_train.tasks.drafts.facts import Facts, facts_in
from lmod_train.tasks.prompt import question_text


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft and the facts that it was written from.

    Attributes:
        record: What was asked of the model.
        draft: What it wrote.
        facts: Of the image and stage.
        truths: Stage -> truth of all stages of its chain.
    """

    record: Record
    draft: Draft
    facts: Facts
    truths: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Record id."""
        return self.record.id

    @property
    def stage(self) -> str:
        """Name of the stage."""
        return self.facts.stage


def drafted_of(predictions: Sequence[Prediction]) -> list[Drafted]:
    """Return the drafts of the predictions in whose reply one can be read, in id order.

    Raises:
        ValueError: A record holds no facts, so that it is not of the task `Drafting`.
    """
    truths: dict[str, dict[str, str]] = {}
    for prediction in predictions:
        record = prediction.record
        truths.setdefault(record.chain, {})[record.chain_step] = record.answer
    ordered = sorted(predictions, key=lambda p: p.record.id)
    return [_drafted(p, truths[p.record.chain]) for p in ordered if not isinstance(p.answer, Unparsed)]


def _drafted(prediction: Prediction, truths: Mapping[str, str]) -> Drafted:
    facts, draft = facts_in(question_text(prediction.record.messages)), read_draft(str(prediction.answer))
    if facts is None or isinstance(draft, Unparsed):
        raise ValueError(f"record {prediction.record.id}: not a draft with its facts")
    return Drafted(prediction.record, draft, facts, truths)
