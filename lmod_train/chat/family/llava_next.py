"""LLaVA-NeXT (LLaVA 1.6): LLaVA with an image in tiles, by its shape, and a learnt vector at the end of each line."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from PIL import Image
from torch import Tensor
from transformers.models.llava_next.modeling_llava_next import LlavaNextModel

from lmod_train.chat.family.llava import Llava, tile_tokens


class LlavaNext(Llava):
    """LLaVA-NeXT. Its processor cuts a picture into tiles by its shape, which it keeps."""

    projector_parameters = ("model.image_newline",)
    tensors: ClassVar[tuple[str, ...]] = ("pixel_values", "image_sizes")

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return how many embeddings the network makes of one image: by its own rule, on empty features."""
        empty = torch.zeros(item["pixel_values"].shape[1], tile_tokens(self.config), 1)
        return len(self._packed(SimpleNamespace(config=self.config), empty, item["image_sizes"]))

    def _packed(self, network: Any, features: Tensor, sizes: Tensor) -> Tensor:
        """Return an image's tiles without padding, with an end for each line."""
        strategy = self.config.vision_feature_select_strategy
        packed: Tensor = LlavaNextModel.pack_image_features(network, [features], sizes, strategy, torch.zeros(1))[0][0]
        return packed

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return the picture as it is."""
        return picture


FAMILY = LlavaNext
