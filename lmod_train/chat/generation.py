"""Greedy generation that computes each image and the common prefix of its questions once.

The prefix (system text, image, first words) is prefilled once per image; its key-value cache is then repeated for the
questions that continue it. Twelve questions about one image of 576 tokens cost about a fifth of twelve single calls.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from lmod_train.chat.batch import ChatBatch
from lmod_train.chat.dialect import Dialect
from lmod_train.chat.encoding import Encoded, encode
from lmod_train.chat.family import family_of
from lmod_train.chat.likelihood import Likelihoods, choice_likelihoods
from lmod_train.chat.sequences import common
from lmod_train.errors import BadArgument
from lmod_train.types import Batch, Reply

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Decoding:
    """Decoding settings: greedy, as in the papers (temperature 0, one beam).

    Attributes:
        max_new_tokens: Maximum length of a reply in tokens; 512 in LMOD's Table 6.
        likelihoods: Whether the log-likelihood of every choice is computed beside the reply, see `chat.likelihood`.
    """

    max_new_tokens: int = 512
    likelihoods: Likelihoods = "none"

    def __post_init__(self) -> None:
        """Check that a reply has at least one token."""
        if self.max_new_tokens < 1:
            raise BadArgument("max_new_tokens", self.max_new_tokens, "at least 1 token", "leave it out for 512")

    def __str__(self) -> str:
        settings = {"do_sample": False, "max_new_tokens": self.max_new_tokens, "num_beams": 1}
        wanted = {} if self.likelihoods == "none" else {"likelihoods": self.likelihoods}
        return json.dumps(settings | wanted, sort_keys=True)


@torch.no_grad()
def respond(model: Any, dialect: Dialect, batch: Batch, decoding: Decoding, name: str, step: int = 0) -> list[Reply]:
    """Return the reply to every record of a batch.

    Args:
        model: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that collated the batch.
        batch: Records with their images and prompt ids.
        decoding: Decoding settings.
        name: Name of the model in the replies.
        step: Optimiser steps of the checkpoint, for the key of the replies.

    Returns:
        One reply per record, in the batch's order; an empty batch gives an empty list.
    """
    began = time.perf_counter()
    own = ChatBatch.of(batch)
    prompts, ends = own.prompt_ids, end_tokens(model, dialect)
    encoded = encode(model, own.images)
    asked = _Asked(model, encoded, prompts, own.images_of, ends, _pad(dialect))
    made: list[list[int]] = [[] for _ in prompts]
    for rows in _by_prefix(prompts, model.config.image_token_id):
        for row, tokens in zip(rows, _generate(asked, rows, decoding.max_new_tokens), strict=True):
            made[row] = tokens
    likelihoods = choice_likelihoods(model, dialect, own, encoded, decoding.likelihoods)
    seconds = (time.perf_counter() - began) / max(len(batch), 1)
    return [
        Reply(
            id=record.id,
            reply=dialect.tokenizer.decode(tokens, skip_special_tokens=True).strip(),
            finish_reason="stop" if tokens and tokens[-1] in ends else "length",
            rendered=own.rendered[i],
            step=step,
            tokens_in=len(prompts[i]),
            tokens_out=len(tokens),
            seconds=round(seconds, 4),
            model=name,
            settings=str(decoding),
            likelihoods=likelihoods[i],
        )
        for i, (record, tokens) in enumerate(zip(batch.records, made, strict=True))
    ]


@dataclass(frozen=True)
class _Asked:
    """A batch of prompts with the model, image embeddings and end tokens to answer it."""

    model: Any
    images: Encoded
    prompts: Sequence[Sequence[int]]
    images_of: Sequence[tuple[int, ...]]
    ends: set[int]
    pad: int


def _pad(dialect: Dialect) -> int:
    return int(dialect.tokenizer.pad_token_id)


def end_tokens(model: Any, dialect: Dialect) -> set[int]:
    """Return the ids of the tokens that end a reply, from model, tokenizer and template."""
    configured: Any = model.generation_config.eos_token_id if model.generation_config else None
    ends = set(configured) if isinstance(configured, list) else {configured} - {None}
    return ends | {dialect.tokenizer.eos_token_id, dialect.end_id}


def _by_prefix(prompts: Sequence[Sequence[int]], image_token: int) -> list[list[int]]:
    """Return rows in groups whose prompts are equal up to their last image token, for one prefill a group."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, prompt in enumerate(prompts):
        last = max((i for i, t in enumerate(prompt) if t == image_token), default=-1)
        groups.setdefault(tuple(prompt[: last + 1]), []).append(row)
    return list(groups.values())


