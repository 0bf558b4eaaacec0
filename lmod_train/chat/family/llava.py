"""LLaVA, LLaVA-Med and the small base: a CLIP or SigLIP tower, a square picture, a Llama or Mistral."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from PIL import Image
from torch import Tensor

from lmod_train.chat.family.base import TEXT_MODELS, Family
from lmod_train.pixels import pad_square

TOWER_NAMES = ((r"^vision_tower\.(?!vision_model\.)", "vision_tower.vision_model."),)
"""transformers 5 writes CLIP and SigLIP towers without the `vision_model` of the published checkpoints, and loads both.
vLLM 0.32 loads the published names alone."""


def class_tokens(config: Any) -> int:
    """Return how many tokens the tower of a LLaVA adds to an image's patches: CLIP one, SigLIP none."""
    return int(config.vision_config.model_type == "clip_vision_model")


def tile_tokens(config: Any) -> int:
    """Return how many embeddings the projector of a LLaVA makes of what passes the tower at once."""
    vision = config.vision_config
    made = (vision.image_size // vision.patch_size) ** 2 + class_tokens(config)
    return int(made - (config.vision_feature_select_strategy == "default"))


class Llava(Family):
    """LLaVA. Its processor would crop the centre of a picture, so it is padded to a square before."""

    tower = "model.vision_tower"
    projector = ("model.multi_modal_projector",)
    language_model = "model.language_model"
    tensors: ClassVar[tuple[str, ...]] = ("pixel_values",)
    masks = TEXT_MODELS
    server_names = TOWER_NAMES

    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return how many embeddings the network makes of one image: the same number of each."""
        return tile_tokens(self.config)

    def prepare(self, processor: Any) -> None:
        """Set how many tokens the tower adds to the patches.

        The count is 0 in some published processors of CLIP towers, which then come out one short (575 of 576).
        """
        processor.num_additional_image_tokens = class_tokens(self.config)

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return the picture centred on a square of its longer side, in the tower's mean colour."""
        return pad_square(picture, tuple(round(255 * mean) for mean in processor.image_processor.image_mean))


FAMILY = Llava
