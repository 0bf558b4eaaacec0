"""Make a LLaVA of a vision tower, a new projector and a language model; shared by the scripts that write one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
from PIL import Image
from torch import Tensor, nn
from transformers import AutoProcessor, GenerationConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

from lmod_train.core.pixels import open_rgb
from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.encoding import class_tokens
from lmod_train.models.chat.pictures import squared
from lmod_train.phantom.folders import eye_diseases

IMAGE = "<image>"
SEED = 2**48
"""Seed of the eyes on which the projector is initialised; no demo or test uses it."""


@dataclass(frozen=True)
class Tower:
    """A vision tower with its image processor.

    Attributes:
        config: Its configuration, the `vision_config` of a LLaVA.
        weights: Its tensors by name.
        images: Its image processor.
        layer: Index of the hidden state that the projector takes.
        strategy: ``default`` leaves the first token out, ``full`` takes all.
    """

    config: Any
    weights: Mapping[str, Tensor]
    images: Any
    layer: int = -1
    strategy: Literal["default", "full"] = "full"


def tower_of(base: Path) -> Tower:
    """Return the tower of a LLaVA checkpoint."""
    seeing: Any = checkpoint.load(base)
    processor: Any = AutoProcessor.from_pretrained(base, local_files_only=True)
    config, weights = seeing.config, seeing.model.vision_tower.state_dict()
    layer, strategy = config.vision_feature_layer, config.vision_feature_select_strategy
    return Tower(config.vision_config, weights, processor.image_processor, layer, strategy)


def features_of(tower: Any, config: Any, images: Any, pictures: Sequence[Image.Image]) -> Tensor:
    """Return the tower's features of images as the network uses them, shape (images, tokens, width)."""
    pixels = images([squared(p, images) for p in pictures], return_tensors="pt").pixel_values
    seen: Tensor = tower(pixels, output_hidden_states=True).hidden_states[config.vision_feature_layer]
    return seen[:, 1:] if config.vision_feature_select_strategy == "default" else seen


def begin(projector: Any, features: Tensor, words: Tensor) -> None:
    """Initialise a projector so that projected features have mean and standard deviation of word embeddings.

    With the usual initialisation (standard deviation 0.02) projected features would be near zero.

    Args:
        projector: Projector of a LLaVA, two linear maps.
        features: Image features, shape (images, tokens, tower's width).
        words: Word embeddings, shape (vocabulary, language model's width).
    """
    first, second, every = projector.linear_1, projector.linear_2, features.flatten(0, 1)
    for linear in (first, second):
        nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
        nn.init.zeros_(linear.bias)
    first.weight /= every.std(0).clamp_min(1e-3)
    first.bias.copy_(-first.weight @ every.mean(0))
    made = projector(every)
    second.weight *= words.std() / made.std(0).mean()
    second.bias.copy_(words.mean(0) - projector(every).mean(0))


def config_of(tower: Tower, language: Any, tokenizer: Any) -> LlavaConfig:
    """Return the configuration of a LLaVA."""
    text = language.config.to_dict() | {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    text.pop("quantization_config", None)  # the weights were dequantised; with this entry they could not be saved
    return LlavaConfig(
        vision_config=tower.config,
        text_config=text | {"_name_or_path": ""},
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        image_seq_length=(tower.config.image_size // tower.config.patch_size) ** 2,
        vision_feature_layer=tower.layer,
        vision_feature_select_strategy=tower.strategy,
        tie_word_embeddings=language.config.tie_word_embeddings,
    )


@torch.no_grad()
def compose(
    tower: Tower, language: Any, tokenizer: Any, template: str, pictures: Sequence[Image.Image]
) -> tuple[Any, LlavaProcessor]:
    """Return model and processor of a tower, a new projector and a language model.

    Args:
        tower: The tower.
        language: A text-only Llama with an embedding of the image token.
        tokenizer: Tokenizer of the language model, with the image token.
        template: Chat template for messages with text and image parts.
        pictures: Images on which the projector is initialised.
    """
    config = config_of(tower, language, tokenizer)
    model: Any = LlavaForConditionalGeneration(config).eval()
    model.model.vision_tower.load_state_dict(tower.weights)
    model.model.language_model.load_state_dict(language.model.state_dict())
    model.lm_head.load_state_dict(language.lm_head.state_dict())
    features = features_of(model.model.vision_tower, config, tower.images, pictures)
    begin(model.model.multi_modal_projector, features, language.get_input_embeddings().weight)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model.generation_config = GenerationConfig(**ids)
    return model, _processor(tower, config, tokenizer, template)


def _processor(tower: Tower, config: LlavaConfig, tokenizer: Any, template: str) -> LlavaProcessor:
    return LlavaProcessor(
        tower.images,
        tokenizer,
        patch_size=tower.config.patch_size,
        vision_feature_select_strategy=tower.strategy,
        num_additional_image_tokens=class_tokens(config),
        image_token=IMAGE,
        chat_template=template,
    )


def eyes(n: int = 8) -> list[Image.Image]:
    """Return drawn fundus photographs."""
    with TemporaryDirectory() as folder:
        eye_diseases.write(Path(folder), n, SEED, workers=0)
        files = sorted(f for f in Path(folder).rglob("*") if f.suffix in (".jpg", ".png"))
        return [open_rgb(f) for f in files]
