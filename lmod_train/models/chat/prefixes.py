"""Prefixes of prompts, computed once for all questions that begin with them.

Questions about the same images begin alike: system text, images, first words. Twelve questions about an image of 576
tokens have 1,200 tokens in this way instead of 7,600.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast

from lmod_train.models.chat.encoding import Encoded
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.image_cache import Kept
from lmod_train.models.chat.sequences import common

ROOM = 4
"""Number of times its prefix that the questions of a sequence may be long; further ones are in another sequence."""

CACHE = "cache" if "cache" in CausalLMOutputWithPast.__annotations__ else "past_key_values"
"""What networks of transformers call the keys and values that they take and return; before 5.24 it is the second."""


@dataclass(frozen=True)
class Asked:
    """Prompts with the model and the image embeddings to answer them.

    Attributes:
        model: A `...ForConditionalGeneration` of a known family, adapters included.
        images: Embeddings of the distinct images.
        prompts: Token ids of each prompt, image tokens expanded.
        images_of: For each prompt the indices of its images, () for none.
        ends: Tokens that end a reply.
        pad: Id of the padding token.
        stops: Function of the tokens of a reply, whether the last of them ends it though it is no end token.
        kept: What is kept of the images for later batches.
        only: Index of a prompt -> token ids of the replies that it may have; a prompt that is not there may have any.
    """

    model: Any
    images: Encoded
    prompts: Sequence[Sequence[int]]
    images_of: Sequence[tuple[int, ...]]
    ends: set[int]
    pad: int
    stops: Callable[[Sequence[int]], bool] = lambda _: False
    kept: Kept = field(default_factory=Kept)
    only: Mapping[int, Sequence[Sequence[int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Prefix:
    """A computed prefix of several sequences, each of which has one or more prompts.

    Attributes:
        rows: Indices of the prompts of each sequence.
        length: Number of tokens of the prefix; that of the prompt if there is only one.
        cache: Its keys and values, for each sequence.
        lag: What the position of a later token differs by from its index, for each sequence (sequences, 1).
        logits: Logits that follow the prefix, for each sequence (sequences, vocabulary); not needed, and none, of a
            prefix that is shorter than its prompts.
    """

    rows: list[list[int]]
    length: int
    cache: Any
    lag: Tensor
    logits: Tensor | None


def alike(asked: Asked, rows: Sequence[int]) -> Iterator[list[int]]:
    """Yield prompts in groups that have a common prefix, which includes their images.

    A prompt that begins like no other, or ends with an image, is a group of its own. On a CPU prompts with other images
    are another group: what is computed of one image stays in its cache, and more processors than one share each matrix.

    Args:
        asked: The prompts.
        rows: Indices of those to group.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        prompt = asked.prompts[row]
        end = _behind_images(asked, prompt)
        alone = (row,) if end == len(prompt) else ()
        shown = asked.images_of[row] if asked.model.device.type == "cpu" else ()
        groups.setdefault((*prompt[:end], -1, *shown, -1, *alone), []).append(row)
    for group in groups.values():
        together = common([asked.prompts[row] for row in group]) > 0
        yield from [group] if together else ([row] for row in group)


def _behind_images(asked: Asked, prompt: Sequence[int]) -> int:
    """Return the index of the first token behind the images of a prompt, 0 without images."""
    token = family_of(asked.model).image_token_id
    return max((i + 1 for i, t in enumerate(prompt) if t == token), default=0)


def prefilled(asked: Asked, rows: Sequence[int], whole: bool = True) -> Prefix:
    """Return the prefix of prompts, computed once for those with the same images.

    Args:
        asked: The prompts.
        rows: Indices of those that have the prefix, a group of `alike`.
        whole: Whether the cache holds all tokens in layers with a sliding window too; the network's own does not.
    """
    prompts = [asked.prompts[row] for row in rows]
    prefix = prompts[0][: common(prompts)]
    distinct = list(dict.fromkeys(asked.images_of[row] for row in rows))
    end = _behind_images(asked, prefix) if whole and asked.kept.begun else 0
    if 0 < end < len(prefix):  # the words behind the images are those of this round
        prefix = prefix[:end]
        found = asked.kept.find(prefix, distinct)
        cache, lag, logits = (*found, None) if found else _computed(asked, prefix, distinct, whole)
        if not found:
            asked.kept.store(prefix, distinct, cache, lag)
    else:
        cache, lag, logits = _computed(asked, prefix, distinct, whole)
    made = [(images, part) for images in distinct for part in _sequences(asked, rows, images, len(prefix))]
    if len(made) > len(distinct):
        chosen = torch.tensor([distinct.index(images) for images, _ in made], device=lag.device)
        cache.batch_select_indices(chosen)
        lag, logits = lag[chosen], None if logits is None else logits[chosen]
    return Prefix([part for _, part in made], len(prefix), cache, lag, logits)


def _computed(
    asked: Asked, prefix: Sequence[int], distinct: Sequence[tuple[int, ...]], whole: bool
) -> tuple[Any, Tensor, Tensor]:
    """Return keys and values of a prefix for each set of images, the lag and the logits that follow."""
    shown = [image for own in distinct for image in own]  # prompts of one prefix either all have images or none has
    ids = torch.tensor([list(prefix)] * len(distinct), device=asked.model.device)
    given = asked.images.inputs(ids, shown)
    if whole:
        given[CACHE] = DynamicCache()
    last = torch.zeros_like(ids, dtype=torch.bool)
    last[:, -1] = True
    with last_layer_at(asked.model, last):
        out = asked.model(input_ids=ids, use_cache=True, logits_to_keep=1, **given)
    lag = torch.zeros_like(ids[:, :1])
    if family_of(asked.model).three_axis and shown:  # the network leaves it after an image
        lag = asked.model.model.rope_deltas.to(lag)
    return out[CACHE], lag, out.logits[:, -1]


@contextmanager
def last_layer_at(network: Any, needed: Tensor) -> Iterator[None]:
    """Compute only the keys and values of the last layer for tokens whose logits are not needed.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        needed: Whether the logits of a token are needed (sequences, tokens).
    """

    def few(module: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (given[0][needed][None],)

    def every(module: Any, given: Any, out: Tensor) -> Tensor:
        made = out.new_zeros(*needed.shape, out.shape[-1])
        made[needed] = out[0]
        return made

    layer = network.get_submodule(family_of(network).language_model).layers[-1]
    parts = layer.self_attn.q_proj, layer.self_attn.o_proj, layer.mlp
    hooks = [
        hook for part in parts for hook in (part.register_forward_pre_hook(few), part.register_forward_hook(every))
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _sequences(asked: Asked, rows: Sequence[int], images: tuple[int, ...], shared: int) -> Iterator[list[int]]:
    """Yield the prompts of each sequence with these images.

    Every token is compared with all of its sequence, so that many long questions about a short prefix are divided.
    """
    few: list[int] = []
    tokens = 0
    for row in (row for row in rows if asked.images_of[row] == images):
        own = len(asked.prompts[row]) - shared
        if few and tokens + own > ROOM * shared:
            yield few
            few, tokens = [], 0
        few.append(row)
        tokens += own
    yield few
