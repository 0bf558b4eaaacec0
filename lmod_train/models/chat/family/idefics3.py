"""Idefics3: an image as tiles and an overview, each marked with tokens for its row and column, and a Llama 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from lmod_train.models.chat.family.base import TEXT_MODELS, Family


class Idefics3(Family):
    """Idefics3. Its tower, projector and language model have other names than in other families."""

    tower = "model.vision_model"
    whole_tile = -1
    projector = ("model.connector",)
    language_model = "model.text_model"
    tensors = ("pixel_values", "pixel_attention_mask")
    left_out = ("rows", "cols")  # the processor writes them into the prompt: <row_1_col_1> and so on
    masks = TEXT_MODELS

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image: those of a tile times the number of tiles.

        Tiles in which every value is 0 are left out, as the network takes them for padding.
        """
        return int(item["pixel_values"][0].flatten(1).any(1).sum()) * self._tile_tokens(item)

    def _tile_tokens(self, item: Mapping[str, Tensor]) -> int:
        high, wide = item["pixel_values"].shape[-2:]
        patch = int(self.config.vision_config.patch_size)
        return int((high // patch) * (wide // patch) // int(self.config.scale_factor) ** 2)

    def item(self, made: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the tiles and the boolean mask of their pixels, which takes one byte per pixel instead of eight."""
        tensors = super().item(made)
        return tensors | {"pixel_attention_mask": tensors["pixel_attention_mask"].bool()}

    def whole_picture(self, item: Mapping[str, Tensor]) -> slice:
        """Return the embeddings of the last tile, which is the whole picture."""
        return slice(-self._tile_tokens(item), None)


FAMILY = Idefics3
