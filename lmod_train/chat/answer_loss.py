"""The training loss of a network over sequences of one or several records.

Two means are in use. LLaVA, TRL and transformers average over all answer tokens, so that an answer of forty tokens
weighs ten times as much as one of four; ours averages over answers, each the mean over its own tokens, so that a
diagnosis weighs as much as a list of regions. `Over` names which.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lmod_train.chat.batch import ChatBatch
from lmod_train.chat.encoding import Images, encode
from lmod_train.chat.family import family_of
from lmod_train.chat.sequences import Sequences, pack
from lmod_train.chat.shared_prefix import network_inputs, share

Over = Literal["answer", "token"]
"""What weighs the same in the mean: every answer, or every token of every answer."""


def answer_loss(
    network: Any,
    sequences: Sequences,
    encoded: dict[str, Any] | None = None,
    grids: Tensor | None = None,
    over: Over = "answer",
) -> Tensor:
    """Return the negative log-likelihood of the answers in nats, averaged over answers or over their tokens.

    A record weighs the same whatever it shares a sequence with. The vocabulary is computed where a token is learnt and
    nowhere else, and its softmax in float32. The network is called once, as a whole, which is what sharding strategies
    hook into.

    Args:
        network: Of transformers, with a language-model head.
        sequences: As `sequences.pack` makes them; without a record the loss is 0 and still hangs on the network.
        encoded: The images in the order of `sequences.images`, as the network's `mm_encoder_outputs` takes them.
        grids: Patches of each of these images, where the network has them; see `positions.three_axes`.
        over: ``answer`` is the mean over records of the mean over the answer's tokens; ``token`` the mean over the
            tokens of all answers, as transformers' own loss is.
    """
    keep = sequences.predicting()
    inputs = network_inputs(network, sequences, grids)
    logits = network(**inputs, mm_encoder_outputs=encoded or {}, logits_to_keep=keep).logits
    losses = functional.cross_entropy(logits.float(), sequences.labels.roll(-1, 1)[keep], reduction="none")
    weights = sequences.weights.roll(-1, 1)[keep]
    if over == "token":
        weights = (weights > 0).to(losses)  # 0 where a sequence holds no record
        return (losses * weights).sum() / weights.sum().clamp_min(1)
    return (losses * weights).sum() / max(sequences.records, 1)


def weight_of(batch: ChatBatch, max_tokens: int, over: Over) -> int:
    """Return what the mean over a batch is divided by: its records, or the tokens of their answers, the too long out.

    Args:
        batch: As the family's dialect makes it.
        max_tokens: Longest record in tokens.
        over: What weighs the same.
    """
    out = set(too_long(batch, max_tokens))
    kept = [ids for i, ids in enumerate(batch.answer_ids) if i not in out]
    return len(kept) if over == "answer" else sum(map(len, kept))


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
    """Return the loss of a batch: the mean over its answers or their tokens, those too long left out.

    Tower and projector run once, over each image once, whatever the batch holds: processes that share parameters wait
    for one another there, and each expects a gradient for all that learns.

    Args:
        network: Of a known family, adapters included.
        batch: As the family's dialect makes it, on the network's device.
        pad: Id of the padding token.
        max_tokens: Longest record in tokens; a longer one would have to be cut, and is left out.
        shared_prefix: Records about one image share a sequence; the loss is the same either way.
        blank: What tower and projector run over where no image takes part; None where they need not.
        device: That the network computes on, where its parameters are kept elsewhere.
        over: What weighs the same, see `answer_loss`.
    """
    prompts, answers, images = batch.prompt_ids, batch.answer_ids, batch.images_of
    out = set(too_long(batch, max_tokens))
    rows = [[i] for i in range(len(batch)) if i not in out]
    if shared_prefix:
        kept = [i for row in rows for i in row]
        token = family_of(network).image_token_id
        shared = share([prompts[i] for i in kept], [answers[i] for i in kept], [images[i] for i in kept], token)
        rows = [[kept[i] for i in row] for row in shared]
    sequences = pack(rows, prompts, answers, images, pad, device or network.device)
    encoded = encode(network, batch.images or blank)
    grids = torch.cat([encoded.grids[i] for i in sequences.images]) if sequences.images and encoded.grids else None
    loss = answer_loss(network, sequences, encoded.select(sequences.images), grids, over)
    if not sequences.images:  # nothing of them is in the loss yet
        loss = loss + sum((t * 0).sum() for t in [*encoded.features, *(t for deep in encoded.deep for t in deep)])
    return loss
