"""Trainable parts of a model: adapters or the language model itself, the projector, and optionally the tower."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peft import LoraConfig, get_peft_model
from torch.nn import ModuleList

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.models.chat.family import family_of


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every linear map of the language model (Hu et al. 2021).

    Attributes:
        rank: Rank of the update.
        alpha: Scale: the update is multiplied by alpha / rank.
        dropout: Probability with which an element of the adapter's input is zeroed, in [0, 1].
        targets: Regular expression that the full name of an adapted linear layer matches; empty for all those of the
            language model. Short names (q_proj) also match the vision tower, which the doctor refuses.
    """

    rank: int = 128
    alpha: int = 256
    dropout: float = 0.05
    targets: str = ""

    def __post_init__(self) -> None:
        """Check rank and dropout.

        Raises:
            BadArgument: `rank` is below 1, or `dropout` outside [0, 1].
        """
        if self.rank < 1:
            raise BadArgument("lora.rank", self.rank, "at least 1", "set rank: 8, or `lora: null` for no adapters")
        if not 0 <= self.dropout <= 1:
            raise BadArgument("lora.dropout", self.dropout, "a probability from 0 to below 1", "set dropout: 0.05")


def check_scale(ours: Lora | None, theirs: Mapping[str, Any] | None) -> None:
    """Refuse adapters that were trained at another scale: their tensors load, but every reply would change silently.

    Args:
        ours: Adapters as configured; None for none.
        theirs: Adapter settings stored in the checkpoint, by the attribute names of `Lora`; None for none.

    Raises:
        WeightsMismatch: alpha / rank differs.

    Example:
        >>> check_scale(Lora(rank=8, alpha=16), {"rank": 8, "alpha": 16, "dropout": 0.1})
    """
    if ours is not None and theirs is not None and ours.alpha * theirs["rank"] != theirs["alpha"] * ours.rank:
        unexpected = [f"adapters of rank {theirs['rank']} and alpha {theirs['alpha']}"]
        cure = "use the configuration the checkpoint was trained with (config.yaml in its run folder)"
        raise WeightsMismatch("ckpt_path", [f"adapters of rank {ours.rank} and alpha {ours.alpha}"], unexpected, cure)


def trainable(base: Any, lora: Lora | None, tune_tower: bool = False, tune_language_model: bool = False) -> Any:
    """Return a loaded model with everything frozen but the trainable parts, which are in float32.

    Args:
        base: As `checkpoint.load` returns it.
        lora: Adapters on the language model; None for none.
        tune_tower: Train the vision tower too, up to the layer whose features are used.
        tune_language_model: Train the language model itself, embeddings and head included; needs `lora` None.

    Returns:
        The model itself without adapters, else peft's wrapper of it; in training mode, a frozen tower in eval mode.

    Raises:
        BadArgument: Both adapters and the language model below them are to be trained.
    """
    if lora is not None and tune_language_model:
        expected = "no adapters, as tune_language_model trains the language model itself"
        raise BadArgument("lora", lora, expected, "set `lora: null` for full tuning, or tune_language_model: false")
    family = family_of(base)
    base.requires_grad_(False)
    model: Any = base if lora is None else get_peft_model(base, _adapter(lora, base, tune_tower))
    learning = {"projector"} | ({"tower"} if tune_tower else set())
    learning |= {"language_model", "head"} if tune_language_model else set()
    for name, parameter in model.named_parameters():
        if (lora is None and family.part(name) in learning) or family.is_loose(name):
            parameter.requires_grad_(True)  # with adapters, peft has copied the modules and trains the copies
        if family.part(name) == "tower" and _is_unused(name, base.config):
            parameter.requires_grad_(False)
        learns = tune_tower and (lora is None or ".modules_to_save." in name)
        unread = learns and family.part(name) == "tower"  # layers behind the one that is read are computed too
        if parameter.requires_grad or unread:
            parameter.data = parameter.data.float()
    model.train()  # transformers loads in eval mode, in which gradient checkpointing is off
    if not tune_tower:
        base.get_submodule(family.tower).eval()
    return model


def _is_unused(name: str, config: Any) -> bool:
    """Return whether a tower's parameter lies behind the layer whose features are used, so that it gets no gradient.

    Distributed training would wait for such a gradient forever.
    """
    read = getattr(config, "vision_feature_layer", None)
    if not isinstance(read, int):
        return False
    layers = config.vision_config.num_hidden_layers
    used = read if read >= 0 else layers + 1 + read  # index 0 is the input of the first layer
    at = re.search(r"\.layers\.(\d+)\.", name)
    return "post_layernorm" in name or (at is not None and int(at.group(1)) >= used)


def _adapter(lora: Lora, base: Any, tune_tower: bool) -> LoraConfig:
    family = family_of(base)
    copied = [family.tower] if tune_tower else []
    for path in family.projector:
        part = base.get_submodule(path)  # each module of a list is copied: peft cannot wrap the list itself
        inner = [f"{path}.{name}" for name, _ in part.named_children()] if isinstance(part, ModuleList) else [path]
        copied += [] if tune_tower and path.startswith(f"{family.tower}.") else inner
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.targets or family.adapted,
        modules_to_save=copied,  # stored in the adapter file, so that it is complete
    )
