"""Random, narrow checkpoints of every family, each with its own kind of processor, template and special tokens.

A family is one class below: how its tiny checkpoint is made, and what its tests expect of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)

from tests.tiny import base

PLAIN = """{{ bos_token }}{% for message in messages %}
{%- if message.role == 'assistant' %} ASSISTANT: {% elif message.role == 'user' %}USER: {% endif %}
{%- for part in message.content %}{% if part.type == 'image' %}<image>
{% else %}{{ part.text }}{% endif %}{% endfor %}
{%- if message.role != 'user' %} {% endif %}
{%- endfor %}{% if add_generation_prompt %} ASSISTANT: {% endif %}"""
INSTRUCTION = """{% for message in messages %}
{%- if message.role == 'system' %}{{ '<<SYS>>\\n' + message.content[0].text + '\\n<</SYS>>\\n\\n' }}
{%- elif message.role == 'assistant' %}{% for part in message.content %} {{ part.text }}{% endfor %}<\\s>{{ ' ' }}
{%- else %}[INST]
{%- for part in message.content if part.type == 'image' %} <image>
{% endfor %}{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %} [/INST]{% endif %}
{%- endfor %}"""
MARKED = """{% if system and messages[0].role != 'system' %}<|im_start|>system
{{ system }}<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}{% endif %}{% endfor %}
{{- '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
SPACED = """{% for message in messages %}{{ '<|im_start|>' + message.role + ' ' }}
{%- for part in message.content if part.type == 'image' %}<image>{% endfor %}
{%- for part in message.content if part.type == 'text' %}{{ '\\n' + part.text }}{% endfor %}<|im_end|>
{%- endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TURNS = """{{ bos_token }}{% set system = messages[0].role == 'system' %}
{%- for message in (messages[1:] if system else messages) %}<start_of_turn>
{{- 'model' if message.role == 'assistant' else message.role }}
{% if system and loop.first %}{{ messages[0].content[0].text + '\\n\\n' }}{% endif %}
{%- for part in message.content %}{% if part.type == 'image' %}<start_of_image>
{%- else %}{{ part.text | trim }}{% endif %}{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""
UTTERANCES = """{{ bos_token }}{% for message in messages %}{{ message.role.capitalize() }}
{{- ':' if message.content[0].type == 'image' else ': ' }}
{%- for part in message.content %}{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}
{{- '<end_of_utterance>\\n' }}{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"""
VISION = "<|vision_start|><|image_pad|><|vision_end|>"
"""Templates as the published ones write: LLaVA's has no end token, LLaVA-NeXT's has a misspelt one, the others end a
turn; LLaVA-OneVision's writes a space behind the role, but not where it asks for a reply. A system message stands
before the first turn (LLaVA), in marks of its own (LLaVA-NeXT), in a turn of its own, or in the user's (Gemma)."""

NARROW = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
SQUARE = {"image_size": 48, "patch_size": 12, **NARROW}
STATISTICS: dict[str, Any] = {"image_mean": [0.32, 0.17, 0.09], "image_std": [0.28, 0.16, 0.1]}
SIDE = {"height": 48, "width": 48}
PINPOINTS = [[48, 96], [96, 48], [96, 96]]
GROUPED = {"num_key_value_heads": 1}
LLAVA = r"language_model\.(model|lm_head)\.|multi_modal_projector\."
CLIP = LLAVA + r"|vision_tower\.vision_model\.(emb|enc|p)"


class Tiny:
    """A family's tiny checkpoint.

    Attributes:
        template: Its chat template.
        added: Special tokens beyond the shipped tokenizer's, by the name that the family's processor reads them under.
        begins: The tokenizer has a token with which texts begin.
        end: What ends an answer.
        places: Image tokens of a picture of 120 x 90 and of one of 60 x 120.
        published: What each name of a tensor begins with in the checkpoints on the hub.
        misfit: Values of its configuration with which the network makes another number of embeddings.
        windowed: Values of its text model with which some layers look back 12 tokens; None where it has no such layers.
    """

    template: ClassVar[str]
    added: ClassVar[dict[str, str]] = {}
    begins: ClassVar[bool] = True
    end: ClassVar[str] = "<|im_end|>"
    places: ClassVar[tuple[int, int]] = (16, 16)
    published: ClassVar[str]
    misfit: ClassVar[dict[str, Any]] = {"vision_config": {"patch_size": 24}}
    windowed: ClassVar[dict[str, Any] | None] = None

    def images(self) -> Any:
        """Return the image processor."""
        raise NotImplementedError

    def processor(self, images: Any, tokenizer: Any, template: dict[str, str]) -> Any:
        """Return the whole processor."""
        raise NotImplementedError

    def values(self, ids: Any, text: dict[str, Any]) -> dict[str, Any]:
        """Return the network's configuration; `ids` makes an id of a token, `text` is common to all text models."""
        raise NotImplementedError


class Llava(Tiny):
    template = PLAIN
    end = "</s>"
    published = CLIP  # llava-hf/llava-1.5-7b-hf
    clip: ClassVar = {"patch_size": 12, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}

    def images(self):
        values = {"size": {"shortest_edge": 48}, "crop_size": SIDE, "do_center_crop": True}
        return transformers.LlavaImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        return transformers.LlavaProcessor(images, tokenizer, **self.clip, **template)

    def values(self, ids, text):
        return {"text_config": {"model_type": "llama", **text}, **self.seeing(ids)}

    def seeing(self, ids):
        return {
            "vision_config": {"model_type": "clip_vision_model", "initializer_factor": 3.0, **SQUARE},
            "image_token_index": ids("<image>"),
            "vision_feature_layer": -2,
            "image_seq_length": 16,
        }


class LlavaNext(Llava):
    template = INSTRUCTION
    places = (70, 56)
    published = CLIP + "|image_newline$"  # llava-hf/llava-v1.6-mistral-7b-hf
    windowed: ClassVar = {"sliding_window": 12}

    def images(self):
        values = {"size": {"shortest_edge": 48}, "crop_size": SIDE, "do_center_crop": True}
        return transformers.LlavaNextImageProcessor(**STATISTICS, **values, image_grid_pinpoints=PINPOINTS)

    def processor(self, images, tokenizer, template):
        return transformers.LlavaNextProcessor(images, tokenizer, **self.clip, **template)

    def values(self, ids, text):
        mistral = {"model_type": "mistral", "sliding_window": None, **GROUPED, **text}
        return {"text_config": mistral, "image_grid_pinpoints": PINPOINTS, **self.seeing(ids)}


class LlavaOnevision(Tiny):
    template = SPACED
    added: ClassVar = {
        "eos_token": "<|im_end|>",
        "turn": "<|im_start|>",
        "image_token": "<image>",
        "video_token": "<video>",
    }
    begins = False
    places = (44, 56)  # the first picture has more than two tiles' worth of tokens, and is scaled down
    published = CLIP + "|image_newline$"  # llava-hf/llava-onevision-qwen2-7b-ov-hf
    windowed: ClassVar = {"use_sliding_window": True, "sliding_window": 12, "max_window_layers": 1}

    def images(self):
        return transformers.LlavaOnevisionImageProcessor(**STATISTICS, size=SIDE, image_grid_pinpoints=PINPOINTS)

    def processor(self, images, tokenizer, template):
        video = transformers.LlavaOnevisionVideoProcessor()
        values = {
            "num_image_tokens": 16,
            "vision_feature_select_strategy": "full",
            "vision_aspect_ratio": "anyres_max_2",
        }
        return transformers.LlavaOnevisionProcessor(images, tokenizer, video, **values, **template)

    def values(self, ids, text):
        return {
            "text_config": {"model_type": "qwen2", **GROUPED, **text},
            "vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **SQUARE},
            "image_grid_pinpoints": PINPOINTS,
            "vision_aspect_ratio": "anyres_max_2",
            "image_token_index": ids("<image>"),
            "video_token_index": ids("<video>"),
        }


class InternVL(Tiny):
    template = MARKED.replace("IMAGE", "<IMG_CONTEXT>\n")
    added: ClassVar = {
        "eos_token": "<|im_end|>",
        "turn": "<|im_start|>",
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    begins = False
    places = (20, 12)
    published = LLAVA + r"|vision_tower\.(emb|enc)"  # OpenGVLab/InternVL3-8B-hf
    misfit: ClassVar = {"downsample_ratio": 0.25}
    windowed: ClassVar = {"use_sliding_window": True, "sliding_window": 12, "max_window_layers": 1}

    def images(self):
        values = {"size": SIDE, "min_patches": 1, "max_patches": 4, "crop_to_patches": True}
        return transformers.GotOcr2ImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        video = transformers.InternVLVideoProcessor()
        return transformers.InternVLProcessor(images, tokenizer, video, image_seq_length=4, **template)

    def values(self, ids, text):
        vision = {"model_type": "internvl_vision", **SQUARE, "image_size": [48, 48], "patch_size": [12, 12]}
        values = {"text_config": {"model_type": "qwen2", **GROUPED, **text}, "vision_config": vision}
        return values | {"image_token_id": ids("<IMG_CONTEXT>"), "image_seq_length": 4}


class Qwen25VL(Tiny):
    template = "{% set system = 'You are a helpful assistant.' %}" + MARKED.replace("IMAGE", VISION)
    added: ClassVar = {
        "eos_token": "<|im_end|>",
        "turn": "<|im_start|>",
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
    }
    begins = False
    places = (48, 32)
    published = r"model\.(layers|norm|embed_tokens)|lm_head\.|visual\."  # Qwen/Qwen2.5-VL-7B-Instruct
    misfit: ClassVar = {"vision_config": {"spatial_merge_size": 4}}
    windowed: ClassVar = {"use_sliding_window": True, "sliding_window": 12, "max_window_layers": 1}

    def images(self):
        values = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
        values["size"] = {"shortest_edge": 32 * 32, "longest_edge": 128 * 128}
        return transformers.Qwen2VLImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        return transformers.Qwen2_5_VLProcessor(images, tokenizer, transformers.Qwen2VLVideoProcessor(), **template)

    def values(self, ids, text):
        vision = {"window_size": 32, "fullatt_block_indexes": [1], **self.grids}
        return {"text_config": {**GROUPED, **self.axes(), **text}, "vision_config": vision, **self.marks(ids)}

    grids: ClassVar = {
        "patch_size": 8,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "depth": 2,
        "num_heads": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "out_hidden_size": 32,
    }

    def axes(self, **more):
        return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3], **more}}

    def marks(self, ids):
        named = {"image": "image_pad", "video": "video_pad", "vision_start": "vision_start", "vision_end": "vision_end"}
        return {f"{name}_token_id": ids(f"<|{token}|>") for name, token in named.items()}


class Qwen2VL(Qwen25VL):
    published = r"model\.(layers|norm|embed_tokens)|lm_head\.|visual\."  # Qwen/Qwen2-VL-7B-Instruct

    def processor(self, images, tokenizer, template):
        return transformers.Qwen2VLProcessor(images, tokenizer, transformers.Qwen2VLVideoProcessor(), **template)

    def values(self, ids, text):
        left_out = {"intermediate_size", "out_hidden_size"}
        vision = {name: value for name, value in self.grids.items() if name not in left_out}
        vision |= {"embed_dim": 32, "mlp_ratio": 2}
        return {"text_config": {**GROUPED, **self.axes(), **text}, "vision_config": vision, **self.marks(ids)}


class Qwen3VL(Qwen25VL):
    template = MARKED.replace("IMAGE", VISION)
    published = r"model\.(language_model|visual)\.|lm_head\."  # Qwen/Qwen3-VL-8B-Instruct
    windowed = None

    def processor(self, images, tokenizer, template):
        return transformers.Qwen3VLProcessor(images, tokenizer, transformers.Qwen3VLVideoProcessor(), **template)

    def values(self, ids, text):
        vision = {"deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64, **self.grids}
        text = {"head_dim": 16, **GROUPED, **self.axes(mrope_interleaved=True), **text}
        return {"text_config": text, "vision_config": vision, **self.marks(ids)}


class Gemma3(Tiny):
    template = TURNS
    added: ClassVar = {
        "turn": "<start_of_turn>",
        "turn_end": "<end_of_turn>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    end = "<end_of_turn>"
    published = CLIP + r"|vision_tower\.vision_model\.head"  # google/gemma-3-4b-it
    misfit: ClassVar = {"mm_tokens_per_image": 4}
    windowed: ClassVar = {"sliding_window": 12}

    def images(self):
        return transformers.Gemma3ImageProcessor(**STATISTICS, size=SIDE)

    def processor(self, images, tokenizer, template):
        return transformers.Gemma3Processor(images, tokenizer, image_seq_length=16, **template)

    def values(self, ids, text):
        kinds = ["sliding_attention", "full_attention"]
        gemma = {"model_type": "gemma3_text", "head_dim": 16, "query_pre_attn_scalar": 16, "layer_types": kinds}
        return {
            "text_config": {**gemma, **GROUPED, **text},
            "vision_config": {"model_type": "siglip_vision_model", **SQUARE},
            "mm_tokens_per_image": 16,
            "image_token_index": ids("<image_soft_token>"),
            "boi_token_index": ids("<start_of_image>"),
            "eoi_token_index": ids("<end_of_image>"),
        }


class Idefics3(Tiny):
    template = UTTERANCES
    added: ClassVar = {
        "image_token": "<image>",
        "turn_end": "<end_of_utterance>",
        "turn_image": "<fake_token_around_image>",
        "turn_whole": "<global-img>",
        **{f"turn_{row}_{column}": f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)},
    }
    end = "<end_of_utterance>"
    places = (20, 12)
    published = (  # HuggingFaceM4/Idefics3-8B-Llama3
        r"model\.(vision_model\.(emb|enc|post)|connector\.modality_projection\.proj\."
        r"|text_model\.(layers|norm|embed_tokens)\.)|lm_head\."
    )

    def images(self):
        values = {"size": {"longest_edge": 96}, "max_image_size": {"longest_edge": 48}}
        return transformers.Idefics3ImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        return transformers.Idefics3Processor(images, tokenizer, image_seq_len=4, **template)

    def values(self, ids, text):
        values = {"text_config": {"model_type": "llama", **text}, "vision_config": SQUARE}
        return values | {"image_token_id": ids("<image>"), "scale_factor": 2}


TINY: dict[str, Tiny] = {
    "gemma3": Gemma3(),
    "idefics3": Idefics3(),
    "internvl": InternVL(),
    "llava": Llava(),
    "llava_next": LlavaNext(),
    "llava_onevision": LlavaOnevision(),
    "qwen2_5_vl": Qwen25VL(),
    "qwen2_vl": Qwen2VL(),
    "qwen3_vl": Qwen3VL(),
}
MODEL_TYPES = tuple(TINY)


def write_tiny(folder: Path, model_type: str, seed: int = 0, **text: Any) -> Path:
    """Save a random checkpoint that AutoModelForImageTextToText and AutoProcessor load, and return its folder.

    Args:
        folder: An existing one.
        model_type: One of `MODEL_TYPES`.
        seed: Of the weights, which are drawn wide, so that replies depend on the image and on the question.
        text: Further values of the language model's configuration (`sliding_window` ...).
    """
    return save_tiny(folder, model_type, TINY[model_type], seed, **text)


def save_tiny(folder: Path, model_type: str, tiny: Tiny, seed: int = 0, **text: Any) -> Path:
    """Save a random checkpoint of any class, see `write_tiny`."""
    tokenizer = _tokenizer(tiny)
    tiny.processor(tiny.images(), tokenizer, {"chat_template": tiny.template}).save_pretrained(folder)
    torch.manual_seed(seed)
    model = AutoModelForImageTextToText.from_config(_config(model_type, tiny, tokenizer, text))
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3 if "vision" in name or "visual" in name else 0.4)
        elif "q_norm" in name or "k_norm" in name:
            torch.nn.init.constant_(parameter, 2.0)  # else attention is nearly even, and one image as good as another
    ends = list(dict.fromkeys([tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids(tiny.end)]))
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=ends, pad_token_id=0)
    model.save_pretrained(folder)
    return folder


def _tokenizer(tiny: Tiny) -> Any:
    added = dict(tiny.added)
    eos = added.pop("eos_token", "</s>")
    named = {k: v for k, v in added.items() if k.endswith("_token")} or {"image_token": "<image>"}
    tokenizer = AutoTokenizer.from_pretrained(base(), eos_token=eos, extra_special_tokens=named)
    tokenizer.add_special_tokens({"additional_special_tokens": [v for k, v in added.items() if k.startswith("turn")]})
    if not tiny.begins:
        tokenizer.bos_token = None
    return tokenizer


def _config(model_type: str, tiny: Tiny, tokenizer: Any, text: dict[str, Any]) -> Any:
    common = {"vocab_size": len(tokenizer), "max_position_embeddings": 2048, "initializer_range": 0.4, **NARROW}
    values = tiny.values(tokenizer.convert_tokens_to_ids, common)
    own = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    values["text_config"] |= {**own, "tie_word_embeddings": False, **text}
    return AutoConfig.for_model(model_type, **values | {"tie_word_embeddings": False})
