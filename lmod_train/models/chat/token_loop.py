"""The tokens of many replies together: each prefix is computed once, and each reply sees its own question alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import LogitsProcessorList
from transformers.cache_utils import Cache, DynamicLayer

from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.masks import (
    dense_attention,
    masks_of_last,
    sliceable,
    sliced_attention,
    unshareable,
)
from lmod_train.models.chat.prefixes import CACHE, Asked, Prefix, alike, last_layer_at, prefilled

_Adjust = Callable[[int, Sequence[int], Tensor], Tensor]
"""Function of a prompt's index, its reply so far and the logits (1, vocabulary) to the adjusted logits."""

_Pick = Callable[[Sequence[int], Tensor], list[int]]
"""Function of the indices of prompts and their logits (prompts, vocabulary) to the next token of each."""


@torch.no_grad()
def decoded(asked: Asked, new: int, temperature: float = 0.0, drawn: Sequence[Random] = ()) -> list[list[int]]:
    """Return the tokens of each reply, up to and including the first end token.

    Args:
        asked: The prompts.
        new: Maximum number of tokens of a reply.
        temperature: 0 for the most likely token in each step; else tokens are drawn.
        drawn: Random numbers of each prompt, one a token, so that a reply does not depend on the others.
    """
    made: list[list[int]] = [[] for _ in asked.prompts]
    pick = partial(_drawn, temperature=temperature, drawn=drawn) if temperature else _likeliest
    with dense_attention(asked.model):
        alone = bool(unshareable(asked.model))  # then one prompt after the other
    every = list(range(len(made)))
    for together in [[row] for row in every] if alone else [every] if every else []:
        prefixes = [prefilled(asked, group, whole=not alone) for group in alike(asked, together)]
        _decode(asked, Running(asked, prefixes, new, alone), made, new, pick)
    return made


def _decode(asked: Asked, running: Running, made: list[list[int]], new: int, pick: _Pick) -> None:
    """Append the tokens of the replies to `made`."""
    adjust = _adjustment(asked, new)
    scores = running.first()
    while scores:
        for row, token in _chosen(asked, scores, made, adjust, pick):
            made[row].append(token)
            if token in asked.ends or len(made[row]) == new or asked.stops(made[row]):
                running.end(row)
        scores = running.step(made)


def _chosen(
    asked: Asked, scores: Sequence[Scores], made: list[list[int]], adjust: _Adjust | None, pick: _Pick
) -> Iterator[tuple[int, int]]:
    """Yield each prompt's index with its next token."""
    for rows, logits in scores:
        values = logits.float()
        if adjust is not None:
            values = torch.cat([adjust(row, made[row], values[i : i + 1]) for i, row in enumerate(rows)])
        for row, token, own in zip(rows, pick(rows, values), values, strict=True):
            yield row, next_of(asked.only[row], made[row], own) if row in asked.only else token


def _likeliest(rows: Sequence[int], logits: Tensor) -> list[int]:
    tokens: list[int] = logits.argmax(-1).tolist()
    return tokens


def _drawn(rows: Sequence[int], logits: Tensor, temperature: float, drawn: Sequence[Random]) -> list[int]:
    """Return a token of each row, drawn by one random number: the first whose cumulative probability exceeds it."""
    apart = logits.double() - logits.amax(-1, keepdim=True).double()  # so that no small temperature overflows
    shares = (apart / temperature).softmax(-1).cumsum(-1)
    numbers = torch.tensor([[drawn[row].random()] for row in rows], dtype=shares.dtype, device=shares.device)
    found = torch.searchsorted(shares, numbers * shares[:, -1:], right=True).squeeze(-1)
    tokens: list[int] = found.clamp(max=logits.shape[-1] - 1).tolist()
    return tokens


