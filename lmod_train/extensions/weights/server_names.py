"""Names of tensors that inference servers read: those of the published checkpoints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from safetensors import safe_open
from safetensors.torch import save_file

from lmod_train.core.errors import BadArgument
from lmod_train.core.weight_values import checkpoint_json
from lmod_train.models.chat import timm_tower
from lmod_train.models.chat.family import family_class

Names = Literal["transformers", "server"]


def server_name(model_type: str, name: str) -> str:
    """Return the name that servers read for a tensor that transformers has written.

    Example:
        >>> server_name("llava", "vision_tower.embeddings.class_embedding")
        'vision_tower.vision_model.embeddings.class_embedding'
        >>> server_name("llava", "language_model.model.norm.weight")
        'language_model.model.norm.weight'
    """
    for pattern, replacement in family_class(model_type).server_names:
        name = re.sub(pattern, replacement, name)
    return name


def refuse_unread(folder: Path) -> None:
    """Refuse a checkpoint that no inference server reads under any names.

    Raises:
        BadArgument: Its tower is a network of timm.
    """
    if timm_tower.tower_config(folder) is not None:
        expected = (
            "a tower that servers have; that of this checkpoint is a network of timm, which only lmod_train reads"
        )
        raise BadArgument("--names", "server", expected, "leave it out, or add `--names transformers`")


def rename_for_servers(folder: Path) -> int:
    """Rename the tensors in a folder's safetensors files and their index; return how many names changed.

    Args:
        folder: Folder that transformers has written, of a known family.
    """
    model_type = checkpoint_json(folder / "config.json")["model_type"]
    renamed = 0
    for file in sorted(folder.glob("*.safetensors")) if family_class(model_type).server_names else ():
        with safe_open(file, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118  # not a dict
            metadata = opened.metadata()
        renamed += sum(server_name(model_type, name) != name for name in tensors)
        save_file({server_name(model_type, name): t for name, t in tensors.items()}, file, metadata=metadata)
    for index in folder.glob("*.safetensors.index.json"):
        text = checkpoint_json(index)
        text["weight_map"] = {server_name(model_type, name): place for name, place in text["weight_map"].items()}
        index.write_text(json.dumps(text, indent=1), encoding="utf-8")
    return renamed
