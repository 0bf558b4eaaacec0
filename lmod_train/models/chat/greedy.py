"""Greedy decoding of many questions together, each prefix once.

The questions about an image are in one sequence with it, as in training (`lmod_train.models.chat.masks`): image and
common words are in memory once, and the newest tokens of all questions attend to them together. Questions do not attend
to each other, and every token has the position that it would have alone, so that the replies are those of `generate`. A
question that has ended takes no further part, and a sequence without questions leaves the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessorList

from lmod_train.models.chat.masks import dense_attention, unshareable
from lmod_train.models.chat.prefixes import Asked, alike, prefilled
from lmod_train.models.chat.running import Running, Scores

_Adjust = Callable[[int, Sequence[int], Tensor], Tensor]
"""Function of a prompt's index, its reply so far and the logits (1, vocabulary) to the adjusted logits."""


@torch.no_grad()
def greedy(asked: Asked, new: int) -> list[list[int]]:
    """Return the tokens of each reply: the most likely one in each step, up to and including the first end token.

    Args:
        asked: The prompts.
        new: Maximum number of tokens of a reply.
    """
    made: list[list[int]] = [[] for _ in asked.prompts]
    with dense_attention(asked.model):
        alone = bool(unshareable(asked.model))  # then one prompt after the other
    every = list(range(len(made)))
    for together in [[row] for row in every] if alone else [every] if every else []:
        prefixes = [prefilled(asked, group, whole=not alone) for group in alike(asked, together)]
        _decode(asked, Running(asked, prefixes, new, alone), made, new)
    return made


def _decode(asked: Asked, running: Running, made: list[list[int]], new: int) -> None:
    """Append the tokens of the replies to `made`."""
    adjust = _adjustment(asked, new)
    scores = running.first()
    while scores:
        for row, token in _chosen(scores, made, adjust):
            made[row].append(token)
            if token in asked.ends or len(made[row]) == new or asked.stops(made[row]):
                running.end(row)
        scores = running.step(made)


def _chosen(scores: Sequence[Scores], made: list[list[int]], adjust: _Adjust | None) -> Iterator[tuple[int, int]]:
    """Yield each prompt's index with its next token."""
    for rows, logits in scores:
        values = logits.float()
        if adjust is not None:
            values = torch.cat([adjust(row, made[row], values[i : i + 1]) for i, row in enumerate(rows)])
        yield from zip(rows, values.argmax(-1).tolist(), strict=True)


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
