"""Keys and values of past tokens in tensors that are allocated once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer


class KeyValues(Cache):
    """Keys and values of all layers, to which new tokens are written in place.

    A `DynamicCache` of transformers is copied as a whole for every new token.

    Args:
        prefixes: Caches of prefixes, each with one or more sequences of one length, from 1; they are emptied. Shorter
            ones are padded with zeros at the end.
        room: Number of tokens to allocate for each sequence, prefix included.
    """

    def __init__(self, prefixes: Sequence[Cache], room: int) -> None:
        columns = max(prefix.get_seq_length() for prefix in prefixes)
        layers = zip(*(prefix.layers for prefix in prefixes), strict=True)
        super().__init__(layers=[_Layer(of_each, columns, room) for of_each in layers])

    @property
    def full(self) -> int:
        """Number of tokens that are allocated for each sequence."""
        layer: Any = self.layers[0]
        return int(layer.room)

    def rearrange(self, sequences: Tensor, columns: Tensor, room: int) -> None:
        """Keep some sequences, and of these some tokens, in newly allocated tensors.

        Args:
            sequences: Indices of the sequences to keep.
            columns: Indices of the tokens to keep, in ascending order.
            room: Number of tokens to allocate for each sequence.
        """
        for layer in self.layers:
            layer.rearrange(sequences, columns, room)  # type: ignore[union-attr]


class _Layer(DynamicLayer):
    """Keys and values of one layer; `keys` and `values` are the columns in use.

    Every layer holds all tokens, also one with a sliding window: the mask decides what is attended to.
    """

    keys: Tensor
    values: Tensor

    def __init__(self, prefixes: Sequence[Any], columns: int, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(prefixes[0].keys, prefixes[0].values)
        self._all = [_allocated([getattr(p, name) for p in prefixes], room) for name in ("keys", "values")]
        for prefix in prefixes:
            prefix.keys = prefix.values = None  # so that memory is freed layer by layer
        self._use(columns)

    @property
    def room(self) -> int:
        return self._all[0].shape[2]

    def _use(self, columns: int) -> None:
        self.keys, self.values = (whole[:, :, :columns] for whole in self._all)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        begin = self.get_seq_length()
        self._use(begin + key_states.shape[2])
        self.keys[:, :, begin:], self.values[:, :, begin:] = key_states, value_states
        return self.keys, self.values

    def rearrange(self, sequences: Tensor, columns: Tensor, room: int) -> None:
        used = self.keys, self.values
        self._all = [_allocated([part[sequences].index_select(2, columns)], room) for part in used]
        self._use(len(columns))


def _allocated(parts: Sequence[Tensor], room: int) -> Tensor:
    """Return (sequences, heads, room, width) that begins with the parts, each at the first column, and is 0 behind."""
    _, heads, _, width = parts[0].shape
    made = parts[0].new_zeros(sum(len(p) for p in parts), heads, room, width)
    for place, part in zip(made.split([len(p) for p in parts]), parts, strict=True):
        place[:, :, : part.shape[2]] = part
    return made
