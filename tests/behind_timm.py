"""A random LLaVA of two narrow layers behind a tiny convolutional network of timm."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import timm
import torch
from transformers import (
    AutoTokenizer,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaImageProcessor,
    LlavaProcessor,
)

from lmod_train.models.chat.timm_tower import TimmTokensConfig, known
from tests.tiny import base

ARCHITECTURE, SIDE, WIDTH, TOKENS = "test_efficientnet", 96, 256, 9


def network(architecture: str = ARCHITECTURE, seed: int = 0) -> Any:
    """A network of timm without its classifier; its batch norms have statistics of their own."""
    torch.manual_seed(seed)
    made = timm.create_model(architecture, num_classes=0).train()
    with torch.no_grad():
        for _ in range(40):
            made(torch.randn(8, 3, SIDE, SIDE))
    return made.eval()


def write_behind(folder: Path, seed: int = 0) -> Path:
    """Save a checkpoint; weights are drawn wide, so that replies depend on the image and on the question."""
    for file in base().iterdir():
        if "token" in file.name or file.name == "chat_template.jinja":
            shutil.copy(file, folder)
    words = AutoTokenizer.from_pretrained(folder)
    model = _model(words, seed)
    model.save_pretrained(folder)
    size: Any = {"height": SIDE, "width": SIDE}
    images = LlavaImageProcessor(size=size, crop_size=size, do_center_crop=False)
    options: Any = {"patch_size": 32, "vision_feature_select_strategy": "full", "num_additional_image_tokens": 0}
    template = (folder / "chat_template.jinja").read_text()
    LlavaProcessor(images, words, image_token="<image>", chat_template=template, **options).save_pretrained(folder)
    return folder


def _model(words: Any, seed: int) -> Any:
    known()
    wide: Any = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=TimmTokensConfig(architecture=ARCHITECTURE, image_size=SIDE, hidden_size=WIDTH),
        text_config=LlamaConfig(vocab_size=len(words), initializer_range=0.4, **wide),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        image_seq_length=TOKENS,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    torch.manual_seed(seed)
    model: Any = LlavaForConditionalGeneration(config).eval()
    for parameter in model.model.multi_modal_projector.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model.model.vision_tower.network.load_state_dict(network().state_dict())
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return model
