"""Random, narrow checkpoints of classes of transformers that are no family of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import transformers

from tests.families import GROUPED, MARKED, NARROW, SIDE, SQUARE, STATISTICS, TURNS, Llava, Qwen3VL, Tiny, save_tiny

EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LINEAR: dict[str, Any] = {
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_num_key_heads": 1,
    "linear_num_value_heads": 2,
    "layer_types": ["linear_attention", "full_attention"],
    "head_dim": 16,
}
"""A layer of linear attention before one of full attention, as in the language models of Qwen3.5."""
HEADERS = """{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{% for part in message.content %}{% if part.type == 'image' %}<|image|>{% else %}{{ part.text }}{% endif %}{% endfor %}
{{- '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""
NAMED = """{{ bos_token }}{% if messages[0].role != 'system' %}You are a helpful assistant.

{% endif %}{% for message in messages %}{{ {'user': 'User: ', 'assistant': 'Assistant: ', 'system': ''}[message.role] }}
{%- for part in message.content %}{% if part.type == 'image' %}<image_placeholder>{% else %}{{ part.text }}{% endif %}
{%- endfor %}{{ eos_token if message.role == 'assistant' else '\\n\\n' }}{% endfor %}
{%- if add_generation_prompt %}Assistant:{% endif %}"""
TAGGED = """[gMASK]<sop>{% for message in messages %}<|{{ message.role }}|>
{% if message.role == 'assistant' %}<think></think>
{% endif %}{% for part in message.content %}{% if part.type == 'image' %}<|begin_of_image|><|image|><|end_of_image|>
{%- else %}{{ part.text }}{% endif %}{% endfor %}
{%- if message.role == 'user' and not enable_thinking %}/nothink{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% if not enable_thinking %}<think></think>
{% endif %}{% endif %}"""


class Glm4vMoe(Tiny):
    """Like GLM-4.5V: its template has a switch for thinking."""

    template = TAGGED
    end = "<|user|>"
    added: ClassVar = {
        "eos_token": "<|endoftext|>",
        "image_token": "<|image|>",
        "video_token": "<|video|>",
        "turn_begin": "<|begin_of_image|>",
        "turn_end": "<|end_of_image|>",
        "turn_video": "<|begin_of_video|>",
        "turn_video_end": "<|end_of_video|>",
        "turn_user": "<|user|>",
        "turn_assistant": "<|assistant|>",
        "turn_system": "<|system|>",
    }
    begins = False

    def images(self):
        values = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
        values["size"] = {"shortest_edge": 32 * 32 * 2, "longest_edge": 128 * 128 * 2}
        return transformers.Glm4vImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        return transformers.Glm4vProcessor(images, tokenizer, transformers.Glm4vVideoProcessor(), **template)

    def values(self, ids, text):
        vision = {"depth": 2, "num_heads": 2, "hidden_size": 32, "intermediate_size": 64, "out_hidden_size": 32}
        vision |= {"patch_size": 8, "image_size": 64}
        moe = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1}
        axes = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3], "partial_rotary_factor": 1.0}
        marks = {
            "image": "image",
            "video": "video",
            "image_start": "begin_of_image",
            "image_end": "end_of_image",
            "video_start": "begin_of_video",
            "video_end": "end_of_video",
        }
        text = {**GROUPED, **moe, "n_group": 1, "topk_group": 1, "head_dim": 16, "rope_parameters": axes, **text}
        tokens = {f"{name}_token_id": ids(f"<|{token}|>") for name, token in marks.items()}
        return {"text_config": text, "vision_config": vision, **tokens}


class Qwen3VLMoe(Qwen3VL):
    """Like Qwen3-VL-30B-A3B."""

    def values(self, ids, text):
        return super().values(ids, {**text, **EXPERTS, "decoder_sparse_step": 1})


