"""Qwen2-VL: as Qwen2.5-VL, with a tower that attends to the whole image in every layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from lmod_train.models.chat.family.base import MaskForm
from lmod_train.models.chat.family.qwen2_5_vl import Qwen25VL


class Qwen2VL(Qwen25VL):
    """Qwen2-VL."""

    masks: ClassVar[Mapping[str, MaskForm]] = {"qwen2_vl_text": "by_layer"}


FAMILY = Qwen2VL
