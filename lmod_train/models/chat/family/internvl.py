"""InternVL 3 and later, in the layout of transformers: an image as square tiles and an overview."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from lmod_train.models.chat.family.base import TEXT_MODELS, Family


class InternVL(Family):
    """InternVL: an image as tiles, each with the same number of tokens."""

    tower = "model.vision_tower"
    tower_layers = "encoder.layer"
    whole_tile = -1
    projector = ("model.multi_modal_projector",)
    language_model = "model.language_model"
    tensors = ("pixel_values",)
    left_out = ("num_patches",)  # the number of tiles, which is the length of pixel_values
    tiles = True
    masks = TEXT_MODELS

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image: those of a tile times the number of tiles."""
        vision, ratio = self.config.vision_config, self.config.downsample_ratio
        high, wide = (int(s) // int(p) for s, p in zip(vision.image_size, vision.patch_size, strict=True))
        return len(item["pixel_values"]) * int(high * ratio) * int(wide * ratio)

    def whole_picture(self, item: Mapping[str, Tensor]) -> slice:
        """Return the embeddings of the last tile, which is the whole picture."""
        return slice(-(self.image_tokens(item) // len(item["pixel_values"])), None)


FAMILY = InternVL