class Mllama(Tiny):
    """Like Llama 3.2 Vision: images enter by cross-attention, in tiles."""

    template = HEADERS
    added: ClassVar = {
        "image_token": "<|image|>",
        "turn_end": "<|eot_id|>",
        "turn_start": "<|start_header_id|>",
        "turn_header": "<|end_header_id|>",
        "turn_python": "<|python_tag|>",
    }
    end = "<|eot_id|>"

    def images(self):
        return transformers.MllamaImageProcessor(**STATISTICS, size=SIDE, max_image_tiles=4)

    def processor(self, images, tokenizer, template):
        return transformers.MllamaProcessor(images, tokenizer, **template)

    def values(self, ids, text):
        vision = {"image_size": 48, "patch_size": 12, "hidden_size": 32, "num_hidden_layers": 2, "num_global_layers": 1}
        vision |= {"attention_heads": 2, "intermediate_size": 64, "intermediate_layers_indices": [0]}
        vision |= {"vision_output_dim": 64, "max_num_tiles": 4}
        text = {**GROUPED, **text, "cross_attention_layers": [1], "num_hidden_layers": 3}
        return {"text_config": text, "vision_config": vision, "image_token_index": ids("<|image|>")}


class PaliGemma(Tiny):
    """Like PaliGemma: no chat template, an image and words that attend to one another in both directions."""

    template = ""
    end = "</s>"
    added: ClassVar = {"image_token": "<image>"}

    def images(self):
        images = transformers.SiglipImageProcessor(**STATISTICS, size=SIDE)
        images.image_seq_length = 16
        return images

    def processor(self, images, tokenizer, template):
        tokenizer.chat_template = None
        return transformers.PaliGemmaProcessor(images, tokenizer)

    def values(self, ids, text):
        values = {"vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **SQUARE}}
        values["vision_config"]["projection_dim"] = 32
        gemma = {"model_type": "gemma", "head_dim": 16, **GROUPED, **text}
        return values | {"text_config": gemma, "image_token_index": ids("<image>"), "projection_dim": 32}


class Gemma4(Tiny):
    """Like Gemma 4: an image at its own aspect ratio."""

    template = TURNS.replace("<start_of_image>", "<|image|>")
    added: ClassVar = {
        "turn": "<start_of_turn>",
        "turn_end": "<end_of_turn>",
        "turn_video": "<|video|>",
        "boi_token": "<|image>",
        "eoi_token": "<image|>",
        "image_token": "<|image|>",
        "boa_token": "<|audio>",
        "eoa_token": "<audio|>",
        "audio_token": "<|audio|>",
    }
    end = "<end_of_turn>"

    def images(self):
        return transformers.Gemma4ImageProcessor(patch_size=4, max_soft_tokens=70, pooling_kernel_size=3)

    def processor(self, images, tokenizer, template):
        sound, video = transformers.Gemma4AudioFeatureExtractor(), transformers.Gemma4VideoProcessor()
        return transformers.Gemma4Processor(sound, images, tokenizer, video, image_seq_length=70, **template)

    def values(self, ids, text):
        kinds = ["sliding_attention", "full_attention"]
        text = {**GROUPED, **text, "head_dim": 16, "global_head_dim": 16, "layer_types": kinds, "sliding_window": 512}
        text |= {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": text["vocab_size"]}
        text |= {"use_bidirectional_attention": "vision"}
        vision = {**NARROW, "num_key_value_heads": 2, "head_dim": 16, "patch_size": 4, "position_embedding_size": 256}
        marks = {"boi": "<|image>", "eoi": "<image|>", "image": "<|image|>", "video": "<|video|>"}
        marks |= {"boa": "<|audio>", "audio": "<|audio|>"}
        tokens = {f"{name}_token_id": ids(token) for name, token in marks.items()}
        return {"text_config": text, "vision_config": vision, "audio_config": None, **tokens}


class Gemma4Unified(Gemma4):
    """Like Gemma 4 12B, which has no tower: the language model takes patches of the image."""

    def images(self):
        return transformers.Gemma4UnifiedImageProcessor(patch_size=4, max_soft_tokens=70, pooling_kernel_size=3)

    def processor(self, images, tokenizer, template):
        sound = transformers.Gemma4UnifiedAudioFeatureExtractor()
        video = transformers.Gemma4UnifiedVideoProcessor()
        return transformers.Gemma4UnifiedProcessor(sound, images, tokenizer, video, image_seq_length=70, **template)

    def values(self, ids, text):
        values = super().values(ids, text)
        for key in ("hidden_size_per_layer_input", "vocab_size_per_layer_input"):  # only its relatives have them
            del values["text_config"][key]
        patches = {"patch_size": 4, "pooling_kernel_size": 3, "mm_posemb_size": 256}
        width = values["text_config"]["hidden_size"]
        return values | {"vision_config": {**patches, "mm_embed_dim": width, "output_proj_dims": width}}


class DeepseekVL(Tiny):
    """Like DeepSeek-VL, version 1."""

    template = NAMED
    end = "</s>"
    added: ClassVar = {"image_token": "<image_placeholder>"}

    def images(self):
        return transformers.DeepseekVLImageProcessor(**STATISTICS, size=SIDE)

    def processor(self, images, tokenizer, template):
        return transformers.DeepseekVLProcessor(images, tokenizer, num_image_tokens=16, **template)

    def values(self, ids, text):
        vision = {"model_type": "siglip_vision_model", "vision_use_head": False, **SQUARE}
        values = {"text_config": {"model_type": "llama", **text}, "vision_config": vision}
        return values | {"image_token_id": ids("<image_placeholder>")}


class VipLlava(Llava):
    """Like ViP-LLaVA: its processor crops the centre of a picture."""

    def values(self, ids, text):
        values = super().values(ids, text)
        del values["vision_feature_layer"]
        return values | {"vision_feature_layers": [-1, -2]}


class Glm46V(Glm4vMoe):
    """Like GLM-4.6V-Flash."""

    def images(self):
        values = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
        values["size"] = {"shortest_edge": 32 * 32 * 2, "longest_edge": 128 * 128 * 2}
        return transformers.Glm46VImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        return transformers.Glm46VProcessor(images, tokenizer, transformers.Glm46VVideoProcessor(), **template)

    def values(self, ids, text):
        values = super().values(ids, text)
        values["vision_config"]["model_type"] = "glm4v_vision"
        axes = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3], "partial_rotary_factor": 1.0}
        return values | {"text_config": {"model_type": "glm4v_text", **GROUPED, "rope_parameters": axes, **text}}


