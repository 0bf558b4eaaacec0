"""Padded training sequences from prompt and answer ids, with the loss on the answers and their end tokens only.

A sequence holds records about the same images: the common prefix of their prompts once, then the rest of the prompt
and the answer of each record. No question attends to another (`lmod_train.models.chat.masks`), and each token has the
position that it would have in a sequence of its record alone, so that loss and gradients are those of one record per
sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

IGNORED = -100
"""Label of a token without a loss."""


@dataclass(frozen=True)
class Sequences:
    """Token ids with labels, weights, positions and segments; all tensors (sequences, longest), padded on the right.

    Attributes:
        input_ids: Token ids, image tokens expanded.
        labels: Ids of answer tokens, -100 elsewhere.
        weights: One over the length of the answer on its tokens, 0 elsewhere; those of an answer sum to 1, and those of
            an explanation behind it to 1 more, so that the answer keeps its weight.
        place: Position that the token would have in a sequence of its record alone, from 0.
        segment: 0 for the shared prefix, 1, 2, ... for each record, -1 for padding.
        records: Number of records.
        images: Indices of the images of all sequences, in the order of their places.
    """

    input_ids: Tensor
    labels: Tensor
    weights: Tensor
    place: Tensor
    segment: Tensor
    records: int
    images: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether any sequence holds several records."""
        return bool((self.segment > 1).any())

    def predicting(self) -> Tensor:
        """Return the places whose next token has a loss, boolean (sequences, longest)."""
        return functional.pad(self.labels[:, 1:] != IGNORED, (0, 1), value=False)


def common(prompts: Sequence[Sequence[int]]) -> int:
    """Return the number of leading tokens that all prompts share, at most all but one of the shortest of several.

    The last token of a prompt is never shared, as the first token of its answer is predicted there. For a single prompt
    the result is its length.

    Example:
        >>> common([[1, 5, 5, 8], [1, 5, 5, 9]]), common([[1, 5], [1, 5, 6]]), common([[1, 5]])
        (3, 1, 2)
    """
    if len(prompts) == 1:
        return len(prompts[0])
    shared = min(len(p) for p in prompts) - 1
    for first, second in pairwise(prompts):
        shared = next((i for i in range(shared) if first[i] != second[i]), shared)
    return shared


def pack(
    rows: Sequence[Sequence[int]],
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    images: Sequence[tuple[int, ...]],
    pad: int,
    device: torch.device | str = "cpu",
    leads: Sequence[int] = (),
) -> Sequences:
    """Return records as padded sequences, one for each row of `rows`.

    Args:
        rows: Indices of the records of each sequence; see `lmod_train.models.chat.shared_prefix`. Without any, the
            result is one sequence of two padding tokens with weight 0, as every process must run the network.
        prompts: Token ids of each record's prompt, image tokens expanded.
        answers: Token ids of each answer, end token included; none may be empty.
        images: Indices of the images of each record, () for none; equal for the records of a sequence.
        pad: Id of the padding token.
        device: Device of the result.
        leads: Number of tokens of each answer in front of an explanation, 0 for an answer alone; empty for none.

    Raises:
        ValueError: An answer is empty.

    Example:
        >>> made = pack([[0, 1]], [[1, 5, 6], [1, 5, 7]], [[8, 2], [9, 3, 2]], [(0,), (0,)], pad=0)
        >>> made.input_ids.tolist(), made.labels.tolist()
        ([[1, 5, 6, 8, 2, 7, 9, 3, 2]], [[-100, -100, -100, 8, 2, -100, 9, 3, 2]])
        >>> made.place.tolist(), made.segment.tolist()
        ([[0, 1, 2, 3, 4, 2, 3, 4, 5]], [[0, 0, 1, 1, 1, 2, 2, 2, 2]])
    """
    if not all(answers[i] for row in rows for i in row):
        raise ValueError("an answer has no tokens, so that it has no loss")
    parts = leads or [0] * len(answers)
    laid = [_lay([(prompts[i], answers[i], parts[i]) for i in row]) for row in rows] or [_nothing(pad)]
    longest = max(len(ids) for ids, *_ in laid)

    def column(which: int, fill: float) -> Tensor:
        values = [one[which] for one in laid]
        return torch.tensor([[*v, *[fill] * (longest - len(v))] for v in values], device=device)

    shown = tuple(image for row in rows for image in images[row[0]])
    return Sequences(
        input_ids=column(0, pad),
        labels=column(1, IGNORED),
        weights=column(2, 0.0),
        place=column(3, 0),
        segment=column(4, -1),
        records=sum(map(len, rows)),
        images=shown,
    )


_Laid = tuple[list[int], list[int], list[float], list[int], list[int]]


def _lay(records: Sequence[tuple[Sequence[int], Sequence[int], int]]) -> _Laid:
    """Return ids, labels, weights, places and segments of one sequence, without padding."""
    first, shared = records[0][0], common([prompt for prompt, *_ in records])
    ids, labels, weights = list(first[:shared]), [IGNORED] * shared, [0.0] * shared
    place, segment = list(range(shared)), [0] * shared
    for number, (prompt, answer, lead) in enumerate(records, 1):
        own = prompt[shared:]
        ids += [*own, *answer]
        labels += [*[IGNORED] * len(own), *answer]
        halves = (lead, len(answer) - lead) if 0 < lead < len(answer) else (len(answer),)
        weights += [*[0.0] * len(own), *(1 / half for half in halves for _ in range(half))]
        place += range(shared, len(prompt) + len(answer))
        segment += [number] * (len(own) + len(answer))
    return ids, labels, weights, place, segment


def _nothing(pad: int) -> _Laid:
    return [pad, pad], [IGNORED, pad], [0.0, 0.0], [0, 1], [0, 0]
