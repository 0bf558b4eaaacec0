"""Interchange: the states of image tokens at one layer of the language model are those of another image.

Until the layer at which the answer no longer follows the other image, the image's tokens are used (interchange
interventions: Geiger et al. 2021, Causal abstractions of neural networks). A probe shows what can be read from states,
used or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lmod_train.models.chat.batch import ChatBatch
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.generation import choice_likelihoods
from lmod_train.training.dissection.states import alone, before, decoder_layers, read_layers, shown_tokens


class Exchange(NamedTuple):
    """What a model prefers after its image tokens at one layer were exchanged.

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
def exchanged(network: Any, dialect: Dialect, asked: ChatBatch) -> list[Exchange]:
    """Return the outcomes of the exchanges of the first record of a batch with each other one, at every layer read.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that collated the batch.
        asked: Records with one image each and the same choices. Partners whose images have another number of tokens
            take no part.
    """
    one, *partners = (alone(asked, row) for row in range(len(asked)))
    own = _preferred(network, dialect, one)
    rows = []
    for partner in partners:
        if partner.prompt_ids != one.prompt_ids:
            continue
        states: dict[int, Tensor] = {}
        with _recorded(network, partner, states):
            theirs = _preferred(network, dialect, partner)
        for layer, state in states.items():
            with _replaced(network, one, layer, state):
                made = _preferred(network, dialect, one)
            rows.append(Exchange(one.records[0].id, partner.records[0].id, layer, own == theirs, made == theirs))
    return rows


def exchange_layers(network: Any) -> list[int]:
    """Return the layers in front of which image tokens are exchanged: the input, and those that are read."""
    return [0, *(layer for layer in read_layers(network) if layer < len(decoder_layers(network)))]


def _preferred(network: Any, dialect: Dialect, asked: ChatBatch) -> str:
    (likelihoods,) = choice_likelihoods(network, dialect, asked, encode(network, asked.images), "sum")
    return max(likelihoods, key=likelihoods.__getitem__)


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
