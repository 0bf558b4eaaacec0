"""LLaVA, LLaVA-Med and the small base: a CLIP or SigLIP tower on a square picture, and a Llama or Mistral."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from PIL import Image
from torch import Tensor

from lmod_train.models.chat.family.base import TEXT_MODELS, Family
from lmod_train.models.chat.pictures import squared

TOWER_NAMES = ((r"^vision_tower\.(?!vision_model\.)", "vision_tower.vision_model."),)
"""Names of CLIP and SigLIP towers: transformers 5 leaves out the `vision_model` of the published checkpoints and loads
both; vLLM 0.32 loads only the published names."""


def class_tokens(config: Any) -> int:
    """Return the number of tokens that a LLaVA's tower adds to the patches: 1 for CLIP, 0 for SigLIP."""
    return int(config.vision_config.model_type == "clip_vision_model")


def tile_tokens(config: Any) -> int:
    """Return the number of embeddings that a LLaVA's projector makes of one input of the tower."""
    vision = config.vision_config
    made = (vision.image_size // vision.patch_size) ** 2 + class_tokens(config)
    return int(made - (config.vision_feature_select_strategy == "default"))


class Llava(Family):
    """LLaVA. Pictures are padded to a square first, as its processor would crop the centre."""

    tower = "model.vision_tower"
    projector = ("model.multi_modal_projector",)
    language_model = "model.language_model"
    tensors: ClassVar[tuple[str, ...]] = ("pixel_values",)
    masks = TEXT_MODELS
    server_names = TOWER_NAMES

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings of one image, which is constant."""
        return tile_tokens(self.config)

    def prepare(self, processor: Any) -> None:
        """Set the patch size, the tokens that are used, and the number of tokens that the tower adds to the patches.

        Some published processors of CLIP towers add 0, which gives one image token too few (575 of 576); those of
        HuatuoGPT-Vision state no patch size.
        """
        processor.num_additional_image_tokens = class_tokens(self.config)
        processor.patch_size = processor.patch_size or self.config.vision_config.patch_size
        strategy = processor.vision_feature_select_strategy or self.config.vision_feature_select_strategy
        processor.vision_feature_select_strategy = strategy

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return the picture centred on a square of its longer side, in the tower's mean colour, unless cropped."""
        return picture if self.fit == "crop" else squared(picture, processor.image_processor)


FAMILY = Llava
