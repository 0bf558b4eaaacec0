"""Replies of a vision-language model to a batch of records."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import torch

from lmod_train.chat.batch import ChatBatch
from lmod_train.chat.dialect import Dialect
from lmod_train.chat.encoding import encode
from lmod_train.chat.greedy import greedy
from lmod_train.chat.likelihood import choice_likelihoods
from lmod_train.chat.prefixes import Asked
from lmod_train.errors import BadArgument
from lmod_train.types import Batch, Likelihoods, Reply


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
    asked = Asked(model, encoded, prompts, own.images_of, ends, int(dialect.tokenizer.pad_token_id))
    made = greedy(asked, decoding.max_new_tokens)
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


def end_tokens(model: Any, dialect: Dialect) -> set[int]:
    """Return the ids of the tokens that end a reply, from model, tokenizer and template."""
    configured: Any = model.generation_config.eos_token_id if model.generation_config else None
    ends = set(configured) if isinstance(configured, list) else {configured} - {None}
    return ends | {dialect.tokenizer.eos_token_id, dialect.end_id}
