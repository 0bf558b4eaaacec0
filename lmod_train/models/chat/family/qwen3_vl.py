"""Qwen3-VL: as Qwen2.5-VL, with features of middle tower layers added in the first layers of the language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

from lmod_train.models.chat.family.base import MaskForm
from lmod_train.models.chat.family.qwen2_5_vl import Qwen25VL


class Qwen3VL(Qwen25VL):
    """Qwen3-VL."""

    projector = ("model.visual.merger", "model.visual.deepstack_merger_list")
    masks: ClassVar[Mapping[str, MaskForm]] = {"qwen3_vl_text": "one"}

    def encoder_output(self, features: Sequence[Tensor], deep: Sequence[Sequence[Tensor]]) -> Any:
        """Return the features of images, and by layer those that are added in the language model."""
        each: Any = list(features)
        layers: Any = [list(layer) for layer in zip(*deep, strict=True)]
        return BaseModelOutputWithDeepstackFeatures(pooler_output=each, deepstack_features=layers)


FAMILY = Qwen3VL
