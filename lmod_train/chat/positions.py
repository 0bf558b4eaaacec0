"""Rotary positions of sequences that several questions share: each question continues where the shared part ends."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lmod_train.chat.family import family_of
from lmod_train.chat.sequences import Sequences


def three_axes(network: Any, sequences: Sequences, grids: Tensor | None) -> Tensor:
    """Return positions in time, height and width, (3, sequences, longest), as Qwen2.5-VL and Qwen3-VL turn by.

    An image spreads over height and width and takes as many positions as its longer side, so that the text behind it
    stands a constant before its place. The network's own rule gives the shared part and the first question; the others
    follow with the same constant.

    Args:
        network: A `Qwen2_5_VLForConditionalGeneration` or `Qwen3VLForConditionalGeneration`.
        sequences: With every image in the part that is shared.
        grids: Patches in time, height and width of each image of the sequences in turn, (images, 3).
    """
    ids, segment = sequences.input_ids, sequences.segment
    first = (segment == 0) | (segment == 1)
    kinds = (ids == family_of(network).image_token_id).int()
    made, ahead = network.model.get_rope_index(ids, kinds, image_grid_thw=grids, attention_mask=first.long())
    positions: Tensor = torch.where(first, made, sequences.place + ahead)
    return positions
