"""Which parts of a checkpoint learn: adapters on the language model, the projector, and the tower where asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peft import LoraConfig, get_peft_model

LANGUAGE_MODEL_LINEAR = r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"
"""Anchored: the seven names alone would also hit a CLIP tower's q, k and v."""


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every linear map of the language model (Hu et al. 2021).

    Attributes:
        rank: Of the update.
        alpha: Scale; the update is multiplied by alpha / rank.
        dropout: On the adapter's input.
    """

    rank: int = 128
    alpha: int = 256
    dropout: float = 0.05


def trainable(base: Any, lora: Lora | None, tune_tower: bool = False) -> Any:
    """Freeze a loaded model and put on it what learns, in float32.

    Args:
        base: As `checkpoint.load` returns it.
        lora: Adapters on the language model; None for the projector alone.
        tune_tower: The vision tower learns too.

    Returns:
        The model itself without adapters, else peft's around it; in training mode, the frozen tower in evaluation mode.
    """
    base.requires_grad_(False)
    model: Any = base if lora is None else get_peft_model(base, _adapter(lora, tune_tower))
    for name, parameter in model.named_parameters():
        if lora is None and ("projector" in name or (tune_tower and "vision_tower" in name)):
            parameter.requires_grad_(True)  # with adapters, peft has copied these and trains the copies
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    model.train()  # transformers loads for inference, in which activations would not be recomputed
    if not tune_tower:
        base.model.vision_tower.eval()
    return model


def _adapter(lora: Lora, tune_tower: bool) -> LoraConfig:
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=LANGUAGE_MODEL_LINEAR,
        # inside the adapter file, so that none lacks them
        modules_to_save=["multi_modal_projector", *(["vision_tower"] if tune_tower else [])],
    )
