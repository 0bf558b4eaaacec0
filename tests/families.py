"""Random, narrow checkpoints of the six families, each with its own kind of processor, template and special tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)

from tests.tiny import base

MODEL_TYPES = ("llava", "llava_next", "internvl", "qwen2_5_vl", "qwen3_vl", "gemma3")

PLAIN = """{{ bos_token }}{% for message in messages %}
{%- if message.role == 'assistant' %} ASSISTANT: {% else %}USER: {% endif %}
{%- for part in message.content %}{% if part.type == 'image' %}<image>
{% else %}{{ part.text }}{% endif %}{% endfor %}
{%- if message.role == 'assistant' %} {% endif %}
{%- endfor %}{% if add_generation_prompt %} ASSISTANT: {% endif %}"""
INSTRUCTION = """{% for message in messages %}
{%- if message.role == 'assistant' %}{% for part in message.content %} {{ part.text }}{% endfor %}<\\s> {% else %}[INST]
{%- for part in message.content if part.type == 'image' %} <image>
{% endfor %}{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %} [/INST]{% endif %}
{%- endfor %}"""
MARKED = """{% if system %}<|im_start|>system
{{ system }}<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}{% endif %}{% endfor %}
{{- '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TURNS = """{{ bos_token }}{% for message in messages %}<start_of_turn>
{{- 'model' if message.role == 'assistant' else message.role }}
{% for part in message.content %}{% if part.type == 'image' %}<start_of_image>
{%- else %}{{ part.text | trim }}{% endif %}{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""
VISION = "<|vision_start|><|image_pad|><|vision_end|>"
TEMPLATES = {
    "llava": PLAIN,
    "llava_next": INSTRUCTION,
    "internvl": MARKED.replace("IMAGE", "<IMG_CONTEXT>\n"),
    "qwen2_5_vl": "{% set system = 'You are a helpful assistant.' %}" + MARKED.replace("IMAGE", VISION),
    "qwen3_vl": MARKED.replace("IMAGE", VISION),
    "gemma3": TURNS,
}
"""As the published ones write: LLaVA's has no end token, LLaVA-NeXT's has a misspelt one, the others end a turn."""

ADDED: dict[str, dict[str, str]] = {
    "llava": {},
    "llava_next": {},
    "internvl": {
        "eos_token": "<|im_end|>",
        "turn": "<|im_start|>",
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    },
    "qwen2_5_vl": {
        "eos_token": "<|im_end|>",
        "turn": "<|im_start|>",
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
    },
    "gemma3": {
        "turn": "<start_of_turn>",
        "turn_end": "<end_of_turn>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    },
}
ADDED["qwen3_vl"] = ADDED["qwen2_5_vl"]
"""Special tokens beyond the shipped tokenizer's, by the name that the family's processor reads them under."""

NARROW = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def write_tiny(folder: Path, model_type: str, seed: int = 0, **text: Any) -> Path:
    """Save a random checkpoint that AutoModelForImageTextToText and AutoProcessor load, and return its folder.

    Args:
        folder: An existing one.
        model_type: One of `MODEL_TYPES`.
        seed: Of the weights, which are drawn wide, so that replies depend on the image and on the question.
        text: Further values of the language model's configuration (`sliding_window` ...).
    """
    tokenizer = _tokenizer(model_type)
    images = _image_processor(model_type)
    _processor(model_type, images, tokenizer).save_pretrained(folder)
    torch.manual_seed(seed)
    model = AutoModelForImageTextToText.from_config(_config(model_type, tokenizer, text))
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3 if "vision" in name or "visual" in name else 0.4)
        elif "q_norm" in name or "k_norm" in name:
            torch.nn.init.constant_(parameter, 2.0)  # else attention is nearly even, and one image as good as another
    ends = [tokenizer.eos_token_id] + [i for i in [tokenizer.get_vocab().get("<end_of_turn>")] if i is not None]
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=ends, pad_token_id=0)
    model.save_pretrained(folder)
    return folder


def _tokenizer(model_type: str) -> Any:
    added = dict(ADDED[model_type])
    eos = added.pop("eos_token", "</s>")
    named = {k: v for k, v in added.items() if k.endswith("_token")} or {"image_token": "<image>"}
    tokenizer = AutoTokenizer.from_pretrained(base(), eos_token=eos, extra_special_tokens=named)
    tokenizer.add_special_tokens({"additional_special_tokens": [v for k, v in added.items() if k.startswith("turn")]})
    if model_type in ("internvl", "qwen2_5_vl", "qwen3_vl"):
        tokenizer.bos_token = None
    return tokenizer


def _image_processor(model_type: str) -> Any:
    statistics = {"image_mean": [0.32, 0.17, 0.09], "image_std": [0.28, 0.16, 0.1]}
    if model_type in ("qwen2_5_vl", "qwen3_vl"):
        values = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
        values["size"] = {"shortest_edge": 32 * 32, "longest_edge": 128 * 128}
        kind = "Qwen2VLImageProcessor"
    elif model_type == "internvl":
        values = {"size": {"height": 48, "width": 48}, "min_patches": 1, "max_patches": 4, "crop_to_patches": True}
        kind = "GotOcr2ImageProcessor"
    elif model_type == "gemma3":
        values, kind = {"size": {"height": 48, "width": 48}}, "Gemma3ImageProcessor"
    else:
        side = {"height": 48, "width": 48}
        values = {"size": {"shortest_edge": 48}, "crop_size": side, "do_center_crop": True}
        if model_type == "llava_next":
            values["image_grid_pinpoints"] = [[48, 96], [96, 48], [96, 96]]
        kind = "LlavaNextImageProcessor" if model_type == "llava_next" else "LlavaImageProcessor"
    return getattr(transformers, kind)(**statistics, **values)


def _processor(model_type: str, images: Any, tokenizer: Any) -> Any:
    template = {"chat_template": TEMPLATES[model_type]}
    if model_type in ("llava", "llava_next"):
        kind = transformers.LlavaProcessor if model_type == "llava" else transformers.LlavaNextProcessor
        clip = {"patch_size": 12, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
        return kind(images, tokenizer, **clip, **template)
    if model_type == "internvl":
        video = transformers.InternVLVideoProcessor()
        return transformers.InternVLProcessor(images, tokenizer, video, image_seq_length=4, **template)
    if model_type == "gemma3":
        return transformers.Gemma3Processor(images, tokenizer, image_seq_length=16, **template)
    if model_type == "qwen2_5_vl":
        return transformers.Qwen2_5_VLProcessor(images, tokenizer, transformers.Qwen2VLVideoProcessor(), **template)
    return transformers.Qwen3VLProcessor(images, tokenizer, transformers.Qwen3VLVideoProcessor(), **template)


def _config(model_type: str, tokenizer: Any, text: dict[str, Any]) -> Any:
    ids = tokenizer.convert_tokens_to_ids
    common = {"vocab_size": len(tokenizer), "max_position_embeddings": 2048, "initializer_range": 0.4, **NARROW}
    square = {"image_size": 48, "patch_size": 12, **NARROW}
    clip = {
        "vision_config": {"model_type": "clip_vision_model", "initializer_factor": 3.0, **square},
        "image_token_index": ids("<image>"),
        "vision_feature_layer": -2,
        "image_seq_length": 16,
    }
    grids = {"patch_size": 8, "spatial_merge_size": 2, "temporal_patch_size": 2, "depth": 2, "num_heads": 2}
    grids |= {"hidden_size": 32, "intermediate_size": 64, "out_hidden_size": 32}
    marks = {"image_token_id": ids("<|image_pad|>"), "video_token_id": ids("<|video_pad|>")}
    marks |= {"vision_start_token_id": ids("<|vision_start|>"), "vision_end_token_id": ids("<|vision_end|>")}
    axes = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}}
    values: dict[str, Any]
    if model_type == "llava":
        values = {"text_config": {"model_type": "llama", **common}, **clip}
    elif model_type == "llava_next":
        pinpoints = [[48, 96], [96, 48], [96, 96]]
        mistral = {"model_type": "mistral", "num_key_value_heads": 1, "sliding_window": None, **common}
        values = {"text_config": mistral, "image_grid_pinpoints": pinpoints, **clip}
    elif model_type == "internvl":
        vision = {"model_type": "internvl_vision", **square, "image_size": [48, 48], "patch_size": [12, 12]}
        values = {"text_config": {"model_type": "qwen2", "num_key_value_heads": 1, **common}, "vision_config": vision}
        values |= {"image_token_id": ids("<IMG_CONTEXT>"), "image_seq_length": 4}
    elif model_type == "qwen2_5_vl":
        vision = {"window_size": 32, "fullatt_block_indexes": [1], **grids}
        values = {"text_config": {"num_key_value_heads": 1, **axes, **common}, "vision_config": vision, **marks}
    elif model_type == "qwen3_vl":
        vision = {"deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64, **grids}
        axes["rope_parameters"]["mrope_interleaved"] = True
        values = {"text_config": {"num_key_value_heads": 1, "head_dim": 16, **axes, **common}, "vision_config": vision}
        values |= marks
    else:
        kinds = ["sliding_attention", "full_attention"]
        gemma = {"num_key_value_heads": 1, "head_dim": 16, "query_pre_attn_scalar": 16, "layer_types": kinds, **common}
        values = {"text_config": {"model_type": "gemma3_text", **gemma}, "mm_tokens_per_image": 16}
        values |= {"vision_config": {"model_type": "siglip_vision_model", **square}}
        values |= {"image_token_index": ids("<image_soft_token>"), "boi_token_index": ids("<start_of_image>")}
        values |= {"eoi_token_index": ids("<end_of_image>")}
    own = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    values["text_config"] |= {**own, "tie_word_embeddings": False, **text}
    return AutoConfig.for_model(model_type, **values | {"tie_word_embeddings": False})
