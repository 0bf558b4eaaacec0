"""The training loss of a network over sequences of one or several records."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lmod_train.models.encoding import Images, encode
from lmod_train.models.family import family_of
from lmod_train.models.sequences import Sequences, pack
from lmod_train.models.shared_prefix import network_inputs, share
from lmod_train.types import Batch


def answer_loss(
    network: Any, sequences: Sequences, encoded: dict[str, Any] | None = None, grids: Tensor | None = None
) -> Tensor:
    """Return the mean over records of the mean negative log-likelihood of the answer's tokens, in nats.

    Every record weighs the same however long its answer is and whatever it shares a sequence with. The vocabulary is
    computed where a token is learnt and nowhere else, and its softmax in float32. The network is called once, as a
    whole, which is what sharding strategies hook into.

    Args:
        network: Of transformers, with a language-model head.
        sequences: As `sequences.pack` makes them; without a record the loss is 0 and still hangs on the network.
        encoded: The images in the order of `sequences.images`, as the network's `mm_encoder_outputs` takes them.
        grids: Patches of each of these images, where the network has them; see `positions.three_axes`.
    """
    keep = sequences.predicting()
    inputs = network_inputs(network, sequences, grids)
    logits = network(**inputs, mm_encoder_outputs=encoded or {}, logits_to_keep=keep).logits
    losses = functional.cross_entropy(logits.float(), sequences.labels.roll(-1, 1)[keep], reduction="none")
    weighted: Tensor = losses * sequences.weights.roll(-1, 1)[keep]
    return weighted.sum() / max(sequences.records, 1)


def too_long(batch: Batch, max_tokens: int) -> list[int]:
    """Return the positions of records whose prompt and answer have more than `max_tokens` tokens together."""
    lengths = map(len, batch.tensors["prompt_ids"]), map(len, batch.tensors["answer_ids"])
    return [i for i, (prompt, answer) in enumerate(zip(*lengths, strict=True)) if prompt + answer > max_tokens]


def batch_loss(
    network: Any,
    batch: Batch,
    pad: int,
    max_tokens: int,
    shared_prefix: bool,
    blank: Images | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return the loss of a batch: the mean over its records, those too long left out, see `answer_loss`.

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
    """
    prompts, answers, images = batch.tensors["prompt_ids"], batch.tensors["answer_ids"], batch.image_of
    out = set(too_long(batch, max_tokens))
    rows = [[i] for i in range(len(batch)) if i not in out]
    if shared_prefix:
        kept = [i for row in rows for i in row]
        token = family_of(network).image_token_id
        shared = share([prompts[i] for i in kept], [answers[i] for i in kept], [images[i] for i in kept], token)
        rows = [[kept[i] for i in row] for row in shared]
    sequences = pack(rows, prompts, answers, images, pad, device or network.device)
    encoded = encode(network, batch.tensors.get("images") or blank)
    grids = torch.cat([encoded.grids[i] for i in sequences.images]) if sequences.images and encoded.grids else None
    loss = answer_loss(network, sequences, encoded.select(sequences.images), grids)
    if not sequences.images:  # nothing of them is in the loss yet
        loss = loss + sum((t * 0).sum() for t in [*encoded.features, *(t for deep in encoded.deep for t in deep)])
    return loss
