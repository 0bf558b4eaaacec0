"""Images of a batch that the next batches ask about again: embedded once, and computed in the language model once.

In a cascade (`lmod_train.data.datamodules.cascade_loader`), the stages of an image are asked one after the other. All
that comes up to the last image of a prompt is the same in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.encoding import Encoded, Images, encode_apart

Shown = tuple[str, ...]
"""SHA-256 of the images of a prompt, in order."""


@dataclass(frozen=True)
class Stored:
    """Keys and values of a prefix of several sequences, each with its images.

    Attributes:
        ids: Token ids of the prefix, which ends with an image token.
        shown: Images of each sequence.
        cache: Keys and values.
        lag: As `lmod_train.models.chat.prefixes.Prefix.lag`.
    """

    ids: tuple[int, ...]
    shown: list[Shown]
    cache: Any
    lag: Tensor


class Kept:
    """What is kept of the images of a batch for the next batch about the same images; at first nothing.

    It belongs to one responder with fixed weights, and holds the keys and values of one batch.
    """

    def __init__(self) -> None:
        self._embedded: dict[str, Encoded] = {}
        self._prefixes: list[Stored] = []
        self._names: list[str] = []
        self.begun = False

    def begin(self, batch: ChatBatch) -> None:
        """Begin a batch; keep nothing of images that it does not show.

        Args:
            batch: Batch whose records state the SHA-256 of every image; otherwise nothing is kept.
        """
        self._names = _names(batch)
        self.begun = bool(self._names) and bool(batch.rounds_left or self._embedded)
        if not self.begun or not set(self._names) & self._embedded.keys():
            self.clear()

    def end(self, batch: ChatBatch) -> None:
        """End a batch; keep nothing if it is the last one about its images."""
        if not batch.rounds_left:
            self.clear()

    def clear(self) -> None:
        """Free what is kept."""
        self._embedded, self._prefixes = {}, []

    def encode(self, network: Any, images: Images) -> Encoded:
        """Return the embeddings of the batch's images; those that are kept are not computed again."""
        if not self.begun:
            return encode_apart(network, images)
        new = [i for i, name in enumerate(self._names) if name not in self._embedded]
        made = encode_apart(network, images.part(new))
        self._embedded |= {self._names[i]: made.of_image(place) for place, i in enumerate(new)}
        return Encoded.joined([self._embedded[name] for name in self._names])

    def find(self, ids: Sequence[int], images: Sequence[tuple[int, ...]]) -> tuple[Any, Tensor] | None:
        """Return keys and values of a prefix, and its lag, for sequences with these images; None if not kept.

        Args:
            ids: Token ids of the prefix.
            images: Indices of the images of each sequence in the batch.
        """
        wanted = [self._shown(own) for own in images]
        for stored in self._prefixes if self.begun else ():
            if stored.ids == tuple(ids) and set(wanted) <= set(stored.shown):
                rows = [stored.shown.index(shown) for shown in wanted]
                return _selected(stored.cache, rows), stored.lag[rows]
        return None

    def store(self, ids: Sequence[int], images: Sequence[tuple[int, ...]], cache: Any, lag: Tensor) -> None:
        """Keep a copy of the keys and values of a prefix.

        Args:
            ids: Token ids of the prefix.
            images: Indices of the images of each sequence in the batch.
            cache: Keys and values, which the caller may change afterwards.
            lag: As `lmod_train.models.chat.prefixes.Prefix.lag`.
        """
        if self.begun:
            self._prefixes.append(Stored(tuple(ids), [self._shown(own) for own in images], deepcopy(cache), lag))

    def _shown(self, own: tuple[int, ...]) -> Shown:
        return tuple(self._names[i] for i in own)


def _names(batch: ChatBatch) -> list[str]:
    """Return the SHA-256 of each distinct image of a batch; [] if a record does not state it."""
    found: dict[int, str] = {}
    for record, own in zip(batch.records, batch.images_of, strict=True):
        found |= dict(zip(own, record.image_sha256, strict=False))
    known = [found.get(i, "") for i in range(len(batch.images))]
    return known if all(known) else []


def _selected(cache: Any, rows: Sequence[int]) -> Any:
    """Return a copy of some sequences of a cache."""
    made = copy(cache)
    made.layers = []
    for layer in cache.layers:
        own = copy(layer)
        own.keys, own.values = (part[torch.tensor(rows, device=part.device)] for part in (layer.keys, layer.values))
        made.layers.append(own)
    return made
