"""Configuration and image settings of a LLaVA's CLIP tower, from its folder or from the published towers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import CLIPVisionConfig

from lmod_train.core.errors import NotConvertible
from lmod_train.core.weight_values import checkpoint_json
from lmod_train.models.chat.stored import Stored, stored_in

INSIDE = "model.vision_tower.vision_tower.vision_model."
"""Prefix of the names of a tower's tensors inside a checkpoint of the original code."""

OF_TEXT = r"text_model\..*|visual_projection\..*|text_projection\..*|logit_scale"
"""Regular expression of the tensors of CLIP outside its vision tower."""

OPENAI = (r"openai/clip-vit-.*", r"Lin-Chen/ShareGPT4V.*vit-large336.*")
"""Names of towers with OpenAI's activation and 64 dimensions per head: OpenAI's, and one tuned from it."""

HEAD_WIDTH = 64


def tower_tensors(folder: Path) -> Iterator[Stored]:
    """Yield the tensors of a tower's folder under the names they have inside a checkpoint."""
    for tensor in stored_in(folder):
        name = tensor.name
        if not re.fullmatch(OF_TEXT, name):
            name = INSIDE + name.removeprefix("vision_model.")
        yield replace(tensor, name=name)


def clip_config(folder: Path, name: str, tower: Path | None, shapes: Mapping[str, tuple[int, ...]]) -> CLIPVisionConfig:
    """Return the configuration of a tower.

    Args:
        folder: Folder of the checkpoint, for the error message.
        name: Name of the tower in the checkpoint's configuration.
        tower: Folder of the tower; without one the checkpoint must contain a tower of a known name.
        shapes: Shapes of the tensors, by name.

    Raises:
        NotConvertible: The tower's activation and number of heads are unknown.
    """
    if tower is not None and (tower / "config.json").is_file():
        return _stated(tower)
    if not any(re.fullmatch(known, name) for known in OPENAI):
        raise NotConvertible(
            folder,
            f"it contains its vision tower, but number of heads and activation of {name!r} are unknown",
            f"`python -m lmod_train weights convert {folder} --out OUT --tower TOWER`, where TOWER is the folder of "
            f"{name} with its config.json; the weights inside the checkpoint are used",
        )
    return _measured({key.removeprefix(INSIDE): shape for key, shape in shapes.items() if key.startswith(INSIDE)})


def _stated(tower: Path) -> CLIPVisionConfig:
    values = checkpoint_json(tower / "config.json")
    if values.get("model_type") not in ("clip", "clip_vision_model"):
        problem = f"expected a CLIP vision tower; its config.json states model_type {values.get('model_type')!r}"
        cure = "name the folder of the tower that mm_vision_tower of the checkpoint's config.json names"
        raise NotConvertible(tower, problem, cure)
    config: CLIPVisionConfig = CLIPVisionConfig.from_pretrained(tower, local_files_only=True)
    return config


def _measured(shapes: Mapping[str, tuple[int, ...]]) -> CLIPVisionConfig:
    """Return the configuration of one of OpenAI's towers from the shapes of its tensors."""
    positions, width = shapes["embeddings.position_embedding.weight"]
    patch = shapes["embeddings.patch_embedding.weight"][-1]
    return CLIPVisionConfig(
        hidden_size=width,
        intermediate_size=shapes["encoder.layers.0.mlp.fc1.weight"][0],
        num_hidden_layers=sum(name.endswith("mlp.fc1.weight") for name in shapes),
        num_attention_heads=max(1, width // HEAD_WIDTH),
        image_size=round((positions - 1) ** 0.5) * patch,
        patch_size=patch,
        hidden_act="quick_gelu",
    )


def picture_statistics(*folders: Path | None) -> dict[str, Any]:
    """Return mean and standard deviation of pixels from the first folder that states them; empty for CLIP's."""
    for folder in folders:
        file = folder / "preprocessor_config.json" if folder else None
        if file and file.is_file():
            values = checkpoint_json(file)
            return {key: values[key] for key in ("image_mean", "image_std") if key in values}
    return {}
