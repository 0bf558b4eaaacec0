"""The original code of LLaVA 1.6 (LLaVA-NeXT): a picture in tiles by its shape, a learnt end of each line of them."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any

from transformers import LlavaNextConfig, LlavaNextImageProcessor, LlavaNextProcessor

from lmod_train.chat.layouts.base import Rule
from lmod_train.chat.layouts.llava import TWO_LAYERS, Llava

MERGE = "spatial_unpad"


class LlavaNext(Llava):
    """LLaVA 1.6."""

    configures = LlavaNextConfig
    processes = (LlavaNextProcessor, LlavaNextImageProcessor)

    @property
    def title(self) -> str:
        """LLaVA 1.6."""
        return "LLaVA 1.6 (LLaVA-NeXT)"

    @property
    def template(self) -> str:
        """Mistral's turns, ChatML where the tokenizer has its marks (34B), Vicuna's otherwise."""
        if self.values["model_type"] == "llava_mistral":
            return "mistral_instruct"
        return "chatml_direct" if self._chatml else "vicuna_v1"

    @property
    def _chatml(self) -> bool:
        files = (self.folder / name for name in ("added_tokens.json", "tokenizer_config.json", "tokenizer.json"))
        return any("<|im_start|>" in file.read_text(encoding="utf-8") for file in files if file.is_file())

    @property
    def rules(self) -> Sequence[Rule]:
        """Those of LLaVA, and the end of a line of tiles."""
        return (Rule(r"model\.image_newline", ("image_newline",)), *super().rules)

    @property
    def dropped(self) -> Mapping[str, str]:
        """Those of LLaVA; the end of a line is used."""
        return {pattern: why for pattern, why in super().dropped.items() if "image_newline" not in pattern}

    @property
    def _grid(self) -> list[list[int]]:
        """Heights and widths that a picture may be given; the original code writes width before height."""
        stated: Any = self.values["image_grid_pinpoints"]
        pairs = literal_eval(stated) if isinstance(stated, str) else stated
        return [[int(height), int(width)] for width, height in pairs]

    def _tiles(self) -> dict[str, Any]:
        return {"image_grid_pinpoints": self._grid}

    def _cut(self) -> dict[str, Any]:
        return {"image_grid_pinpoints": self._grid}

    def _check_tiles(self) -> None:
        if self.values.get("mm_patch_merge_type") != MERGE:
            self._refuse(
                f"mm_patch_merge_type {self.values.get('mm_patch_merge_type')!r}; known is {MERGE} with anyres"
            )
        if self.values.get("mm_projector_type") != TWO_LAYERS:
            self._refuse(f"mm_projector_type {self.values.get('mm_projector_type')!r}; LLaVA 1.6 has {TWO_LAYERS}")


LAYOUT = LlavaNext
