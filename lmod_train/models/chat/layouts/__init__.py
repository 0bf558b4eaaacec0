"""Layouts other than that of transformers in which vision-language models are published, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Name = Literal["llava", "llava_next", "internvl"]


def layout_name(values: Mapping[str, Any]) -> Name | None:
    """Return the name of a checkpoint's layout, a file of this folder; None for transformers' own or an unknown one.

    Args:
        values: The content of a ``config.json``.

    Example:
        >>> layout_name({"model_type": "llava", "mm_vision_tower": "openai/clip-vit-large-patch14"})
        'llava'
        >>> layout_name({"model_type": "llava", "text_config": {}})
    """
    if values.get("model_type") == "internvl_chat":
        return "internvl"
    if "mm_vision_tower" not in values or "text_config" in values:
        return None
    return "llava_next" if values.get("image_aspect_ratio") == "anyres" else "llava"
