"""Qwen2.5-VL: an image at its own resolution, positions on three axes, the projector inside the tower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from lmod_train.models.chat.family.base import Family, MaskForm


class Qwen25VL(Family):
    """Qwen2.5-VL."""

    tower = "model.visual"
    projector: ClassVar[tuple[str, ...]] = ("model.visual.merger",)
    language_model = "model.language_model"
    tensors = ("pixel_values", "image_grid_thw")
    token_types = "mm_token_type_ids"  # noqa: S105  # no password
    three_axis = True
    masks: ClassVar[Mapping[str, MaskForm]] = {"qwen2_5_vl_text": "by_layer"}

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image: one for each square of merged patches of its grid."""
        return int(item["image_grid_thw"].prod() // self.config.vision_config.spatial_merge_size**2)


FAMILY = Qwen25VL
