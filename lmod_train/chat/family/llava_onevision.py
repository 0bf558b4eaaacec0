"""LLaVA-OneVision: LLaVA-NeXT's tiles behind a SigLIP, scaled down where an image has too many, and a Qwen2."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.models.llava_onevision.modeling_llava_onevision import LlavaOnevisionModel

from lmod_train.chat.family.llava_next import LlavaNext


class LlavaOnevision(LlavaNext):
    """LLaVA-OneVision, for images; videos are not asked about."""

    left_out = ("batch_num_images",)  # 1 of each prompt; the network assumes it

    def prepare(self, processor: Any) -> None:
        """Set nothing: this processor states the tokens of a tile in one number, `num_image_tokens`."""

    def _packed(self, network: Any, features: Tensor, sizes: Tensor) -> Tensor:
        """Return an image's tiles without padding, scaled down to `vision_aspect_ratio`, with an end for each line."""
        most, end = self.config.vision_aspect_ratio, torch.zeros(1)
        packed: Tensor = LlavaOnevisionModel.pack_image_features(network, [features], sizes, end, most)[0][0]
        return packed


FAMILY = LlavaOnevision
