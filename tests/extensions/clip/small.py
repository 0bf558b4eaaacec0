"""Tiny random CLIP models of open_clip and transformers, in the layout of published ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import open_clip
import torch
from safetensors.torch import save_file
from transformers import (
    BertConfig,
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    SiglipConfig,
    SiglipImageProcessor,
    SiglipModel,
)

from tests.tiny import base

SIDE = 64
VISION = {"image_size": SIDE, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16}
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}
CONFIG: dict[str, Any] = {
    "model_cfg": {"embed_dim": 32, "vision_cfg": VISION, "text_cfg": TEXT},
    "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "interpolation": "bicubic"},
}


def drawn(network: Any, seed: int = 0) -> Any:
    """Draw the weights wide, so that the embeddings depend on image and words."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.2)
    return network.eval()


def write_open_clip(folder: Path, config: dict[str, Any] = CONFIG, **more: Any) -> Any:
    """Save a random model in the folder's layout of open_clip, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = config["model_cfg"]
    kind = open_clip.CustomTextCLIP if "hf_model_name" in model["text_cfg"] else open_clip.CLIP
    network = drawn(kind(**{**model, "text_cfg": {**model["text_cfg"], **more}}))
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    save_file(network.state_dict(), folder / "open_clip_model.safetensors")
    return network


def write_biomedclip(folder: Path) -> Any:
    """Save a narrow model as BiomedCLIP is: a network of timm, BERT, the tokenizer beside it, weights in a pickle."""
    text = folder / "tiny-bert"
    text.mkdir(parents=True)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertConfig(vocab_size=8000, **shape).save_pretrained(text)
    for file in base().iterdir():
        if "token" in file.name:
            shutil.copy(file, folder)
    stated = {"hf_model_name": "nobody/tiny-bert", "hf_tokenizer_name": "nobody/tiny-bert", "context_length": 96}
    stated |= {"hf_proj_type": "mlp", "hf_pooler_type": "cls_last_hidden_state_pooler"}
    vision = {"timm_model_name": "test_vit", "timm_model_pretrained": False, "timm_pool": "", "timm_proj": "linear"}
    model = {"embed_dim": 32, "vision_cfg": {**vision, "image_size": 160}, "text_cfg": stated}
    local = {"hf_model_name": str(text), "hf_model_pretrained": False}
    network = write_open_clip(folder, {"model_cfg": model, "preprocess_cfg": {}}, **local)
    (folder / "open_clip_model.safetensors").unlink()
    places = {"text.transformer.embeddings.position_ids": torch.arange(512)[None]}
    torch.save(network.state_dict() | places, folder / "open_clip_pytorch_model.bin")
    return network


def write_transformers(folder: Path, kind: str = "clip") -> Any:
    """Save a random CLIPModel or SiglipModel with the tokenizer of the small base, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in base().iterdir():
        if "token" in file.name:
            shutil.copy(file, folder)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    vision = {**shape, "image_size": SIDE, "patch_size": 16}
    text = {**shape, "vocab_size": 8000, "max_position_embeddings": 96, "eos_token_id": 2, "pad_token_id": 0}
    if kind == "clip":
        network = CLIPModel(CLIPConfig(vision_config=vision, text_config=text, projection_dim=32))
        CLIPImageProcessor(size=SIDE, crop_size=SIDE).save_pretrained(folder)
    else:
        network = SiglipModel(SiglipConfig(vision_config=vision, text_config={**text, "projection_size": 32}))
        SiglipImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    drawn(network).save_pretrained(folder)
    return network
