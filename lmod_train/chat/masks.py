"""Who sees whom in a sequence that several questions share: one rule, as a dense mask or as FlexAttention's blocks.

A token sees what came before it in the shared beginning and in its own question. Two things are the network's own: a
sliding window counts places, not columns, or a late question would lose sight of the image; and Gemma3's image tokens
see one another in both directions. (Both follow transformers' `create_causal_mask` and Gemma3's
`create_masks_for_vision_model`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from lmod_train.chat.family import family_of
from lmod_train.chat.sequences import Sequences

Rule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""(sequence, head, asking column, seen column) to whether it is seen; FlexAttention's `mask_mod`."""

Mask = Tensor | BlockMask


def image_blocks(is_image: Tensor) -> Tensor:
    """Number the runs of image tokens of each sequence from 0, -1 elsewhere.

    Args:
        is_image: Boolean (sequences, longest).

    Example:
        >>> image_blocks(torch.tensor([[False, True, True, False, True]])).tolist()
        [[-1, 0, 0, -1, 1]]
    """
    begins = is_image & ~functional.pad(is_image, (1, 0), value=False)[:, :-1]
    return torch.where(is_image, begins.cumsum(1) - 1, -1)


def rule(sequences: Sequences, window: int | None = None, blocks: Tensor | None = None) -> Rule:
    """Return who sees whom.

    Args:
        sequences: As `sequences.pack` makes them.
        window: How many places back a token sees, itself included; None for all.
        blocks: Of `image_blocks`, where the tokens of an image see one another in both directions.
    """
    segment, place = sequences.segment, sequences.place

    def sees(row: Tensor, head: Tensor, asking: Tensor, seen: Tensor) -> Tensor:
        allowed = seen <= asking
        if blocks is not None:
            block = blocks[row, asking]
            allowed = allowed | ((block == blocks[row, seen]) & (block >= 0))
        other = segment[row, seen]  # padding sees padding, so that no row of the softmax is empty
        allowed = allowed & ((other == 0) | (other == segment[row, asking]))
        if window is not None:
            allowed = allowed & (place[row, seen] > place[row, asking] - window)
        return allowed

    return sees


def dense(sees: Rule, rows: int, length: int, device: torch.device) -> Tensor:
    """Return a rule as a boolean mask (rows, 1, length, length), true where seen."""
    row, column = torch.arange(rows, device=device), torch.arange(length, device=device)
    return sees(row[:, None, None, None], row[:1], column[:, None], column)


def attention_masks(network: Any, sequences: Sequences) -> Mask | dict[str, Mask]:
    """Return the masks that the network's text model takes, in the form of its attention implementation.

    Args:
        network: Of a known family; one that `unshareable` has nothing against.
        sequences: To be seen by it.
    """
    text = network.config.get_text_config()
    family = family_of(network)
    both_ways, window = family.bidirectional_image, family.sliding_window
    blocks = image_blocks(sequences.input_ids == family.image_token_id) if both_ways else None

    def made(limit: int | None) -> Mask:
        return _in_form(rule(sequences, limit, blocks), sequences.input_ids, text._attn_implementation, network)

    if family.masks[text.model_type] == "by_layer":
        return {kind: made(window if kind == "sliding_attention" else None) for kind in set(text.layer_types)}
    return made(window)


def _in_form(sees: Rule, ids: Tensor, attention: str, network: Any) -> Mask:
    if attention == "flex_attention":
        return create_block_mask(sees, len(ids), None, ids.shape[1], ids.shape[1], device=str(ids.device))
    mask = dense(sees, len(ids), ids.shape[1], ids.device)
    if attention == "eager":  # adds the mask to the scores
        dtype = network.get_input_embeddings().weight.dtype
        return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)
    return mask


def unshareable(network: Any) -> str:
    """Return why questions cannot share a sequence in this network, or nothing where they can."""
    text = network.config.get_text_config()
    if text.model_type not in family_of(network).masks:
        return f"how a {text.model_type} takes its attention masks is not known"
    if text._attn_implementation not in {"sdpa", "eager", "flex_attention"}:
        return f"{text._attn_implementation} takes no mask; sdpa, eager and flex_attention do"
    if kinds := set(getattr(text, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}:
        return f"no mask is known for layers of {', '.join(sorted(kinds))}"
    if getattr(text, "use_bidirectional_attention", False):
        return "its text sees what comes after it"
    return ""
