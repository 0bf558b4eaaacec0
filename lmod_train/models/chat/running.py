"""Sequences in generation: the questions about an image behind their common prefix, and their newest tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.key_values import KeyValues
from lmod_train.models.chat.masks import dense_attention, masks_of_last
from lmod_train.models.chat.prefixes import Asked, Prefix

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
        return [*known, *([self._forward(questions)] if _width(questions) else [])]

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

    def _forward(self, tokens: list[list[Token]]) -> Scores:
        """Compute the next tokens of each sequence, padded at the end."""
        width, padding = _width(tokens), Token(self._asked.pad, -2, 0, last=False)
        padded = [[*own, *[padding] * (width - len(own))] for own in tokens]
        ids, row, place, last = torch.tensor(padded, device=self.place.device).unbind(-1)
        self.place, self.segment = torch.cat([self.place, place], 1), torch.cat([self.segment, row + 1], 1)
        model, positions = self._asked.model, place + self._lag
        with dense_attention(model):
            logits = model(
                input_ids=ids,
                attention_mask=masks_of_last(model, self, width) if self._masked else None,
                position_ids=positions.expand(3, -1, -1) if family_of(model).three_axis else positions,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=last.bool(),
            ).logits
        return [t.row for own in tokens for t in own if t.last], logits

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
