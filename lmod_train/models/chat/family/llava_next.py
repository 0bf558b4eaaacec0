"""LLaVA-NeXT (LLaVA 1.6): an image as tiles, chosen by its shape, with a learnt embedding at the end of each row."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from PIL import Image
from torch import Tensor
from transformers.models.llava_next.modeling_llava_next import LlavaNextModel

from lmod_train.models.chat.family.llava import Llava, tile_tokens


class LlavaNext(Llava):
    """LLaVA-NeXT. Its processor divides a picture into tiles and keeps its aspect ratio."""

    projector_parameters = ("model.image_newline",)
    tensors: ClassVar[tuple[str, ...]] = ("pixel_values", "image_sizes")

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image, by the network's own rule applied to empty features."""
        empty = torch.zeros(item["pixel_values"].shape[1], tile_tokens(self.config), 1)
        return len(self._packed(SimpleNamespace(config=self.config), empty, item["image_sizes"]))

    def whole_picture(self, item: Mapping[str, Tensor]) -> slice:
        """Return the embeddings of the first tile, the picture scaled to the tower's side."""
        return slice(tile_tokens(self.config))

    def _packed(self, network: Any, features: Tensor, sizes: Tensor) -> Tensor:
        """Return the features of an image's tiles without padding, with the embedding that ends each row."""
        strategy = self.config.vision_feature_select_strategy
        packed: Tensor = LlavaNextModel.pack_image_features(network, [features], sizes, strategy, torch.zeros(1))[0][0]
        return packed

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return the picture unchanged."""
        return picture


FAMILY = LlavaNext
