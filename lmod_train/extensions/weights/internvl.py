"""The layout of InternVL 1.5 to 3.5: an InternViT, a projector, and InternLM2, Qwen2, Qwen3 or LLaMA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor
from transformers import (
    GotOcr2ImageProcessor,
    InternVLConfig,
    InternVLProcessor,
    InternVLVideoProcessor,
    InternVLVisionConfig,
)

from lmod_train.core.errors import NotConvertible
from lmod_train.core.package_data import package_data
from lmod_train.extensions.weights.language_model import text_config
from lmod_train.extensions.weights.layout import HEAD, Layout, Rule, Words
from lmod_train.models.chat.stored import Stored, stored_in

_WORDS = package_data(__file__, "words.yaml")["internvl"]


TEXT: Mapping[str, str] = _WORDS["text"]
"""Equivalent language model of transformers for each architecture."""

TEMPLATES = {"internlm2-chat": "internlm2-chat", "Hermes-2": "internlm2-chat", "internvl2_5": "internvl2_5"}
"""Chat template for each name in config.json; the first two names mean the same template."""

RENAMED_VISION: Mapping[str, str] = _WORDS["renamed_vision"]

VISION_DEFAULTS = {"qkv_bias": False, "qk_normalization": True, "norm_type": "rms_norm", "layer_norm_eps": 1e-6}
"""Defaults of the original code."""

NORM_EPSILON = 1e-6
"""Fixed in transformers' norms of queries and keys."""

STATISTICS: dict[str, Any] = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}

LAYER, LANGUAGE = r"vision_model\.encoder\.layers\.(\d+)\.", r"language_model\.model\.layers\.(\d+)\."

VISION = r"vision_tower.encoder.layer.\1."

DECODER = r"language_model.model.layers.\1."


def thirds(tensor: Tensor) -> Sequence[Tensor]:
    """Return queries, keys and values of a fused linear layer."""
    if len(tensor) % 3:
        raise RuntimeError("not three maps")
    return tuple(part.clone() for part in tensor.chunk(3))


def grouped(tensor: Tensor, groups: int, head: int) -> Sequence[Tensor]:
    """Return queries, keys and values of InternLM2's fused linear layer.

    Its rows are ordered by key head: the queries of the group, then the key, then the value.

    Args:
        tensor: (key heads x (groups + 2) x head, width).
        groups: Number of query heads per key head.
        head: Number of dimensions of a head.
    """
    by_head = tensor.reshape(-1, groups + 2, head, *tensor.shape[1:])
    parts = by_head[:, :groups], by_head[:, groups], by_head[:, groups + 1]
    return tuple(part.reshape(-1, *tensor.shape[1:]).clone() for part in parts)


