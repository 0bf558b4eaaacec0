"""The dialect that a checkpoint speaks."""

from __future__ import annotations

import json
from pathlib import Path

from lmod_train.chat.dialect import Dialect
from lmod_train.chat.llava import LlavaDialect, LlavaNextDialect


def dialect_of(folder: Path) -> Dialect:
    """Return the dialect of a checkpoint in transformers layout.

    Raises:
        BadArgument: It is of no known family.
        WeightsMismatch: It has no chat template, or one that asks otherwise than it teaches.
    """
    model_type = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    if model_type == "llava":
        return LlavaDialect(folder)
    return LlavaNextDialect(folder) if model_type == "llava_next" else Dialect(folder)
