"""The training loss of a network over sequences of one or several records."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional

from lmod_train.models.sequences import Sequences
from lmod_train.models.shared_prefix import network_inputs


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
