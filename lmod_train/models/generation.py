"""Greedy generation that computes an image and the prompt's common beginning once, however many questions share them.

The prefix (system text, image, first words) is prefilled once per image; its key-value cache is then repeated to the
questions that continue it. Twelve questions about one image of 576 tokens cost about a fifth of twelve single calls.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from lmod_train.models.llava import LlavaDialect
from lmod_train.types import Batch, Reply


@dataclass(frozen=True)
class Decoding:
    """How a reply is decoded: greedy, as in the papers (temperature 0, one beam).

    Attributes:
        max_new_tokens: Longest reply in tokens; LMOD's Table 6 says 512.
    """

    max_new_tokens: int = 512

    def __str__(self) -> str:
        return json.dumps({"do_sample": False, "max_new_tokens": self.max_new_tokens, "num_beams": 1}, sort_keys=True)


def image_features(model: Any, pixels: Tensor) -> Tensor:
    """Return projected image embeddings (images, tokens, width) of pixels (images, 3, side, side), of any type."""
    tower = next(model.model.vision_tower.parameters()).dtype
    mixed = any(p.dtype != tower for p in model.model.multi_modal_projector.parameters())  # one that learns: float32
    with torch.autocast(pixels.device.type, tower, enabled=mixed):
        made = model.get_image_features(pixels.to(tower), return_dict=True).pooler_output
    return torch.stack(list(made))


@torch.no_grad()
def respond(
    model: Any, dialect: LlavaDialect, batch: Batch, decoding: Decoding, name: str, step: int = 0
) -> list[Reply]:
    """Answer every record of a batch.

    Args:
        model: A `LlavaForConditionalGeneration`, adapters included.
        dialect: The dialect that made the batch.
        batch: Records with their images and prompt ids.
        decoding: How to decode.
        name: What the reply calls the model.
        step: Checkpoint step, for the reply's key.

    Returns:
        One reply per record, in the batch's order; an empty batch gives an empty list.
    """
    began = time.perf_counter()
    prompts: list[list[int]] = batch.tensors["prompt_ids"]
    features = image_features(model, batch.tensors["images"]) if "images" in batch.tensors else None
    made: list[list[int]] = [[] for _ in prompts]
    for rows in _by_prefix(prompts, model.config.image_token_id):
        out = _generate(model, dialect, features, batch, rows, decoding)
        for row, tokens in zip(rows, out, strict=True):
            made[row] = tokens
    seconds = (time.perf_counter() - began) / max(len(batch), 1)
    ends = _end_tokens(model, dialect)
    return [
        Reply(
            id=record.id,
            reply=dialect.tokenizer.decode(tokens, skip_special_tokens=True).strip(),
            finish_reason="stop" if tokens and tokens[-1] in ends else "length",
            rendered=batch.tensors["rendered"][i],
            step=step,
            tokens_in=len(prompts[i]),
            tokens_out=len(tokens),
            seconds=round(seconds, 4),
            model=name,
            settings=str(decoding),
        )
        for i, (record, tokens) in enumerate(zip(batch.records, made, strict=True))
    ]


def _end_tokens(model: Any, dialect: LlavaDialect) -> set[int]:
    configured: Any = model.generation_config.eos_token_id if model.generation_config else None
    ends = set(configured) if isinstance(configured, list) else {configured} - {None}
    return ends | {dialect.tokenizer.eos_token_id}


def _by_prefix(prompts: Sequence[Sequence[int]], image_token: int) -> list[list[int]]:
    """Group rows whose prompts are equal up to their last image token, so that one prefill serves the group."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, prompt in enumerate(prompts):
        last = max((i for i, t in enumerate(prompt) if t == image_token), default=-1)
        groups.setdefault(tuple(prompt[: last + 1]), []).append(row)
    return list(groups.values())


def _common(prompts: Sequence[Sequence[int]]) -> int:
    """Return how many leading tokens all prompts share, leaving every prompt at least one of its own."""
    shared = min(len(p) for p in prompts) - 1
    for first, second in pairwise(prompts):
        shared = next((i for i in range(shared) if first[i] != second[i]), shared)
    return shared


def _generate(
    model: Any,
    dialect: LlavaDialect,
    features: Tensor | None,
    batch: Batch,
    rows: Sequence[int],
    decoding: Decoding,
) -> list[list[int]]:
    """Prefill the common prefix once per image, repeat its cache to the questions, continue greedily."""
    device, pad = model.device, dialect.tokenizer.pad_token_id
    prompts = [batch.tensors["prompt_ids"][r] for r in rows]
    shared = _common(prompts)
    cache = _prefill(model, prompts[0][:shared], features, [batch.image_of[r] for r in rows])
    longest = max(len(p) for p in prompts)
    ids = torch.full((len(rows), longest), pad, device=device)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):  # padding stands between prefix and question, hidden by the mask
        own = longest - len(prompt) + shared
        ids[row, :shared], ids[row, own:] = torch.tensor(prompt[:shared]), torch.tensor(prompt[shared:])
        mask[row, :shared], mask[row, own:] = 1, 1
    ends = sorted(_end_tokens(model, dialect))
    out = model.generate(
        input_ids=ids,
        attention_mask=mask,
        past_key_values=cache,
        max_new_tokens=decoding.max_new_tokens,
        do_sample=False,
        num_beams=1,
        eos_token_id=ends,
        pad_token_id=pad,
    )[:, longest:]
    return [_until_end(tokens, set(ends)) for tokens in out.tolist()]


def _prefill(model: Any, prefix: Sequence[int], features: Tensor | None, images: Sequence[int]) -> Any:
    """Return the key-value cache of the prefix for each row's image, computed once an image; None without a prefix."""
    if not prefix:
        return None
    distinct = list(dict.fromkeys(images))
    encoded = {}
    if features is not None and min(distinct) >= 0:  # rows of one prefix have an image all, or none
        encoded = {"image": BaseModelOutputWithPooling(pooler_output=list(features[distinct]))}  # type: ignore[arg-type]
    ids = torch.tensor([prefix] * len(distinct), device=model.device)
    cache = model(input_ids=ids, mm_encoder_outputs=encoded, use_cache=True, logits_to_keep=1).past_key_values
    cache.batch_select_indices(torch.tensor([distinct.index(i) for i in images], device=model.device))
    return cache


def _until_end(tokens: list[int], ends: set[int]) -> list[int]:
    """Keep tokens up to and including the first end token."""
    end = next((i for i, t in enumerate(tokens) if t in ends), len(tokens) - 1)
    return tokens[: end + 1]
