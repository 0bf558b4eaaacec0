"""Attention masks of sequences that several questions share: dense, as FlexAttention's blocks, or none on a CPU.

In training a sequence is computed at once; in generation the masks are those of its last tokens, the newest of each
question. A token attends to the tokens before it in the shared prefix and in its own question. Two rules depend on the
network: a sliding window counts positions, not columns, so that later questions still attend to the image; and image
tokens of Gemma 3 attend to one another in both directions. (Both follow transformers' `create_causal_mask` and Gemma
3's `create_masks_for_vision_model`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, create_block_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.sequences import Sequences

Rule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""Function of (sequence, head, query column, key column): whether the query attends to the key; a `mask_mod`."""

Mask = Tensor | BlockMask

_Kind = TypeVar("_Kind", Tensor, BlockMask, Mask)


class Laid(Protocol):
    """Tokens of sequences that questions share, in columns; as `Sequences`.

    Attributes:
        place: Position that the token would have in a sequence of its question alone (sequences, columns).
        segment: 0 for the shared prefix, another number from 1 for each question, -1 for padding.
    """

    @property
    def place(self) -> Tensor: ...  # noqa: D102

    @property
    def segment(self) -> Tensor: ...  # noqa: D102


def image_blocks(is_image: Tensor) -> Tensor:
    """Return the number of each image token's run of image tokens in its sequence, from 0; -1 for other tokens.

    Args:
        is_image: Boolean mask of image tokens (sequences, longest).

    Example:
        >>> image_blocks(torch.tensor([[False, True, True, False, True]])).tolist()
        [[-1, 0, 0, -1, 1]]
    """
    begins = is_image & ~functional.pad(is_image, (1, 0), value=False)[:, :-1]
    return torch.where(is_image, begins.cumsum(1) - 1, -1)


def rule(sequences: Laid, window: int | None = None, blocks: Tensor | None = None) -> Rule:
    """Return the attention rule of sequences.

    Args:
        sequences: As `sequences.pack` returns them, or those of a generation.
        window: Number of positions that a token attends to, itself included; None for all.
        blocks: As `image_blocks` returns them, where tokens of one image attend to one another; None elsewhere.
    """
    segment, place = sequences.segment, sequences.place

    def sees(row: Tensor, head: Tensor, asking: Tensor, seen: Tensor) -> Tensor:
        allowed = seen <= asking
        if blocks is not None:
            block = blocks[row, asking]
            allowed = allowed | ((block == blocks[row, seen]) & (block >= 0))
        other = segment[row, seen]  # padding attends to padding, so that no row of the softmax is empty
        allowed = allowed & ((other == 0) | (other == segment[row, asking]))
        if window is not None:
            allowed = allowed & (place[row, seen] > place[row, asking] - window)
        return allowed

    return sees


def dense(sees: Rule, rows: int, length: int, device: torch.device, last: int = 0) -> Tensor:
    """Return a rule as a boolean mask (rows, 1, length, length), true where a query attends to a key.

    Args:
        sees: The rule.
        rows: Number of sequences.
        length: Number of columns.
        device: Device of the result.
        last: Number of columns at the end that are queries, for a mask (rows, 1, last, length); 0 for all.
    """
    row, column = torch.arange(rows, device=device), torch.arange(length, device=device)
    return sees(row[:, None, None, None], row[:1], column[-last:, None], column)


def attention_masks(network: Any, sequences: Sequences) -> Mask | dict[str, Mask]:
    """Return the masks that the network's text model takes, in the form of its attention implementation.

    Args:
        network: A model of a known family for which `unshareable` returns nothing.
        sequences: As `sequences.pack` returns them.
    """
    text = network.config.get_text_config()
    family = family_of(network)
    both_ways, ids = family.bidirectional_image, sequences.input_ids
    blocks = image_blocks(ids == family.image_token_id) if both_ways else None

    def made(window: int | None) -> Mask:
        sees = rule(sequences, window, blocks)
        if text._attn_implementation == "flex_attention":
            return create_block_mask(sees, len(ids), None, ids.shape[1], ids.shape[1], device=str(ids.device))
        return _in_form(dense(sees, len(ids), ids.shape[1], ids.device), network)

    return _by_layer(network, made)


def masks_of_last(network: Any, sequences: Laid, last: int) -> Tensor | dict[str, Tensor]:
    """Return the masks of the last columns of sequences, none of which is an image token.

    Args:
        network: A model of a known family for which `unshareable` returns nothing, within `dense_attention`.
        sequences: All tokens up to the last.
        last: Number of columns at the end that are queries.
    """
    rows, length = sequences.segment.shape

    def made(window: int | None) -> Tensor:
        mask = dense(rule(sequences, window), rows, length, sequences.segment.device, last)
        return _added(mask, network)  # sdpa would convert a boolean mask in every layer

    return _by_layer(network, made)