def _generate(asked: _Asked, rows: Sequence[int], new: int) -> list[list[int]]:
    """Return the reply tokens of rows with one prefix, generated together up to the model's sliding window.

    Rows that go beyond the window are generated again in groups of equal prompt length: the padding between the prefix
    and a shorter question counts as places in the window, so that a row with padding would see too little.
    """
    window = family_of(asked.model).sliding_window
    longest = max(len(asked.prompts[r]) for r in rows)
    even = all(len(asked.prompts[r]) == longest for r in rows)
    room = new if window is None or even else min(new, window - longest)
    made = dict(zip(rows, _continue(asked, rows, room), strict=True)) if room > 0 else {}
    lengths: dict[int, list[int]] = {}
    for row in rows:
        if room < new and not (row in made and made[row] and made[row][-1] in asked.ends):
            lengths.setdefault(len(asked.prompts[row]), []).append(row)
    if lengths:
        _warn_of_window(window or 0)
    for same in lengths.values():
        made |= dict(zip(same, _continue(asked, same, new), strict=True))
    return [made[row] for row in rows]


@cache
def _warn_of_window(window: int) -> None:
    """Log once per process that rows beyond the window are generated by prompt length."""
    _LOG.warning(
        "Prompts and replies reach beyond the model's sliding window of %d tokens: questions of different lengths are "
        "answered one length at a time there, which is slower and gives the same replies. Shorter images, questions or "
        "max_new_tokens avoid it.",
        window,
    )


def _continue(asked: _Asked, rows: Sequence[int], new: int) -> list[list[int]]:
    """Return the reply tokens of rows: prefill the common prefix once per image, repeat its cache, decode greedily."""
    device = asked.model.device
    prompts = [asked.prompts[r] for r in rows]
    shared = min(common(prompts), min(map(len, prompts)) - 1)  # at least one token is left, for a single prompt too
    cache = _prefill(asked, prompts[0][:shared], [asked.images_of[r] for r in rows])
    longest = max(len(p) for p in prompts)
    ids = torch.full((len(rows), longest), asked.pad, device=device)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):  # padding goes between prefix and question and is masked
        own = longest - len(prompt) + shared
        ids[row, :shared], ids[row, own:] = torch.tensor(prompt[:shared]), torch.tensor(prompt[shared:])
        mask[row, :shared], mask[row, own:] = 1, 1
    out = asked.model.generate(
        input_ids=ids,
        attention_mask=mask,
        past_key_values=cache,
        max_new_tokens=new,
        do_sample=False,
        num_beams=1,
        synced_gpus=False,  # parameters are gathered: ranks need not run in lockstep
        eos_token_id=sorted(asked.ends),
        pad_token_id=asked.pad,
    )[:, longest:]
    return [_until_end(tokens, asked.ends) for tokens in out.tolist()]


def _prefill(asked: _Asked, prefix: Sequence[int], images: Sequence[tuple[int, ...]]) -> Any:
    """Return the key-value cache of the prefix for each row, computed once for rows with the same images.

    None if the prefix is empty.
    """
    if not prefix:
        return None
    distinct = list(dict.fromkeys(images))
    shown = [image for own in distinct for image in own]  # rows of one prefix either all have images or none has
    ids = torch.tensor([prefix] * len(distinct), device=asked.model.device)
    given = asked.images.inputs(ids, shown)
    cache = asked.model(input_ids=ids, use_cache=True, logits_to_keep=1, **given).past_key_values
    chosen = torch.tensor([distinct.index(own) for own in images], device=ids.device)
    cache.batch_select_indices(chosen)
    if family_of(asked.model).three_axis:
        # difference of position and index after an image; `generate` reads it from the model
        lag = asked.model.model.rope_deltas if shown else torch.zeros_like(ids[:, :1])
        asked.model.model.rope_deltas = lag[chosen]
    return cache


def _until_end(tokens: list[int], ends: set[int]) -> list[int]:
    """Return the tokens up to and including the first end token."""
    end = next((i for i, t in enumerate(tokens) if t in ends), len(tokens) - 1)
    return tokens[: end + 1]
