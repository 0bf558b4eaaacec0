"""The layout of LLaVA 1.6 (LLaVA-NeXT): tiles chosen by an image's shape, a learnt embedding that ends each row."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any

from transformers import LlavaNextConfig, LlavaNextImageProcessor, LlavaNextProcessor

from lmod_train.extensions.weights.layout import Rule
from lmod_train.extensions.weights.llava import TWO_LAYERS, Llava

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
        """Mistral's template, ChatML if the tokenizer has its tokens (34B), otherwise Vicuna's."""
        if self.values["model_type"] == "llava_mistral":
            return "mistral_instruct"
        return "chatml_direct" if self._chatml else "vicuna_v1"

    @property
    def _chatml(self) -> bool:
        files = (self.folder / name for name in ("added_tokens.json", "tokenizer_config.json", "tokenizer.json"))
        return any("<|im_start|>" in file.read_text(encoding="utf-8") for file in files if file.is_file())

    @property
    def rules(self) -> Sequence[Rule]:
        """Rules of LLaVA, and of the embedding that ends a row."""
        return (Rule(r"model\.image_newline", ("image_newline",)), *super().rules)

    @property
    def dropped(self) -> Mapping[str, str]:
        """As in LLaVA, but `image_newline` is kept."""
        return {pattern: why for pattern, why in super().dropped.items() if "image_newline" not in pattern}

    @property
    def _grid(self) -> list[list[int]]:
        """Heights and widths to which an image may be resized; the original code states width before height."""
        stated: Any = self.values["image_grid_pinpoints"]
        pairs = literal_eval(stated) if isinstance(stated, str) else stated
        return [[int(height), int(width)] for width, height in pairs]

    def _tiles(self) -> dict[str, Any]:
        return {"image_grid_pinpoints": self._grid}

    _cut = _tiles  # of the image processor too

    def _check_tiles(self) -> None:
        if self.values.get("mm_patch_merge_type") != MERGE:
            self._refuse(
                f"mm_patch_merge_type {self.values.get('mm_patch_merge_type')!r}; known is {MERGE} with anyres"
            )
        if self.values.get("mm_projector_type") != TWO_LAYERS:
            self._refuse(f"mm_projector_type {self.values.get('mm_projector_type')!r}; LLaVA 1.6 has {TWO_LAYERS}")


LAYOUT = LlavaNext
