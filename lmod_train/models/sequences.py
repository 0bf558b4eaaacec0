"""Prompt and answer ids to padded training sequences whose loss falls on the answer and its end token alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

IGNORED = -100
"""Label of a token that is not learnt."""


def training_sequences(
    prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], pad: int, device: torch.device | str = "cpu"
) -> dict[str, Tensor]:
    """Return `input_ids`, `attention_mask` and `labels`, each (sequences, longest), padded on the right.

    Labels are built from token ids: -100 on the prompt and on padding, the answer's ids elsewhere.

    Args:
        prompts: Token ids of each prompt, image tokens expanded.
        answers: Token ids of each answer, end token included; an empty one has nothing to learn from.
        pad: Id of the padding token.
        device: Where to.

    Raises:
        ValueError: An answer is empty: its loss would be the mean of nothing.

    Example:
        >>> training_sequences([[1, 5, 6], [1, 5]], [[7, 2], [8, 9, 2]], pad=0)["labels"].tolist()
        [[-100, -100, -100, 7, 2], [-100, -100, 8, 9, 2]]
    """
    if not all(answers):
        raise ValueError("an answer without a token cannot be learnt from")
    longest = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
    ids = torch.full((len(prompts), longest), pad)
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, IGNORED)
    for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        end = len(prompt) + len(answer)
        ids[row, :end], mask[row, :end] = torch.tensor([*prompt, *answer]), 1
        labels[row, len(prompt) : end] = torch.tensor(answer)
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device), "labels": labels.to(device)}
