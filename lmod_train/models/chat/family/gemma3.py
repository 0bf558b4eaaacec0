"""Gemma 3 and MedGemma: 256 tokens per image, which attend to one another in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from lmod_train.models.chat.family.base import Family, MaskForm
from lmod_train.models.chat.family.llava import TOWER_NAMES


class Gemma3(Family):
    """Gemma 3: some layers have a sliding window, the others attend to everything."""

    tower = "model.vision_tower"
    projector = ("model.multi_modal_projector",)
    language_model = "model.language_model"
    tensors = ("pixel_values",)
    left_out = ("num_crops",)  # the number of further tiles of pan and scan, which the shape of pixel_values implies
    tiles = True
    token_types = "token_type_ids"  # noqa: S105  # no password
    bidirectional_image = True
    masks: ClassVar[Mapping[str, MaskForm]] = {"gemma3_text": "by_layer"}
    server_names = TOWER_NAMES

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image: those of a tile times the number of tiles."""
        return len(item["pixel_values"]) * int(self.config.mm_tokens_per_image)


FAMILY = Gemma3
