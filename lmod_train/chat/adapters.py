"""What of a checkpoint learns: adapters on the language model or itself, the projector, the tower where asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peft import LoraConfig, get_peft_model
from torch.nn import ModuleList

from lmod_train.chat.family import family_of
from lmod_train.errors import BadArgument, WeightsMismatch


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every linear map of the language model (Hu et al. 2021).

    Attributes:
        rank: Of the update.
        alpha: Scale; the update is multiplied by alpha / rank.
        dropout: On the adapter's input.
        targets: Regular expression of the linear maps by their whole names; empty for those of the language model.
            Short names (q_proj) are the tower's too, which the doctor refuses.
    """

    rank: int = 128
    alpha: int = 256
    dropout: float = 0.05
    targets: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no low rank and no share.

        Raises:
            BadArgument: `rank` is below 1, or `dropout` outside [0, 1].
        """
        if self.rank < 1:
            raise BadArgument("lora.rank", self.rank, "at least 1", "set rank: 8, or `lora: null` for no adapters")
        if not 0 <= self.dropout <= 1:
            raise BadArgument("lora.dropout", self.dropout, "a share from 0 to below 1", "set dropout: 0.05")


def check_scale(ours: Lora | None, theirs: Mapping[str, Any] | None) -> None:
    """Refuse adapters that were trained at another scale: their tensors fit, and would change every reply in silence.

    Args:
        ours: Adapters as configured; None for none.
        theirs: What a checkpoint says of its own, by the names of `Lora`; None for none.

    Raises:
        WeightsMismatch: alpha / rank is another.

    Example:
        >>> check_scale(Lora(rank=8, alpha=16), {"rank": 8, "alpha": 16, "dropout": 0.1})
    """
    if ours is not None and theirs is not None and ours.alpha * theirs["rank"] != theirs["alpha"] * ours.rank:
        raise WeightsMismatch(
            "ckpt_path",
            [f"adapters of rank {ours.rank} and alpha {ours.alpha}"],
            [f"adapters of rank {theirs['rank']} and alpha {theirs['alpha']}"],
            "use the configuration the checkpoint was trained with (config.yaml in its run folder)",
        )


def trainable(base: Any, lora: Lora | None, tune_tower: bool = False, tune_language_model: bool = False) -> Any:
    """Freeze a loaded model and put on it what learns, in float32.

    Args:
        base: As `checkpoint.load` returns it.
        lora: Adapters on the language model; None for none.
        tune_tower: The vision tower learns too, but for what comes behind the layer whose features are used.
        tune_language_model: The language model itself learns, its embeddings and head included; needs `lora` None.

    Returns:
        The model itself without adapters, else peft's around it; in training mode, the frozen tower in evaluation mode.

    Raises:
        BadArgument: Adapters and the language model below them are both to learn.
    """
    if lora is not None and tune_language_model:
        expected = "no adapters, as the language model itself learns"
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
        whole = learns and family.part(name) == "tower"  # what is behind the layer that is read is computed too
        if parameter.requires_grad or whole:
            parameter.data = parameter.data.float()
    model.train()  # transformers loads for inference, in which activations would not be recomputed
    if not tune_tower:
        base.get_submodule(family.tower).eval()
    return model


def _is_unused(name: str, config: Any) -> bool:
    """Return whether a tower's parameter is behind the layer that is read: no gradient would ever reach it.

    A process group that waits for its gradient would wait for ever.
    """
    read = getattr(config, "vision_feature_layer", None)
    if not isinstance(read, int):
        return False
    layers = config.vision_config.num_hidden_layers
    used = read if read >= 0 else layers + 1 + read  # index 0 is what enters the first layer
    at = re.search(r"\.layers\.(\d+)\.", name)
    return "post_layernorm" in name or (at is not None and int(at.group(1)) >= used)


def _adapter(lora: Lora, base: Any, tune_tower: bool) -> LoraConfig:
    family = family_of(base)
    copied = [family.tower] if tune_tower else []
    for path in family.projector:
        part = base.get_submodule(path)  # of a list each module is copied: peft cannot wrap the list itself
        inner = [f"{path}.{name}" for name, _ in part.named_children()] if isinstance(part, ModuleList) else [path]
        copied += [] if tune_tower and path.startswith(f"{family.tower}.") else inner
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.targets or family.adapted,
        modules_to_save=copied,  # inside the adapter file, so that none lacks them
    )