def next_of(replies: Sequence[Sequence[int]], begun: Sequence[int], scores: Tensor) -> int:
    """Return the likeliest token that continues a reply as one of several; -1 if it is none of them, or whole.

    Args:
        replies: Token ids of the replies, each with its end token.
        begun: Token ids of the reply so far.
        scores: Score of each token (vocabulary); a choice may be one that a penalty rules out everywhere else.
    """
    at = len(begun)
    allowed = sorted({ids[at] for ids in replies if len(ids) > at and list(ids[:at]) == list(begun)})
    return allowed[int(scores[allowed].argmax())] if allowed else -1


def _adjustment(asked: Asked, new: int) -> _Adjust | None:
    """Return what the model's generation_config does to logits (repetition penalty ...), applied as in `generate`.

    None if it does nothing.
    """
    model = asked.model
    if model.generation_config is None:
        return None
    options = {"max_new_tokens": new, "eos_token_id": sorted(asked.ends), "pad_token_id": asked.pad}
    config, _ = model._prepare_generation_config(None, do_sample=False, num_beams=1, **options)
    model._prepare_special_tokens(config, True, device=model.device)

    def of(row: int) -> LogitsProcessorList:
        length = len(asked.prompts[row])
        made: LogitsProcessorList = model._get_logits_processor(config, length, device=model.device, model_kwargs={})
        return made

    if not of(0):
        return None
    every = [of(row) for row in range(len(asked.prompts))]

    def adjust(row: int, reply: Sequence[int], logits: Tensor) -> Tensor:
        ids: Any = torch.tensor([[*asked.prompts[row], *reply]], device=logits.device)
        return every[row](ids, logits)

    return adjust


STEPS = 64
"""Number of steps that memory is allocated for at once."""

Scores = tuple[list[int], Tensor]
"""Indices of prompts, and the logits of the token that follows each (prompts, vocabulary)."""


class Token(NamedTuple):
    """A token to compute.

    Attributes:
        id: Its id.
        row: Index of its prompt; -2 for padding.
        place: Its index in its prompt and reply.
        last: Whether the next token follows it.
    """

    id: int
    row: int
    place: int
    last: bool


