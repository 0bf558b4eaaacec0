"""States of a network at every place between an image and the answer, and their exchange between questions.

An image is shown with its question once: the tower and the projector run as in an evaluation, and one sequence holds
all replies of choices, so that states and likelihoods come from the same forward pass. Nothing is changed by reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Record
from lmod_train.extensions.dissection.scores import LAST, TOWER, UNTRAINED
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.decoding import choice_likelihoods, choice_replies
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import Encoded, Images, encode
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.image_vectors import before, image_vectors, watched, whole_vector

MOST_LAYERS = 12
"""Largest number of layers of the language model that are read."""

LIKELIHOODS = "likelihoods"
"""Place of the log-likelihoods of the choices. The others are `TOWER` and `PROJECTOR`, the tokens that the projector
takes and makes, `LAST`, the last layer at the decision, and ``tower.K``, ``deep.K``, ``image.K`` and ``decision.K``,
behind K layers."""

Vectors = dict[str, Tensor]
"""Place -> one vector; of the likelihoods one value a choice."""


@torch.no_grad()
def states_of(network: Any, dialect: Dialect, asked: ChatBatch, untrained: nn.Module | None = None) -> Vectors:
    """Return the vectors of one record at all places, in the order in which an image passes through them.

    At the places of images they are those of `image_vectors`, of its tokens in the language model too. At the decision
    it is the state of the token that predicts the first token in which the replies of the choices differ.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that collated the record.
        asked: One record with one image and at least two choices, on the network's device (`readable`).
        untrained: A tower of random weights (`untrained_tower`), whose tokens are read too, as a control.

    Returns:
        float32 vectors on the CPU.
    """
    found = {} if untrained is None else {UNTRAINED: _behind(untrained, network, asked)}
    vectors, encoded = image_vectors(network, asked.images)
    seen: dict[str, Tensor] = {}
    with _layers_watched(network, seen):
        (likelihoods,) = choice_likelihoods(network, dialect, asked, encoded, "sum")
    found |= vectors
    family, item = family_of(network), asked.images.items[0]
    shown, decision = shown_tokens(network, asked), decision_of(dialect, asked)
    for layer, state in seen.items():
        if layer:
            found[f"image.{layer}"] = whole_vector(state[0, shown.to(state.device)], family, item)
        found[f"decision.{layer}" if layer else LAST] = state[0, decision]
    found[LIKELIHOODS] = torch.tensor([likelihoods[choice] for choice in asked.records[0].choices], dtype=torch.float64)
    return {place: vector.detach().float().cpu() for place, vector in found.items()}


def matrices_of(tensors: Iterable[Tensor]) -> set[str]:
    """Return the SHA-256 of each matrix in bfloat16, by which equal weights are found under any name and type."""
    kept = (t.detach().to("cpu", torch.bfloat16).contiguous() for t in tensors if t.is_floating_point() and t.ndim > 1)
    return {sha256(t.view(torch.int16).numpy().tobytes()).hexdigest() for t in kept}


def untrained_tower(network: Any) -> nn.Module:
    """Return a tower like a network's with random weights, of a fixed seed, on its device and in its type."""
    tower = network.get_submodule(family_of(network).tower)
    first = next(tower.parameters())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made: nn.Module = type(tower)._from_config(tower.config)
    return made.eval().requires_grad_(False).to(first.device, first.dtype)


def _behind(untrained: nn.Module, network: Any, asked: ChatBatch) -> Tensor:
    """Return the vector of the tokens that the projector takes from another tower in the place of the network's."""
    path = family_of(network).tower
    own = network.get_submodule(path)
    network.set_submodule(path, untrained)
    try:
        return image_vectors(network, asked.images)[0][TOWER]
    finally:
        network.set_submodule(path, own)


def readable(asked: ChatBatch, row: int) -> str:
    """Return why a record of a batch cannot be dissected; empty if it can."""
    return asked.unasked().get(row) or unreadable(asked.records[row])


TUNED = "the model was tuned on"
"""Begin of the reason why a record takes no part that belongs to the training: its states hold a memorised answer."""


def nothing_to_read(task: str, why: str) -> BadArgument:
    """Return the error of a task none of whose records can be dissected, for the reason of one of them."""
    cure = "name a task with listed choices and one image a question, e.g. `--task four_way`"
    if why.startswith(TUNED):
        cure = "name splits, or a curated folder, with images that it was not tuned on: `--split held_out`"
    return BadArgument("--task", task, f"records to dissect ({why})", cure)


def unreadable(record: Record) -> str:
    """Return why no record like this can be dissected; empty if it can."""
    if len(record.image) != 1:
        return f"it shows {len(record.image)} images, not one"
    return "" if replies_of(record) else "its answer is not one of listed choices"


def alone(asked: ChatBatch, row: int) -> ChatBatch:
    """Return a batch of one record of a batch and its only image."""
    (image,) = asked.images_of[row]
    tokens = None if asked.images.tokens is None else [asked.images.tokens[image]]
    one = asked.part([row])
    one.images, one.images_of = Images([asked.images.items[image]], tokens), [(0,)]
    return one


def shown_tokens(network: Any, asked: ChatBatch) -> Tensor:
    """Return the indices of a record's image tokens, which stand before the question in each of its sequences."""
    return (torch.tensor(asked.prompt_ids[0]) == family_of(network).image_token_id).nonzero()[:, 0]


