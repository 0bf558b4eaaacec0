"""Tiny random checkpoints in the layouts in which weights are published, file by file as the originals have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers.utils import sentencepiece_model_pb2_new as pieces_format

WIDTH, INNER, LAYERS, HEADS, KEYS = 32, 48, 2, 4, 2
SIDE, PATCH, TOWER_WIDTH, TOWER_LAYERS = 28, 7, 128, 3
TOWER_HEADS = TOWER_WIDTH // 64
IMAGE_TOKENS = (SIDE // PATCH) ** 2
WORDS = ("▁t", "he", "▁the", "in", "ay", "as", "us", "er", "▁a", "▁o", "▁eye", "▁W", "hat", "▁What", "▁is", "▁in")
LETTERS = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,?!#:<>/[]|_-'0123456789"


def normal(*shape: int, spread: float = 0.3) -> Tensor:
    return torch.randn(*shape) * spread


def gains(size: int) -> Tensor:
    """Return the gains of a norm: near 1, as in trained models."""
    return 1 + normal(size, spread=0.1)


def write_pieces(file: Path, further: int = 0, dummy_prefix: bool = True) -> int:
    """Write a ``tokenizer.model`` of byte-pair encoding and return how many pieces it has."""
    model = pieces_format.ModelProto()
    plain = [(text, 2 if text == "<unk>" else 3) for text in ("<unk>", "<s>", "</s>")]
    known = [(f"<0x{byte:02X}>", 6) for byte in range(256)] + [(text, 1) for text in (*LETTERS, *WORDS)]
    known += [(f"[UNUSED_TOKEN_{i}]", 4) for i in range(further)]
    for i, (text, kind) in enumerate([*plain, *known]):
        model.pieces.add(piece=text, score=-float(i) if kind == 1 and len(text) > 1 else 0.0, type=kind)
    model.trainer_spec.model_type, model.trainer_spec.byte_fallback = 2, True
    model.normalizer_spec.add_dummy_prefix = dummy_prefix
    model.normalizer_spec.remove_extra_whitespaces = False
    file.write_bytes(model.SerializeToString())
    return len(model.pieces)


def clip_tensors(prefix: str) -> dict[str, Tensor]:
    """Return a CLIP tower's tensors."""
    width, made = TOWER_WIDTH, {}
    for i in range(TOWER_LAYERS):
        name = f"{prefix}encoder.layers.{i}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            made[f"{name}.self_attn.{part}.weight"] = normal(width, width, spread=0.08)
            made[f"{name}.self_attn.{part}.bias"] = normal(width)
        made |= both(f"{name}.mlp.fc1", normal(64, width, spread=0.08), normal(64))
        made |= both(f"{name}.mlp.fc2", normal(width, 64, spread=0.1), normal(width))
        made |= both(f"{name}.layer_norm1", gains(width), normal(width))
        made |= both(f"{name}.layer_norm2", gains(width), normal(width))
    return made | {
        f"{prefix}embeddings.class_embedding": normal(width),
        f"{prefix}embeddings.patch_embedding.weight": normal(width, 3, PATCH, PATCH, spread=0.05),
        f"{prefix}embeddings.position_embedding.weight": normal(IMAGE_TOKENS + 1, width),
        **both(f"{prefix}pre_layrnorm", gains(width), normal(width)),
        **both(f"{prefix}post_layernorm", gains(width), normal(width)),
    }


