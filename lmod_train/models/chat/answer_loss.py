"""The training loss of a network over sequences of one or several records.

There are two means, see `Over`. LLaVA, TRL and transformers average over all answer tokens, so that an answer of 40
tokens weighs ten times as much as one of 4. The default here averages over answers, each the mean over its own tokens,
so that a diagnosis weighs as much as a list of regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from lightning_utilities.core.rank_zero import rank_zero_warn
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.encoding import Images, encode
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.sequences import Sequences, pack
from lmod_train.models.chat.shared_prefix import network_inputs, share

Over = Literal["answer", "token"]
"""Unit of equal weight in the mean: the answer, or the answer token."""


def answer_loss(
    network: Any,
    sequences: Sequences,
    encoded: dict[str, Any] | None = None,
    grids: Tensor | None = None,
    over: Over = "answer",
) -> Tensor:
    """Return the negative log-likelihood of the answers in nats, averaged over answers or over their tokens.

    The weight of a record does not depend on which records share its sequence. Logits are computed only at positions
    that predict an answer token, and their softmax in float32. The network's own `forward` is called once, as sharding
    strategies hook into it.

    Args:
        network: A transformers model with a language-model head.
        sequences: As `sequences.pack` returns them; without a record the loss is 0, with gradients of 0.
        encoded: The images in the order of `sequences.images`, as the network's `mm_encoder_outputs` takes them.
        grids: Patches of each of these images for networks that take them; see `positions.three_axes`.
        over: ``answer`` is the mean over records of the mean over the answer's tokens; ``token`` the mean over the
            tokens of all answers, as transformers' own loss is.
    """
    losses = token_losses(network, sequences, encoded, grids)
    weights = sequences.weights.roll(-1, 1)[sequences.predicting()]
    if over == "token":
        weights = (weights > 0).to(losses)  # 0 where a sequence holds no record
        return (losses * weights).sum() / weights.sum().clamp_min(1)
    return (losses * weights).sum() / max(sequences.records, 1)


def token_losses(
    network: Any, sequences: Sequences, encoded: dict[str, Any] | None = None, grids: Tensor | None = None
) -> Tensor:
    """Return the negative log-likelihood of each token of the answers in nats, (tokens), at least in float32.

    The tokens are those that the places of `sequences.predicting()` predict, in their order. Logits are computed for
    these places only, and of at most `AT_ONCE` words at once: the head computes the losses of some places, and their
    logits again in the backward pass. Arguments are those of `answer_loss`.
    """
    keep = sequences.predicting()
    inputs = network_inputs(network, sequences, grids)
    targets = sequences.labels.roll(-1, 1)[keep]
    given = {**inputs, "mm_encoder_outputs": encoded or {}, "logits_to_keep": keep}
    step = max(1, AT_ONCE // network.config.get_text_config().vocab_size)
    if len(targets) > step and _ENDS_IN_HEAD.get(network, True):
        with _losses_of_head(network.get_output_embeddings(), targets, step) as made:
            losses: Tensor = network(**given).logits
        if network not in _ENDS_IN_HEAD:  # compared once, as it waits for the device
            _ENDS_IN_HEAD[network] = torch.equal(losses.nan_to_num(), made[0].nan_to_num())
        if _ENDS_IN_HEAD[network]:
            return losses
        rank_zero_warn(
            f"{type(network).__name__} changes the logits behind its head, so that they are kept whole, which takes "
            "about 10 bytes a token of the answers and word of the vocabulary"
        )
    return _losses(network(**given).logits, targets)


def _losses(logits: Tensor, targets: Tensor) -> Tensor:
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return functional.cross_entropy(exact, targets, reduction="none")


AT_ONCE = 2**25
"""Number of logits that are held at once; 128 MiB in float32, and about 430 with copies and gradients."""

_ENDS_IN_HEAD: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Network -> whether what its head returns are its logits, once it is known."""