class InternVL(Layout):
    """InternVL's own code (`internvl_chat`)."""

    image_token = "<IMG_CONTEXT>"  # noqa: S105
    added_tokens: ClassVar[Mapping[str, str]] = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    runtime_names = (
        (r"^model\.language_model\.", "language_model.model."),
        (r"^lm_head\.", "language_model.lm_head."),
        (r"^model\.", ""),
    )

    def __init__(self, folder: Path, values: Mapping[str, Any], tower: Path | None = None) -> None:
        super().__init__(folder, values, None)
        if tower is not None:
            problem = "--tower names a vision tower, but this checkpoint contains its own"
            raise NotConvertible(folder, problem, "leave out --tower")
        self._text: Mapping[str, Any] = values.get("llm_config") or {}
        self._vision: Mapping[str, Any] = VISION_DEFAULTS | (values.get("vision_config") or {})
        self._check()

    @property
    def _architecture(self) -> str:
        return str((self._text.get("architectures") or ["none"])[0])

    @property
    def title(self) -> str:
        """Name of the layout, with the language model."""
        return f"InternVL 1.5 to 3.5 (internvl_chat), {self._architecture.removesuffix('ForCausalLM')}"

    @property
    def template(self) -> str:
        """The template that config.json names."""
        return TEMPLATES[self.values["template"]]

    @property
    def rules(self) -> Sequence[Rule]:
        """Rules of tower, projector and language model."""
        return (*self._of_tower(), *self._of_projector(), *self._of_language())

    def _of_tower(self) -> Sequence[Rule]:
        fused = tuple(rf"{VISION}attention.{part}_proj.\2" for part in "qkv")
        return (
            Rule(r"vision_model\.embeddings\.class_embedding", ("vision_tower.embeddings.cls_token",)),
            Rule(r"vision_model\.embeddings\.position_embedding", ("vision_tower.embeddings.position_embeddings",)),
            Rule(
                r"vision_model\.embeddings\.patch_embedding\.(weight|bias)",
                (r"vision_tower.embeddings.patch_embeddings.projection.\1",),
            ),
            Rule(rf"{LAYER}attn\.qkv\.(weight|bias)", fused, thirds),
            Rule(rf"{LAYER}attn\.proj\.(weight|bias)", (rf"{VISION}attention.projection_layer.\2",)),
            Rule(rf"{LAYER}attn\.([qk]_norm)\.weight", (rf"{VISION}attention.\2.weight",)),
            Rule(rf"{LAYER}norm1\.(weight|bias)", (rf"{VISION}layernorm_before.\2",)),
            Rule(rf"{LAYER}norm2\.(weight|bias)", (rf"{VISION}layernorm_after.\2",)),
            Rule(rf"{LAYER}ls([12])", (rf"{VISION}lambda_\2",)),
            Rule(rf"{LAYER}(mlp\.fc[12]\.(?:weight|bias))", (rf"{VISION}\2",)),
        )

    def _of_projector(self) -> Sequence[Rule]:
        parts = {0: "layer_norm", 1: "linear_1", 3: "linear_2"}
        return tuple(Rule(rf"mlp1\.{i}\.(weight|bias)", (rf"multi_modal_projector.{n}.\1",)) for i, n in parts.items())

    def _of_language(self) -> Sequence[Rule]:
        if self._architecture != "InternLM2ForCausalLM":
            return (
                Rule(r"language_model\.(model\.(?:embed_tokens|layers|norm)\..+)", (r"language_model.\1",)),
                Rule(r"language_model\.lm_head\.weight", (HEAD,)),
            )
        heads, keys = int(self._text["num_attention_heads"]), self._text.get("num_key_value_heads")
        split = partial(grouped, groups=heads // int(keys or heads), head=int(self._text["hidden_size"]) // heads)
        fused = tuple(rf"{DECODER}self_attn.{part}_proj.\2" for part in "qkv")
        maps = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}
        return (
            Rule(r"language_model\.model\.tok_embeddings\.weight", ("language_model.model.embed_tokens.weight",)),
            Rule(r"language_model\.model\.norm\.weight", ("language_model.model.norm.weight",)),
            Rule(r"language_model\.output\.weight", (HEAD,)),
            Rule(rf"{LANGUAGE}attention\.wqkv\.(weight|bias)", fused, split),
            Rule(rf"{LANGUAGE}attention\.wo\.(weight|bias)", (rf"{DECODER}self_attn.o_proj.\2",)),
            *(Rule(rf"{LANGUAGE}feed_forward\.{w}\.weight", (rf"{DECODER}mlp.{n}.weight",)) for w, n in maps.items()),
            Rule(rf"{LANGUAGE}attention_norm\.weight", (rf"{DECODER}input_layernorm.weight",)),
            Rule(rf"{LANGUAGE}ffn_norm\.weight", (rf"{DECODER}post_attention_layernorm.weight",)),
        )

    @property
    def dropped(self) -> Mapping[str, str]:
        """Tensors that every version computes from the configuration."""
        return {r".*rotary_emb\.inv_freq": "computed from the configuration"}

    def stored(self) -> Iterator[Stored]:
        """Yield the checkpoint's tensors."""
        return stored_in(self.folder)

    def made(self, dtype: Any) -> Mapping[str, Tensor]:
        """Return nothing: transformers needs no additional tensors."""
        return {}

    def configuration(self, words: Words, rows: int, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        """Return the configuration of transformers."""
        text = dict(self._text)
        if self._architecture == "InternLM2ForCausalLM":
            text["attention_bias"] = bool(text.get("bias", True))
        vision = {new: self._vision[old] for old, new in RENAMED_VISION.items() if old in self._vision}
        return InternVLConfig(
            text_config=text_config(TEXT[self._architecture], text, rows, words),
            vision_config=InternVLVisionConfig(**vision, use_absolute_position_embeddings=True),
            image_token_id=words.image_token_id,
            image_seq_length=self._tokens,
            downsample_ratio=self.values["downsample_ratio"],
            vision_feature_layer=self.values.get("select_layer", -1),
        )

    @property
    def _tokens(self) -> int:
        """Number of tokens of a tile."""
        patches = self._vision["image_size"] // self._vision["patch_size"]
        return int(patches**2 * self.values["downsample_ratio"] ** 2)

    def processor(self, words: Words, config: Any, template: str) -> Any:
        """Return InternVL's processor, with the number of tiles that config.json states."""
        side, tiles = self._vision["image_size"], self.values.get("max_dynamic_patch", 6)
        pictures = GotOcr2ImageProcessor(
            size={"height": side, "width": side},
            crop_to_patches=bool(self.values.get("dynamic_image_size")),
            min_patches=self.values.get("min_dynamic_patch", 1),
            max_patches=tiles if self.values.get("dynamic_image_size") else 1,
            **STATISTICS,
        )
        return InternVLProcessor(
            pictures, words.tokenizer, InternVLVideoProcessor(), image_seq_length=self._tokens, chat_template=template
        )

    def _check(self) -> None:
        """Refuse settings of the original code that transformers' InternVL does not support."""
        if self._architecture not in TEXT:
            self._refuse(f"the language model {self._architecture}; known are {', '.join(TEXT)}")
        if self.values.get("template") not in TEMPLATES:
            self._refuse(f"template {self.values.get('template')!r}; known are {', '.join(TEMPLATES)}")
        if self.values.get("ps_version", "v1") != "v2":
            self._refuse("ps_version v1, which transposes images; transformers has v2")
        if self.values.get("pad2square"):
            self._refuse("pad2square, which transformers' processor does not support")
        if self.values.get("dynamic_image_size") and not self.values.get("use_thumbnail"):
            self._refuse("tiles without an overview (use_thumbnail false), which transformers' processor always adds")
        if self._vision["qk_normalization"] and self._vision["layer_norm_eps"] != NORM_EPSILON:
            self._refuse(f"layer_norm_eps {self._vision['layer_norm_eps']} with norms of queries and keys")
        if self.values.get("use_backbone_lora") or self.values.get("use_llm_lora"):
            self._refuse("adapters (use_backbone_lora or use_llm_lora); merge them with InternVL's own tools first")
        side = self.values.get("force_image_size") or self._vision["image_size"]
        if side != self._vision["image_size"]:
            self._refuse(f"force_image_size {side} with a tower of {self._vision['image_size']}")

    def _refuse(self, problem: str) -> None:
        cure = "run it with the code that its page names, behind an endpoint, or name another checkpoint"
        raise NotConvertible(self.folder, f"config.json has {problem}", cure)


LAYOUT = InternVL