class Running:
    """Sequences in generation, with the keys and values of their tokens.

    Args:
        asked: The prompts.
        prefixes: Computed prefixes of those to answer.
        new: Maximum number of tokens of a reply.
        alone: Whether it is one prompt, whose mask the network makes; the cache is then used as it is.

    Attributes:
        rows: Indices of the prompts of each sequence that have not ended.
        place: Index in its prompt and reply of the token in each column (sequences, columns).
        segment: 0 for the prefix, 1 + index of the prompt for its other tokens, -1 for padding.
    """

    def __init__(self, asked: Asked, prefixes: Sequence[Prefix], new: int, alone: bool) -> None:
        self._asked, self._prefixes, self._steps = asked, prefixes, new
        self.rows = [list(rows) for prefix in prefixes for rows in prefix.rows]
        self._masked = sum(map(len, self.rows)) > 1
        self._lag = torch.cat([prefix.lag for prefix in prefixes])
        lengths = torch.tensor([prefix.length for prefix in prefixes for _ in prefix.rows], device=self._lag.device)
        self.place = torch.arange(int(lengths.max()), device=lengths.device).repeat(len(lengths), 1)
        self.segment = torch.where(self.place < lengths[:, None], 0, -1)
        room = self._room(_width(self._questions()))
        self._cache = prefixes[0].cache if alone else KeyValues([prefix.cache for prefix in prefixes], room)

    def first(self) -> list[Scores]:
        """Return the scores of the first token of every reply; compute the questions behind shared prefixes."""
        known = [(p.rows[0], p.logits) for p in self._prefixes if p.logits is not None and self._whole(p)]
        questions = self._questions()
        return [*known, *([self._forward(questions, first=True)] if _width(questions) else [])]

    def _whole(self, prefix: Prefix) -> bool:
        """Return whether a prefix is all of its only prompt."""
        return prefix.length == len(self._asked.prompts[prefix.rows[0][0]])

    def _questions(self) -> list[list[Token]]:
        """Return the tokens of the prompts of each sequence behind its prefix."""
        prompts = self._asked.prompts
        begins = [prefix.length for prefix in self._prefixes for _ in prefix.rows]
        return [
            [Token(prompts[r][i], r, i, i + 1 == len(prompts[r])) for r in rows for i in range(begin, len(prompts[r]))]
            for rows, begin in zip(self.rows, begins, strict=True)
        ]

    def end(self, row: int) -> None:
        """Take a prompt out."""
        for rows in self.rows:
            if row in rows:
                rows.remove(row)

    def step(self, replies: Sequence[Sequence[int]]) -> list[Scores]:
        """Compute the last token of every reply that has not ended, and return the scores of the next ones.

        Args:
            replies: Tokens of the reply to each prompt.
        """
        if not any(self.rows):
            return []
        self._steps -= 1
        self._tidy(max(map(len, self.rows)))
        prompts = self._asked.prompts
        newest = [
            [Token(replies[r][-1], r, len(prompts[r]) + len(replies[r]) - 1, True) for r in rows] for rows in self.rows
        ]
        return [self._forward(newest)]

    def _forward(self, tokens: list[list[Token]], first: bool = False) -> Scores:
        """Compute the next tokens of each sequence, padded at the end.

        Args:
            tokens: The tokens.
            first: Whether they are those of questions, behind their prefixes.
        """
        width, padding = _width(tokens), Token(self._asked.pad, -2, 0, last=False)
        padded = [[*own, *[padding] * (width - len(own))] for own in tokens]
        ids, row, place, last = torch.tensor(padded, device=self.place.device).unbind(-1)
        self.place, self.segment = torch.cat([self.place, place], 1), torch.cat([self.segment, row + 1], 1)
        model, positions = self._asked.model, place + self._lag
        spans = self._spans(tokens) if first and sliceable(model, max(map(len, self._asked.prompts))) else []
        less = last_layer_at(model, last.bool()) if first else nullcontext()
        with sliced_attention(model) if spans else dense_attention(model), less:
            masks = masks_of_last(model, self, width) if self._masked and not spans else None
            logits = model(
                input_ids=ids,
                attention_mask=masks,
                position_ids=positions.expand(3, -1, -1) if family_of(model).three_axis else positions,
                **{CACHE: self._cache},
                use_cache=True,
                logits_to_keep=last.bool(),
                **({"spans": spans} if spans else {}),
            ).logits
        return [t.row for own in tokens for t in own if t.last], logits

    def _spans(self, tokens: list[list[Token]]) -> list[tuple[int, list[tuple[int, int]]]]:
        """Return for each sequence the length of its prefix, and begin and end of each question among its tokens."""
        lengths = [prefix.length for prefix in self._prefixes for _ in prefix.rows]
        ends = [[0, *(i + 1 for i, token in enumerate(own) if token.last)] for own in tokens]
        return [(length, list(pairwise(own))) for length, own in zip(lengths, ends, strict=True)]

    def _tidy(self, width: int) -> None:
        """Remove sequences without questions; with these, and where the room is used up, all tokens that have ended."""
        cache, left = self._cache, [i for i, rows in enumerate(self.rows) if rows]
        used = self.place.shape[1] + width
        if not isinstance(cache, KeyValues) or (len(left) == len(self.rows) and used <= cache.full):
            return
        self.rows = [self.rows[i] for i in left]
        sequences = torch.tensor(left, device=self.place.device)
        alive = torch.tensor([0, *(row + 1 for rows in self.rows for row in rows)], device=self.place.device)
        columns = torch.isin(self.segment[sequences], alive).any(0).nonzero()[:, 0]
        self.place, self.segment = (t[sequences][:, columns] for t in (self.place, self.segment))
        self._lag = self._lag[sequences]
        cache.rearrange(sequences, columns, self._room())

    def _room(self, questions: int = 0) -> int:
        """Return the number of columns of the present tokens, of the questions and of the next steps."""
        ahead = min(STEPS, self._steps) * max(map(len, self.rows))
        return self.place.shape[1] + questions + ahead


def _width(tokens: Sequence[Sequence[Token]]) -> int:
    return max(map(len, tokens))


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
