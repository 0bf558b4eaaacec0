"""Gemma 3 and MedGemma: a square of 256 tokens an image, whose tokens see one another in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from lmod_train.chat.family.base import Family, MaskForm
from lmod_train.chat.family.llava import TOWER_NAMES


class Gemma3(Family):
    """Gemma 3: some layers look back a window, others see everything."""

    tower = "model.vision_tower"
    projector = ("model.multi_modal_projector",)
    language_model = "model.language_model"
    tensors = ("pixel_values",)
    left_out = ("num_crops",)  # of pan and scan: the number of further tiles, which pixel_values shows too
    tiles = True
    token_types = "token_type_ids"  # noqa: S105  # no password
    bidirectional_image = True
    masks: ClassVar[Mapping[str, MaskForm]] = {"gemma3_text": "by_layer"}
    server_names = TOWER_NAMES

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return how many embeddings the network makes of one image: those of a tile for each tile."""
        return len(item["pixel_values"]) * int(self.config.mm_tokens_per_image)


FAMILY = Gemma3