class Janus(Tiny):
    """Like Janus-Pro: it also draws pictures, which nothing here asks for."""

    template = NAMED
    end = "</s>"
    added: ClassVar = {
        "image_token": "<image_placeholder>",
        "boi_token": "<begin_of_image>",
        "eoi_token": "<end_of_image>",
    }

    def images(self):
        return transformers.JanusImageProcessor(**STATISTICS, size=SIDE)

    def processor(self, images, tokenizer, template):
        return transformers.JanusProcessor(images, tokenizer, num_image_tokens=16, **template)

    def values(self, ids, text):
        vision = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_ratio": 2.0}
        vision |= {"image_size": 48, "patch_size": 12, "projection_dim": 32, "num_image_tokens": 16}
        drawing = {"embed_dim": 8, "num_embeddings": 16, "latent_channels": 32, "base_channels": 32}
        drawing |= {
            "channel_multiplier": [1, 1],
            "num_res_blocks": 1,
            "projection_dim": 32,
            "image_token_embed_dim": 32,
        }
        values = {"text_config": {"model_type": "llama", **text}, "vision_config": vision, "vq_config": drawing}
        return values | {"image_token_id": ids("<image_placeholder>")}


class Llama4(Tiny):
    """Like Llama 4 Scout: a mixture of experts that sees a picture in tiles and as an overview."""

    template = HEADERS
    end = "<|eot_id|>"
    added: ClassVar = {
        "image_token": "<|image|>",
        "turn_end": "<|eot_id|>",
        "turn_start": "<|start_header_id|>",
        "turn_header": "<|end_header_id|>",
        "turn_image": "<|image_start|>",
        "turn_image_end": "<|image_end|>",
        "turn_patch": "<|patch|>",
        "turn_x": "<|tile_x_separator|>",
        "turn_y": "<|tile_y_separator|>",
    }

    def images(self):
        return transformers.Llama4ImageProcessor(**STATISTICS, size=SIDE, max_patches=4, resize_to_max_canvas=False)

    def processor(self, images, tokenizer, template):
        return transformers.Llama4Processor(images, tokenizer, patch_size=12, **template)

    def values(self, ids, text):
        vision = {**NARROW, "image_size": 48, "patch_size": 12, "vision_output_dim": 64, "projector_input_dim": 64}
        vision |= {"projector_output_dim": 64, "intermediate_size": 128}
        experts = {"num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 64, "head_dim": 16}
        marks = {"boi_token_index": ids("<|image_start|>"), "eoi_token_index": ids("<|image_end|>")}
        text = {**GROUPED, **experts, **text}
        return {"text_config": text, "vision_config": vision, "image_token_index": ids("<|patch|>"), **marks}


class MiniCPMV46(Tiny):
    """Like MiniCPM-V 4.6: a picture as an overview and slices, before the language model of Qwen3.5."""

    template = MARKED.replace("IMAGE", "<|image_pad|>")
    begins = False
    added: ClassVar = {
        "eos_token": "<|im_end|>",
        "turn": "<|im_start|>",
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "image_start_token": "<image>",
        "image_end_token": "</image>",
        "slice_start_token": "<slice>",
        "slice_end_token": "</slice>",
        "image_id_start_token": "<image_id>",
        "image_id_end_token": "</image_id>",
    }

    def images(self):
        values = {"patch_size": 8, "scale_resolution": 64, "max_slice_nums": 4}
        return transformers.MiniCPMV4_6ImageProcessor(**STATISTICS, **values)

    def processor(self, images, tokenizer, template):
        video = transformers.MiniCPMV4_6VideoProcessor()
        return transformers.MiniCPMV4_6Processor(images, video, tokenizer, **template)

    def values(self, ids, text):
        vision = {**SQUARE, "image_size": 64, "patch_size": 8, "insert_layer_id": 0, "num_channels": 3}
        text = {"model_type": "qwen3_5_text", **GROUPED, **LINEAR, **text}
        values = {"text_config": text, "vision_config": vision, "insert_layer_id": 0, "image_size": 64}
        return values | {"image_token_id": ids("<|image_pad|>"), "video_token_id": ids("<|video_pad|>")}


class Qwen35(Qwen3VL):
    """Like Qwen3.5 and 3.6: layers of linear attention between those of full attention."""

    def values(self, ids, text):
        values = super().values(ids, text)
        values["text_config"] |= LINEAR
        values["vision_config"].pop("deepstack_visual_indexes", None)
        return values


OTHERS: dict[str, Tiny] = {
    "deepseek_vl": DeepseekVL(),
    "gemma4": Gemma4(),
    "gemma4_unified": Gemma4Unified(),
    "glm46v": Glm46V(),
    "glm4v_moe": Glm4vMoe(),
    "janus": Janus(),
    "llama4": Llama4(),
    "minicpmv4_6": MiniCPMV46(),
    "mllama": Mllama(),
    "paligemma": PaliGemma(),
    "qwen3_5": Qwen35(),
    "qwen3_vl_moe": Qwen3VLMoe(),
    "vipllava": VipLlava(),
}


def write_other(folder: Path, model_type: str, seed: int = 0, **text: Any) -> Path:
    """Save a random checkpoint of a class of `OTHERS`, and return its folder."""
    begins = {"bos_token_id": 1} if model_type == "mllama" else {}  # its configuration needs one
    return save_tiny(folder, model_type, OTHERS[model_type], seed, **begins | text)
