"""Rotary positions of sequences that several questions share: each question continues at the end of the prefix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.sequences import Sequences


def three_axes(network: Any, sequences: Sequences, grids: Tensor | None) -> Tensor:
    """Return positions in time, height and width, (3, sequences, longest), for Qwen2.5-VL and Qwen3-VL.

    An image takes as many positions as its longer side has patches, so that the positions of the text behind it are
    lower than its indices by a constant. The network's own rule computes the shared prefix and the first question; the
    other questions use the same constant.

    Args:
        network: A `Qwen2_5_VLForConditionalGeneration` or `Qwen3VLForConditionalGeneration`.
        sequences: Sequences with every image in the shared prefix.
        grids: Number of patches in time, height and width of each image, in the order of the sequences (images, 3).
    """
    ids, segment = sequences.input_ids, sequences.segment
    first = (segment == 0) | (segment == 1)
    kinds = (ids == family_of(network).image_token_id).int()
    made, ahead = network.model.get_rope_index(ids, kinds, image_grid_thw=grids, attention_mask=first.long())
    positions: Tensor = torch.where(first, made, sequences.place + ahead)
    return positions
