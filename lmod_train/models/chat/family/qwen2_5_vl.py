"""Qwen2.5-VL: an image at its own resolution, positions on three axes, the projector inside the tower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor
from transformers.vision_utils import get_vision_window_index

from lmod_train.models.chat.family.base import Family, MaskForm


class Qwen25VL(Family):
    """Qwen2.5-VL."""

    tower = "model.visual"
    tower_layers = "blocks"
    projector: ClassVar[tuple[str, ...]] = ("model.visual.merger",)
    language_model = "model.language_model"
    tensors = ("pixel_values", "image_grid_thw")
    token_types = "mm_token_type_ids"  # noqa: S105  # no password
    three_axis = True
    masks: ClassVar[Mapping[str, MaskForm]] = {"qwen2_5_vl_text": "by_layer"}

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image: one for each square of merged patches of its grid."""
        return int(item["image_grid_thw"].prod() // self.config.vision_config.spatial_merge_size**2)

    def on_grid(self, tokens: Tensor, item: Mapping[str, Tensor]) -> Tensor | None:
        """Return the tokens of an image of one frame in rows and columns.

        In the tower the tokens of each square that is merged follow one another, and the squares of each window.
        """
        vision = self.config.vision_config
        side = int(vision.spatial_merge_size)
        high, wide = (int(n) // side for n in item["image_grid_thw"][0, 1:])
        if len(tokens) == high * wide:
            return tokens.view(high, wide, -1)
        squares = tokens.view(high * wide, side, side, -1)
        if window := getattr(vision, "window_size", None):
            order, _ = get_vision_window_index(item["image_grid_thw"], side, window, vision.patch_size)
            squares = squares[torch.argsort(order).to(squares.device)]
        return squares.view(high, wide, side, side, -1).transpose(1, 2).reshape(high * side, wide * side, -1)


FAMILY = Qwen25VL
