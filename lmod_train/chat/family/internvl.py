"""InternVL 3 and later, in the transformers layout: an image in square tiles, and an overview of it."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from lmod_train.chat.family.base import TEXT_MODELS, Family


class InternVL(Family):
    """InternVL: tiles of an image side by side, each of as many tokens."""

    tower = "model.vision_tower"
    projector = ("model.multi_modal_projector",)
    language_model = "model.language_model"
    tensors = ("pixel_values",)
    left_out = ("num_patches",)  # the number of tiles, which is the length of pixel_values
    tiles = True
    masks = TEXT_MODELS

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return how many embeddings the network makes of one image: those of a tile for each tile."""
        vision, ratio = self.config.vision_config, self.config.downsample_ratio
        high, wide = (int(s) // int(p) for s, p in zip(vision.image_size, vision.patch_size, strict=True))
        return len(item["pixel_values"]) * int(high * ratio) * int(wide * ratio)


FAMILY = InternVL
