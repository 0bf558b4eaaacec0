"""Log-likelihoods that a language model gives to every choice of a question, in the requested format.

The replies of all choices of all questions about an image share sequences, as in training
(`lmod_train.models.chat.shared_prefix`): the image is computed once a sequence, and each reply sees its own question
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from lmod_train.core.types import Likelihoods
from lmod_train.core.wording import replies_of
from lmod_train.models.chat.answer_loss import token_losses
from lmod_train.models.chat.batch import ChatBatch
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import Encoded
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.masks import unshareable
from lmod_train.models.chat.sequences import pack
from lmod_train.models.chat.shared_prefix import share

LONGEST = 2048
"""Tokens of questions and replies, beside those of images, that a sequence of several replies may hold at most."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """One choice of one question.

    Attributes:
        row: Of the question in its batch.
        choice: The choice.
        ids: Token ids of the reply, its end token included: "1" competes with "10" by it.
    """

    row: int
    choice: str
    ids: list[int]


@torch.no_grad()
def choice_likelihoods(
    model: Any, dialect: Dialect, batch: ChatBatch, encoded: Encoded, kind: Likelihoods
) -> list[dict[str, float]]:
    """Return for each record the log-likelihood of every choice in nats.

    Exact: equal to one forward pass a choice. A record with regions, an open answer, or no reference reply, from which
    the format is taken, has none; the reference's own choice is not used.

    Args:
        model: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that made the batch.
        batch: Records with their images and prompt ids.
        encoded: The batch's images, as `lmod_train.models.chat.encoding.encode` returns them.
        kind: ``sum`` or ``mean`` over the tokens of the reply and its end token; ``none`` computes nothing.

    Returns:
        Choice -> log-likelihood, one mapping a record, empty where there is none.
    """
    found: list[dict[str, float]] = [{} for _ in batch.records]
    replies = [] if kind == "none" else list(_replies(dialect, batch))
    for few in _sequences(model, batch, replies):
        sums = _sums(model, batch, few, encoded, int(dialect.tokenizer.pad_token_id))
        for reply, value in zip(few, sums.tolist(), strict=True):
            found[reply.row][reply.choice] = round(value / (len(reply.ids) if kind == "mean" else 1), 6)
    return found


def _replies(dialect: Dialect, batch: ChatBatch) -> Iterator[_Reply]:
    for row, record in enumerate(batch.records):
        for choice, text in replies_of(record).items():
            _, ids = dialect.encode(*dialect.render(replace(record, answer=text)))
            yield _Reply(row, choice, ids)


def _sequences(model: Any, batch: ChatBatch, replies: Sequence[_Reply]) -> Iterator[list[_Reply]]:
    """Yield the replies of each sequence: of one image, of at most `LONGEST` tokens, or one alone."""
    if unshareable(model):
        yield from ([reply] for reply in replies)
        return
    prompts, images = [batch.prompt_ids[r.row] for r in replies], [batch.images_of[r.row] for r in replies]
    for group in share(prompts, [r.ids for r in replies], images, family_of(model).image_token_id):
        few: list[_Reply] = []
        tokens = 0
        for reply in (replies[i] for i in group):
            own = len(batch.prompt_ids[reply.row]) - sum(_places(batch, reply.row)) + len(reply.ids)
            if few and tokens + own > LONGEST:
                yield few
                few, tokens = [], 0
            few.append(reply)
            tokens += own
        yield few


def _places(batch: ChatBatch, row: int) -> Iterator[int]:
    return ((batch.images.tokens or [])[image] for image in batch.images_of[row])


def _sums(model: Any, batch: ChatBatch, few: Sequence[_Reply], encoded: Encoded, pad: int) -> Tensor:
    """Return the sum of the log-probabilities of each reply's tokens, (replies), in one forward pass."""
    prompts, images = [batch.prompt_ids[r.row] for r in few], [batch.images_of[r.row] for r in few]
    made = pack([range(len(few))], prompts, [r.ids for r in few], images, pad, model.device)
    losses = token_losses(model, made, encoded.select(made.images), encoded.grids_of(made.images))
    owners = made.segment.roll(-1, 1)[made.predicting()] - 1
    return torch.zeros(len(few), device=losses.device).index_add(0, owners, -losses)