def decision_of(dialect: Dialect, asked: ChatBatch) -> int:
    """Return the index of the token that predicts the first token in which the replies of the choices differ."""
    replies = [reply.ids for reply in choice_replies(dialect, asked)]
    same = next(i for i, tokens in enumerate(zip(*replies, strict=False)) if len(set(tokens)) > 1)
    return len(asked.prompt_ids[0]) - 1 + same


def read_layers(network: Any) -> list[int]:
    """Return after how many layers of the language model the states are read: at most `MOST_LAYERS`, the last too."""
    layers = len(decoder_layers(network))
    count = min(MOST_LAYERS, layers)
    return sorted({round(i * layers / count) for i in range(1, count + 1)})


def decoder_layers(network: Any) -> Sequence[nn.Module]:
    """Return the layers of the language model."""
    layers: Sequence[nn.Module] = network.get_submodule(f"{family_of(network).language_model}.layers")
    return layers


@contextmanager
def _layers_watched(network: Any, seen: dict[str, Tensor]) -> Iterator[None]:
    """Write the first state behind each layer of the language model that is read to `seen`, by its number.

    The last layer has no number. A state is read before the next layer, as features can be added between the two.
    """
    layers = decoder_layers(network)
    inside = {f"{i}": layers[i] for i in read_layers(network) if i < len(layers)}
    last = layers[-1].register_forward_hook(lambda _, __, out: None if "" in seen else seen.update({"": _first(out)}))
    try:
        with watched(inside, seen):
            yield
    finally:
        last.remove()


def _first(out: Any) -> Tensor:
    state: Tensor = out[0] if isinstance(out, tuple) else out
    return state


def joined(vectors: Vectors) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the vectors one after another, as they are stored."""
    return np.concatenate([vector.numpy() for vector in vectors.values()]).astype(np.float32)


# Interchange: the states of image tokens at one layer of the language model are those of another image.


class Exchange(NamedTuple):
    """What a model prefers, its prior removed, after its image tokens at one layer were exchanged.

    Attributes:
        id: Record whose question was asked.
        partner: Record whose image tokens took the place of its own.
        layer: Number of layers of the language model in front of the exchange; 0 is its input.
        alike: Whether the model prefers the same choice for both records.
        followed: Whether it then prefers the partner's choice.
    """

    id: str
    partner: str
    layer: int
    alike: bool
    followed: bool


@torch.no_grad()
def exchanged(
    network: Any,
    dialect: Dialect,
    asked: ChatBatch,
    biases: Sequence[float],
    encoded: dict[str, Encoded] | None = None,
) -> list[Exchange]:
    """Return the outcomes of the exchanges of the first record of a batch with each other one, at every layer read.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that collated the batch.
        asked: Records with one image each and the same choices. Partners whose images have another number of tokens
            take no part.
        biases: What is added to the likelihood of each choice, so that no choice is preferred for all images.
        encoded: Record id -> embeddings of its image, to which those that are computed are added.
    """
    encoded = {} if encoded is None else encoded
    one, *partners = (alone(asked, row) for row in range(len(asked)))

    def preferred(who: ChatBatch) -> str:
        name = who.records[0].id
        if name not in encoded:
            encoded[name] = encode(network, who.images)
        (likelihoods,) = choice_likelihoods(network, dialect, who, encoded[name], "sum")
        corrected = {c: likelihoods[c] + bias for c, bias in zip(who.records[0].choices, biases, strict=True)}
        return max(corrected, key=corrected.__getitem__)

    own = preferred(one)
    rows = []
    for partner in partners:
        if partner.prompt_ids != one.prompt_ids:
            continue
        states: dict[int, Tensor] = {}
        with _recorded(network, partner, states):
            theirs = preferred(partner)
        for layer, state in states.items():
            with _replaced(network, one, layer, state):
                made = preferred(one)
            rows.append(Exchange(one.records[0].id, partner.records[0].id, layer, own == theirs, made == theirs))
    return rows


def exchange_layers(network: Any) -> list[int]:
    """Return the layers in front of which image tokens are exchanged: the input, and those that are read."""
    return [0, *(layer for layer in read_layers(network) if layer < len(decoder_layers(network)))]


@contextmanager
def _recorded(network: Any, asked: ChatBatch, states: dict[int, Tensor]) -> Iterator[None]:
    """Keep the image tokens' states in front of every layer, (tokens, features), of the first forward pass."""

    def keep(layer: int, hidden: Tensor) -> None:
        states.setdefault(layer, hidden[0, shown_tokens(network, asked).to(hidden.device)].clone())

    with _hooked(network, dict.fromkeys(exchange_layers(network), keep)):
        yield


@contextmanager
def _replaced(network: Any, asked: ChatBatch, layer: int, state: Tensor) -> Iterator[None]:
    """Put other states in the place of those of the image tokens in front of a layer."""

    def put(_: int, hidden: Tensor) -> Tensor:
        changed = hidden.clone()
        changed[:, shown_tokens(network, asked).to(hidden.device)] = state
        return changed

    with _hooked(network, {layer: put}):
        yield


@contextmanager
def _hooked(network: Any, functions: Mapping[int, Any]) -> Iterator[None]:
    """Call functions of layer and hidden states in front of layers; what one returns replaces the states."""
    layers = decoder_layers(network)
    handles = [before(layers[layer], partial(function, layer)) for layer, function in functions.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
