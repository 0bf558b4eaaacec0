"""Configuration of a language model from a flat configuration that also describes other parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import AutoConfig

from lmod_train.core.package_data import package_data

ROTARY = {"rope_theta", "rope_scaling"}
"""Settings that every version of transformers reads; the present one writes them under another name."""

DESCRIPTIVE: frozenset[str] = frozenset(package_data(__file__, "words.yaml")["language_model"]["descriptive"])
"""Settings of the checkpoint that do not affect its language model."""


def text_config(model_type: str, values: Mapping[str, Any], rows: int, words: Any) -> Any:
    """Return the configuration of a language model of transformers.

    What the values leave out has the default of its class, as in the original code, whose classes are the same.

    Args:
        model_type: Type of the language model, e.g. `llama`.
        values: Settings, which may include some that the class does not have.
        rows: Number of rows of embedding and head.
        words: Facts that depend on the tokenizer, here the padding token.
    """
    known = (set(AutoConfig.for_model(model_type).to_dict()) | ROTARY) - DESCRIPTIVE
    kept = {key: value for key, value in values.items() if key in known}
    kept |= {"vocab_size": rows, "pad_token_id": words.tokenizer.pad_token_id, "tie_word_embeddings": False}
    if not model_type.startswith("qwen"):
        kept.setdefault("head_dim", values["hidden_size"] // values["num_attention_heads"])
    return AutoConfig.for_model(model_type, **kept)