def _by_layer(network: Any, made: Callable[[int | None], _Kind]) -> _Kind | dict[str, _Kind]:
    """Return the mask of a window for all layers, or one for each kind of layer, as the text model takes them."""
    text, family = network.config.get_text_config(), family_of(network)
    window = family.sliding_window
    if family.masks[text.model_type] == "by_layer":
        return {kind: made(window if kind == "sliding_attention" else None) for kind in set(text.layer_types)}
    return made(window)


def _in_form(mask: Tensor, network: Any) -> Tensor:
    """Return a boolean mask in the form of the network's attention implementation."""
    return _added(mask, network) if network.config.get_text_config()._attn_implementation == "eager" else mask


def _added(mask: Tensor, network: Any) -> Tensor:
    """Return a boolean mask as numbers that are added to the scores."""
    dtype = network.get_input_embeddings().weight.dtype
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)


def dense_attention(network: Any) -> AbstractContextManager[None]:
    """Use an attention implementation that takes dense masks in the text model: its own if it does, else sdpa."""
    own = network.config.get_text_config()._attn_implementation
    return _attention(network, own if own in {"sdpa", "eager"} else "sdpa")


@contextmanager
def _attention(network: Any, used: str) -> Iterator[None]:
    text = network.config.get_text_config()
    own, text._attn_implementation = text._attn_implementation, used
    try:
        yield
    finally:
        text._attn_implementation = own


def sliceable(network: Any, longest: int) -> bool:
    """Return whether questions of a network can be computed without a mask: on a CPU, and in no sliding window.

    Args:
        network: A model of a known family for which `unshareable` returns nothing.
        longest: Number of tokens of the longest prompt.
    """
    window, own = family_of(network).sliding_window, network.config.get_text_config()._attn_implementation
    return network.device.type == "cpu" and own == "sdpa" and (window is None or window >= longest)


def sliced_attention(network: Any) -> AbstractContextManager[None]:
    """Compare each question with its prefix and with itself alone, where dense masks compare it with all others too.

    The network takes `spans` instead of a mask: for each sequence the number of tokens of its prefix, and begin and end
    of each question among the last columns.
    """
    ALL_ATTENTION_FUNCTIONS.register("slices_of_questions", _in_slices)
    return _attention(network, "slices_of_questions")


def _in_slices(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: None, *, scaling: float, spans: Any, **rest: Any
) -> tuple[Tensor, None]:
    """Return the attention to prefix and question, joined by the logarithms of the sums of both softmaxes."""
    made, before = torch.zeros_like(query), key.shape[2] - query.shape[2]
    attend = partial(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, scale=scaling)
    for row, (shared, questions) in enumerate(spans):
        q, k, v = (part[row : row + 1] for part in (query, key, value))
        prefix, prefix_sum = attend(q, k[:, :, :shared], v[:, :, :shared])
        for begin, end in questions:
            at, own = slice(begin, end), slice(before + begin, before + end)
            alone, alone_sum = attend(q[:, :, at], k[:, :, own], v[:, :, own], is_causal=True)
            share = (prefix_sum[:, :, at] - alone_sum).sigmoid()[..., None].to(q.dtype)
            made[row, :, at] = alone.lerp(prefix[:, :, at], share)[0]
    return made.transpose(1, 2), None


def attention_used(network: Any, asked: str | None, device: torch.device) -> str:
    """Return which implementation of attention a network uses, and why it is no other one.

    Args:
        network: A model of a known family, adapters included.
        asked: The implementation that was asked for; None for the choice of transformers.
        device: Device that the network computes on.
    """
    used = network.config.get_text_config()._attn_implementation
    by = "as asked for" if asked else "the choice of transformers"
    if used == "flex_attention":
        return f"attention {used}, {by}: it skips what is masked"
    if not getattr(network, "_supports_flex_attn", False):
        other = f"{type(network).__name__} has no flex_attention"
    elif device.type != "cuda":
        other = "flex_attention, which skips what is masked, has gradients on a GPU only"
    else:
        other = "`--model.init_args.attention flex_attention` skips what is masked"
    return f"attention {used}, {by}; {other}"


def unshareable(network: Any) -> str:
    """Return why questions cannot share a sequence in this network; empty if they can."""
    text = network.config.get_text_config()
    if text.model_type not in family_of(network).masks:
        return f"the form of attention masks of a {text.model_type} is not known"
    if text._attn_implementation not in {"sdpa", "eager", "flex_attention"}:
        return f"{text._attn_implementation} takes no mask; sdpa, eager and flex_attention do"
    if kinds := set(getattr(text, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}:
        return f"no mask is known for layers of {', '.join(sorted(kinds))}"
    if getattr(text, "use_bidirectional_attention", False):
        return "its text tokens attend to later ones"
    return ""
