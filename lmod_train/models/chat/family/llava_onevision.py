"""LLaVA-OneVision: tiles as in LLaVA-NeXT, scaled down if there are too many, a SigLIP tower and a Qwen2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from transformers.models.llava_onevision.modeling_llava_onevision import LlavaOnevisionModel

from lmod_train.models.chat.family.llava_next import LlavaNext


class LlavaOnevision(LlavaNext):
    """LLaVA-OneVision, for images only, not videos. In a prompt with several images each image is one tile."""

    tensors = ("pixel_values", "image_sizes", "batch_num_images")
    differs_beside = True

    def prepare(self, processor: Any) -> None:
        """Do nothing: this processor states the number of tokens of a tile itself, `num_image_tokens`."""

    def processed(self, picture: Image.Image, processor: Any, beside: bool) -> Any:
        """Return the result of the image processor: tiles, or one tile if the prompt has several images."""
        if not beside:
            return super().processed(picture, processor, beside)
        # with several images in a prompt each becomes one tile, independent of the others
        made = processor.image_processor([[picture, picture]], return_tensors="pt")
        return type(made)({name: made[name][:1] for name in made})

    def joined(self, items: Sequence[Mapping[str, Tensor]]) -> dict[str, Any]:
        """Return the arguments for all images together, images shown alone first."""
        alone, beside = _order(items)
        made = super().joined([items[i] for i in (*alone, *beside)])
        counts = [1] * len(alone) + [len(beside)] * bool(beside)
        return made | {"batch_num_images": torch.tensor(counts)}

    def of_each(self, features: Any, items: Sequence[Mapping[str, Tensor]]) -> list[Tensor]:
        """Return the features of each image, in the order of the items."""
        alone, beside = _order(items)
        order = [*alone, *beside]
        return [features[order.index(i)] for i in range(len(items))]

    def _packed(self, network: Any, features: Tensor, sizes: Tensor) -> Tensor:
        """Return an image's features without padding, scaled down to `vision_aspect_ratio`, with row ends."""
        most, end = self.config.vision_aspect_ratio, torch.zeros(1)
        packed: Tensor = LlavaOnevisionModel.pack_image_features(network, [features], sizes, end, most)[0][0]
        return packed


def _order(items: Sequence[Mapping[str, Tensor]]) -> tuple[list[int], list[int]]:
    """Return the indices of images shown alone and of images shown beside others; a single one of these twice.

    The network treats the second group as the images of one prompt, and a single image of a prompt as tiles.
    """
    beside = [i for i, item in enumerate(items) if int(item["batch_num_images"]) > 1]
    alone = [i for i in range(len(items)) if i not in beside]
    return alone, beside * 2 if len(beside) == 1 else beside


FAMILY = LlavaOnevision