def both(name: str, weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def llama_tensors(
    prefix: str, head: str, rows: int, keys: int = HEADS, *, biases: bool = False, normed: int = 0
) -> dict[str, Tensor]:
    """Return the tensors of a LLaMA or Mistral, with biases of a Qwen2, with `normed` heads so wide of a Qwen3."""
    wide, each = WIDTH, normed or WIDTH // HEADS
    made = {f"{prefix}embed_tokens.weight": normal(rows, wide), head: normal(rows, wide, spread=0.04)}
    made[f"{prefix}norm.weight"] = gains(wide)
    for i in range(LAYERS):
        name = f"{prefix}layers.{i}"
        for part, size in (("q", HEADS * each), ("k", keys * each), ("v", keys * each)):
            made[f"{name}.self_attn.{part}_proj.weight"] = normal(size, wide)
            if biases:
                made[f"{name}.self_attn.{part}_proj.bias"] = normal(size)
        if normed:
            made |= {f"{name}.self_attn.{part}_norm.weight": gains(each) for part in "qk"}
        made[f"{name}.self_attn.o_proj.weight"] = normal(wide, HEADS * each)
        made |= {f"{name}.mlp.{part}_proj.weight": normal(INNER, wide) for part in ("gate", "up")}
        made[f"{name}.mlp.down_proj.weight"] = normal(wide, INNER)
        made |= {f"{name}.{part}_layernorm.weight": gains(wide) for part in ("input", "post_attention")}
    return made


def internlm2_tensors(rows: int) -> dict[str, Tensor]:
    """Return the tensors of an InternLM2, under the names they have in InternVL."""
    prefix, made = "language_model.model.", {"language_model.output.weight": normal(rows, WIDTH, spread=0.04)}
    made |= {f"{prefix}tok_embeddings.weight": normal(rows, WIDTH), f"{prefix}norm.weight": gains(WIDTH)}
    for i in range(LAYERS):
        name = f"{prefix}layers.{i}"
        made[f"{name}.attention.wqkv.weight"] = normal((HEADS + 2 * KEYS) * WIDTH // HEADS, WIDTH)
        made[f"{name}.attention.wo.weight"] = normal(WIDTH, WIDTH)
        made |= {f"{name}.feed_forward.{part}.weight": normal(INNER, WIDTH) for part in ("w1", "w3")}
        made[f"{name}.feed_forward.w2.weight"] = normal(WIDTH, INNER)
        made |= {f"{name}.{part}_norm.weight": gains(WIDTH) for part in ("attention", "ffn")}
    return made


def intern_vit_tensors() -> dict[str, Tensor]:
    """Return the tensors of an InternViT and of InternVL's projector."""
    prefix, width = "vision_model.embeddings.", WIDTH
    made = {
        f"{prefix}class_embedding": normal(1, 1, width),
        f"{prefix}position_embedding": normal(1, IMAGE_TOKENS + 1, width),
        **both(f"{prefix}patch_embedding", normal(width, 3, PATCH, PATCH, spread=0.1), normal(width)),
        **both("mlp1.0", gains(4 * width), normal(4 * width)),
        **both("mlp1.1", normal(WIDTH, 4 * width, spread=0.1), normal(WIDTH)),
        **both("mlp1.3", normal(WIDTH, WIDTH), normal(WIDTH)),
    }
    for i in range(LAYERS):
        name = f"vision_model.encoder.layers.{i}"
        made |= both(f"{name}.attn.qkv", normal(3 * width, width), normal(3 * width))
        made |= both(f"{name}.attn.proj", normal(width, width), normal(width))
        made |= both(f"{name}.mlp.fc1", normal(INNER, width), normal(INNER))
        made |= both(f"{name}.mlp.fc2", normal(width, INNER), normal(width))
        made |= both(f"{name}.norm1", gains(width), normal(width)) | both(f"{name}.norm2", gains(width), normal(width))
        made |= {f"{name}.ls1": normal(width), f"{name}.ls2": normal(width)}
    return made


def write_json(folder: Path, name: str, values: Mapping[str, Any]) -> None:
    (folder / name).write_text(json.dumps(values), encoding="utf-8")


def write_bins(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write two pickled shards and their index, as LLaVA's code does."""
    names, places = sorted(tensors), {}
    for i, part in enumerate((names[::2], names[1::2]), 1):
        file = f"pytorch_model-{i:05d}-of-00002.bin"
        torch.save({name: tensors[name] for name in part}, folder / file)
        places |= dict.fromkeys(part, file)
    write_json(folder, "pytorch_model.bin.index.json", {"weight_map": places})


def write_tower(folder: Path) -> dict[str, Tensor]:
    """Write a whole CLIP, text side included, as OpenAI's are published; return its vision tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    vision = clip_tensors("vision_model.")
    whole = vision | {
        "vision_model.embeddings.position_ids": torch.arange(IMAGE_TOKENS + 1)[None],
        "text_model.final_layer_norm.weight": gains(8),
        "logit_scale": torch.tensor(4.6),
        "text_projection.weight": normal(8, 8),
        "visual_projection.weight": normal(8, 8),
    }
    torch.save(whole, folder / "pytorch_model.bin")
    sizes = {"hidden_size": TOWER_WIDTH, "intermediate_size": 64, "num_hidden_layers": TOWER_LAYERS}
    sizes |= {"num_attention_heads": TOWER_HEADS, "image_size": SIDE, "patch_size": PATCH}
    write_json(folder, "config.json", {"model_type": "clip", "vision_config": {**sizes, "hidden_act": "quick_gelu"}})
    write_json(folder, "preprocessor_config.json", {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.25]})
    return vision


def llava_config(rows: int, **values: Any) -> dict[str, Any]:
    """Return the flat configuration of LLaVA's code."""
    return {
        "architectures": ["LlavaLlamaForCausalLM"],
        "model_type": "llava",
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 512,
        "vocab_size": rows,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "silu",
        "torch_dtype": "float32",
        "use_cache": True,
        "mm_hidden_size": TOWER_WIDTH,
        "mm_vision_select_layer": -2,
        "mm_vision_tower": "openai/clip-vit-large-patch14-336",
        "use_mm_proj": True,
        "tune_mm_mlp_adapter": False,
        **values,
    }


def projector(layers: int) -> dict[str, Tensor]:
    """Return LLaVA's projector of one linear map or of two."""
    first, second = normal(WIDTH, TOWER_WIDTH, spread=0.1), normal(WIDTH, WIDTH)
    if layers == 1:
        return both("model.mm_projector", first, normal(WIDTH))
    return both("model.mm_projector.0", first, normal(WIDTH)) | both("model.mm_projector.2", second, normal(WIDTH))


def write_words(folder: Path, **settings: Any) -> int:
    """Write the tokenizer of a LLaMA and return the size of its vocabulary."""
    rows = write_pieces(folder / "tokenizer.model")
    write_json(folder, "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "legacy": False, **settings})
    write_json(folder, "special_tokens_map.json", {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})
    return rows


def write_llava_1_0(folder: Path) -> dict[str, Tensor]:
    """LLaVA-Med 1.0 once its delta is applied: one linear map, tokens around an image, no tower, pickled shards."""
    folder.mkdir(parents=True)
    rows = write_words(folder) + 3
    write_json(folder, "added_tokens.json", {"<im_patch>": rows - 3, "<im_start>": rows - 2, "<im_end>": rows - 1})
    tower = "openai/clip-vit-large-patch14"
    write_json(folder, "config.json", llava_config(rows, mm_use_im_start_end=True, mm_vision_tower=tower))
    tensors = llama_tensors("model.", "lm_head.weight", rows) | projector(1)
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    write_bins(folder, tensors)
    return tensors


def write_llava_1_5(folder: Path) -> dict[str, Tensor]:
    """LLaVA 1.5: two maps, no tower, pickled shards, and the projector once more in a file of its own."""
    folder.mkdir(parents=True)
    rows = write_words(folder)
    values = {"mm_projector_type": "mlp2x_gelu", "image_aspect_ratio": "pad", "mm_use_im_start_end": False}
    write_json(folder, "config.json", llava_config(rows, **values))
    write_json(folder, "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2, "temperature": 0.9})
    tensors = llama_tensors("model.", "lm_head.weight", rows) | projector(2)
    write_bins(folder, tensors)
    torch.save(projector(2), folder / "mm_projector.bin")
    return tensors


def write_llava_med_1_5(folder: Path) -> dict[str, Tensor]:
    """LLaVA-Med 1.5: a Mistral with shared key heads, its tower inside, padded vocabulary, safetensors in two files."""
    folder.mkdir(parents=True)
    rows = write_words(folder) + 5
    values = {"model_type": "llava_mistral", "mm_projector_type": "mlp2x_gelu", "num_key_value_heads": KEYS}
    values |= {"sliding_window": None, "rope_theta": 1e6, "image_aspect_ratio": "pad"}
    write_json(folder, "config.json", llava_config(rows, **values))
    tensors = llama_tensors("model.", "lm_head.weight", rows, KEYS) | projector(2)
    tensors |= clip_tensors("model.vision_tower.vision_tower.vision_model.")
    _write_safe(folder, tensors)
    return tensors


def write_sharegpt4v(folder: Path) -> dict[str, Tensor]:
    """ShareGPT4V: LLaVA 1.5 with a tuned tower of its own inside."""
    tensors = write_llava_1_5(folder)
    for file in folder.glob("*.bin*"):
        file.unlink()
    values = json.loads((folder / "config.json").read_text())
    values["mm_vision_tower"] = "Lin-Chen/ShareGPT4V-7B_Pretrained_vit-large336-l12"
    write_json(folder, "config.json", values)
    tensors |= clip_tensors("model.vision_tower.vision_tower.vision_model.")
    torch.save(tensors, folder / "pytorch_model.bin")
    return tensors


GRIDS = [[2 * SIDE, SIDE], [SIDE, 2 * SIDE], [2 * SIDE, 2 * SIDE], [SIDE, 3 * SIDE]]
"""Width before height, and not one the mirror of another, so that an exchange shows."""


def write_llava_1_6(folder: Path) -> dict[str, Tensor]:
    """LLaVA 1.6 on Mistral: tiles, an end of each line, a tuned tower inside."""
    folder.mkdir(parents=True)
    rows = write_words(folder)
    values = {"model_type": "llava_mistral", "mm_projector_type": "mlp2x_gelu", "num_key_value_heads": KEYS}
    values |= {"image_aspect_ratio": "anyres", "image_grid_pinpoints": GRIDS, "mm_patch_merge_type": "spatial_unpad"}
    values |= {"sliding_window": None, "image_crop_resolution": 224, "unfreeze_mm_vision_tower": True}
    write_json(folder, "config.json", llava_config(rows, **values))
    tensors = llama_tensors("model.", "lm_head.weight", rows, KEYS) | projector(2)
    tensors |= clip_tensors("model.vision_tower.vision_tower.vision_model.")
    tensors["model.image_newline"] = normal(WIDTH)
    _write_safe(folder, tensors)
    return tensors


def _write_safe(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    names, places = sorted(tensors), {}
    for i, part in enumerate((names[::2], names[1::2]), 1):
        file = f"model-{i:05d}-of-00002.safetensors"
        save_file({name: tensors[name] for name in part}, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(part, file)
    write_json(folder, "model.safetensors.index.json", {"weight_map": places})


WIDE_HEAD = 24
"""Values of a head of Qwen3, whose heads together are wider than its hidden states."""


def write_internvl(folder: Path, architecture: str = "InternLM2ForCausalLM") -> dict[str, Tensor]:
    """InternVL 2.5: tower, projector and language model in one file; InternLM2's tokens in place of unused pieces."""
    folder.mkdir(parents=True)
    begin, size = 2, write_pieces(folder / "tokenizer.model", 2)
    marks = ("<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>")
    stated = {str(size - begin + i): {"content": mark, "special": True} for i, mark in enumerate(marks)}
    settings = {"added_tokens_decoder": stated, "bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    write_json(folder, "tokenizer_config.json", {"tokenizer_class": "InternLM2Tokenizer", **settings})
    rows = size + 8
    text = llava_config(rows, num_key_value_heads=KEYS, architectures=[architecture], rope_theta=1e6)
    text = {key: value for key, value in text.items() if "mm_" not in key} | {"bias": False, "model_type": "internlm2"}
    text |= {"head_dim": WIDE_HEAD} if architecture == "Qwen3ForCausalLM" else {}
    vision = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "image_size": SIDE}
    vision |= {"num_attention_heads": HEADS, "patch_size": PATCH, "norm_type": "layer_norm", "qkv_bias": True}
    vision |= {"qk_normalization": False, "layer_norm_eps": 1e-6, "hidden_act": "gelu", "drop_path_rate": 0.1}
    whole = {"model_type": "internvl_chat", "llm_config": text, "vision_config": vision, "template": "internvl2_5"}
    whole |= {"ps_version": "v2", "downsample_ratio": 0.5, "select_layer": -1, "dynamic_image_size": True}
    whole |= {"use_thumbnail": True, "min_dynamic_patch": 1, "max_dynamic_patch": 4, "force_image_size": SIDE}
    write_json(folder, "config.json", whole)
    qwen = {"Qwen2ForCausalLM": {"biases": True}, "Qwen3ForCausalLM": {"normed": WIDE_HEAD}}.get(architecture, {})
    plain = llama_tensors("language_model.model.", "language_model.lm_head.weight", rows, KEYS, **qwen)
    language = internlm2_tensors(rows) if architecture == "InternLM2ForCausalLM" else plain
    tensors = intern_vit_tensors() | language
    _write_safe(folder, tensors)
    return tensors
