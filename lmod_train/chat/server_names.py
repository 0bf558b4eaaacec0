"""Names of tensors as inference servers read them: those of the published checkpoints.

transformers 5 writes the CLIP and SigLIP towers of LLaVA, LLaVA-NeXT and Gemma 3 without the `vision_model` that their
published checkpoints have, and loads both. vLLM 0.32 loads the published names alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from safetensors import safe_open
from safetensors.torch import save_file

Names = Literal["transformers", "server"]

_TOWER = (r"^vision_tower\.(?!vision_model\.)", "vision_tower.vision_model.")
SERVER: dict[str, tuple[tuple[str, str], ...]] = {
    "llava": (_TOWER,),
    "llava_next": (_TOWER,),
    "gemma3": (_TOWER,),
    "internvl": (),
    "qwen2_5_vl": (),
    "qwen3_vl": (),
}
"""By `model_type`: (regular expression, what takes its place), from the names that transformers writes. Where there is
none, transformers writes the published names."""


def server_name(model_type: str, name: str) -> str:
    """Return what servers call a tensor that transformers has written.

    Example:
        >>> server_name("llava", "vision_tower.embeddings.class_embedding")
        'vision_tower.vision_model.embeddings.class_embedding'
        >>> server_name("llava", "language_model.model.norm.weight")
        'language_model.model.norm.weight'
    """
    for pattern, replacement in SERVER[model_type]:
        name = re.sub(pattern, replacement, name)
    return name


def rename_for_servers(folder: Path) -> int:
    """Rename the tensors in a folder's safetensors files and their index; return how many have another name now.

    Args:
        folder: That transformers has written, of one of the families of `SERVER`.
    """
    model_type = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    renamed = 0
    for file in sorted(folder.glob("*.safetensors")) if SERVER[model_type] else ():
        with safe_open(file, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118  # not a dict
            metadata = opened.metadata()
        renamed += sum(server_name(model_type, name) != name for name in tensors)
        save_file({server_name(model_type, name): t for name, t in tensors.items()}, file, metadata=metadata)
    for index in folder.glob("*.safetensors.index.json"):
        text = json.loads(index.read_text(encoding="utf-8"))
        text["weight_map"] = {server_name(model_type, name): place for name, place in text["weight_map"].items()}
        index.write_text(json.dumps(text, indent=1), encoding="utf-8")
    return renamed