@contextmanager
def _losses_of_head(head: Any, targets: Tensor, step: int) -> Iterator[list[Tensor]]:
    """Let a head return losses instead of logits, of `step` places at once; yields the list to which it appends them.

    They are computed inside of its `forward`, where sharding strategies have gathered its weights.
    """
    own, before = head.forward, vars(head).get("forward")
    made: list[Tensor] = []

    def losses_of(hidden: Tensor, expected: Tensor) -> Tensor:
        return _losses(own(hidden), expected)

    def forward(hidden: Tensor) -> Tensor:
        parts = zip(hidden.split(step), targets.split(step), strict=True)
        made.append(torch.cat([checkpoint(losses_of, *part, use_reentrant=False) for part in parts]))
        return made[-1]

    head.forward = forward
    try:
        yield made
    finally:
        del head.forward
        if before is not None:
            head.forward = before


def weight_of(batch: ChatBatch, max_tokens: int, over: Over) -> int:
    """Return the denominator of the mean over a batch: its records or answer tokens without those of `left_out`.

    Args:
        batch: As the family's dialect collates it.
        max_tokens: Maximum length of a record in tokens.
        over: Unit of equal weight in the mean.
    """
    out = left_out(batch, max_tokens)
    kept = [ids for i, ids in enumerate(batch.answer_ids) if i not in out]
    return len(kept) if over == "answer" else sum(map(len, kept))


def left_out(batch: ChatBatch, max_tokens: int) -> set[int]:
    """Return the positions of records that are not trained on: too long ones, and refused ones."""
    return {*too_long(batch, max_tokens), *batch.refused}


def too_long(batch: ChatBatch, max_tokens: int) -> list[int]:
    """Return the positions of records whose prompt and answer have more than `max_tokens` tokens together."""
    lengths = map(len, batch.prompt_ids), map(len, batch.answer_ids)
    return [i for i, (prompt, answer) in enumerate(zip(*lengths, strict=True)) if prompt + answer > max_tokens]


def batch_loss(
    network: Any,
    batch: ChatBatch,
    pad: int,
    max_tokens: int,
    shared_prefix: bool,
    blank: Images | None = None,
    device: torch.device | None = None,
    over: Over = "answer",
) -> Tensor:
    """Return the loss of a batch: the mean over its answers or their tokens, without records of `left_out`.

    Tower and projector run once, over each image once, whatever the batch holds: processes that share parameters
    synchronise there, and each must produce a gradient for every trained parameter.

    Args:
        network: A model of a known family, adapters included.
        batch: As the family's dialect collates it, on the network's device.
        pad: Id of the padding token.
        max_tokens: Maximum length of a record in tokens; longer ones are left out, as they would have to be cut.
        shared_prefix: Records about one image share a sequence; the loss is the same either way.
        blank: Image for tower and projector where the batch has none; None to skip them then.
        device: Device that the network computes on; None for that of its parameters.
        over: Unit of equal weight in the mean, see `answer_loss`.
    """
    prompts, answers, images = batch.prompt_ids, batch.answer_ids, batch.images_of
    out = left_out(batch, max_tokens)
    rows = [[i] for i in range(len(batch)) if i not in out]
    if shared_prefix:
        kept = [i for row in rows for i in row]
        token = family_of(network).image_token_id
        shared = share([prompts[i] for i in kept], [answers[i] for i in kept], [images[i] for i in kept], token)
        rows = [[kept[i] for i in row] for row in shared]
    sequences = pack(rows, prompts, answers, images, pad, device or network.device, batch.leads)
    encoded = encode(network, batch.images or blank)
    grids = encoded.grids_of(sequences.images)
    loss = answer_loss(network, sequences, encoded.select(sequences.images), grids, over)
    if not sequences.images:  # connect tower and projector to the loss, with gradients of 0
        loss = loss + sum((t * 0).sum() for t in [*encoded.features, *(t for deep in encoded.deep for t in deep)])
    return loss
