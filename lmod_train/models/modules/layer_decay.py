"""Layer-wise learning rates and their schedule, as in the fine-tuning of RETFound.

References: BEiT (Bao et al. 2021) for layer-wise decay, MAE (He et al. 2021) for the recipe, the fine-tuning program of
RETFound for its values. timm's optimisers store each group's scale for timm's schedulers, which Lightning does not
support; here every group's learning rate is multiplied by its scale before the optimiser is built.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from timm.models._manipulate import group_with_matcher
from timm.models.eva import Eva
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from lmod_train.core.errors import BadArgument

IMAGES_OF_BASE_LR = 256
"""Number of images of an optimiser step for which `base_lr` is stated."""


@dataclass(frozen=True)
class LayerDecay:
    """AdamW with a learning rate per layer, linear warm-up and cosine decay; the defaults are those of LMOD.

    Attributes:
        base_lr: Peak learning rate of the head per 256 images of an optimiser step: it is multiplied by images / 256.
        decay: Ratio of a block's learning rate to that of the next block, in (0, 1]; 1 for equal learning rates.
        weight_decay: Weight decay of matrices; vectors, position embedding and class token have none.
        warmup_epochs: Length of the linear warm-up in epochs.
        min_lr: Learning rate of the head at the end; lower layers have it multiplied by their scale.
        betas: Betas of AdamW.
        eps: Epsilon of AdamW.

    Raises:
        BadArgument: A value is out of its range.
    """

    base_lr: float = 5e-3
    decay: float = 0.65
    weight_decay: float = 0.05
    warmup_epochs: float = 10
    min_lr: float = 1e-6
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise BadArgument("optimisation.decay", self.decay, "a share in (0, 1]", "set 0.65, or 1 for none")
        if self.base_lr <= 0:
            raise BadArgument("optimisation.base_lr", self.base_lr, "a positive number", "set 0.005 as RETFound does")
        for name in ("weight_decay", "warmup_epochs", "min_lr"):
            if getattr(self, name) < 0:
                raise BadArgument(f"optimisation.{name}", getattr(self, name), "0 or more", "set 0 for none")


STEM = re.compile(r"cls_token|reg_token|pos_embed|patch_embed\.|norm_pre\.")
BLOCK = re.compile(r"blocks\.(\d+)\.")

RETFOUND = LayerDecay()
"""The settings with which LMOD fine-tuned RETFound."""


def scaled_lr(base_lr: float, images: int) -> float:
    """Return the learning rate for a number of images per optimiser step (batch x accumulation x devices).

    Example:
        >>> scaled_lr(5e-3, 16)
        0.0003125
    """
    return base_lr * images / IMAGES_OF_BASE_LR


def layer_groups(model: nn.Module, lr: float, settings: LayerDecay) -> list[dict[str, Any]]:
    """Return the trained parameters of a vision network in groups, each with its own learning rate.

    Class token, position and patch embedding are layer 0, block i is layer i + 1, everything after the last block is
    layer blocks + 1; layer k learns at ``lr * decay ** (blocks + 1 - k)``. As in the original; timm's own grouping
    puts the final ``norm``, which exists with class token pooling, into the last block. Other networks of timm, such as
    convolutional ones, have timm's layers.

    Args:
        model: From `lmod_train.models.vision.backbone.Backbone.build`.
        lr: Learning rate of the head.
        settings: Settings, of which `decay` and `weight_decay` are used.

    Returns:
        Groups with `params`, `lr`, `lr_scale` and `weight_decay`; two per layer, with and without weight decay:
        52 for the 26 layers of a ViT-L.

    Example:
        >>> from lmod_train.models.vision.retfound import vision_transformer
        >>> groups = layer_groups(vision_transformer("tiny", classes=2, image_size=32), 1.0, LayerDecay(decay=0.5))
        >>> sorted({group["lr"] for group in groups})
        [0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0]
    """
    layers, exempt = layers_of(model), _exempt(model)
    last = max(layers.values())
    groups: dict[tuple[int, bool], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        layer, decayed = layers[name], parameter.ndim > 1 and name not in exempt
        scale = settings.decay ** (last - layer)
        fresh = {"params": [], "lr": lr * scale, "lr_scale": scale, "weight_decay": settings.weight_decay * decayed}
        groups.setdefault((layer, decayed), fresh)["params"].append(parameter)
    return list(groups.values())


def layers_of(model: nn.Module) -> dict[str, int]:
    """Return the layer of each parameter by name, from 0 for the stem; the head is in the last one."""
    network: Any = model
    names = [name for name, _ in model.named_parameters()]
    if isinstance(model, VisionTransformer | Eva):
        return {name: layer_of(name, len(network.blocks) + 1) for name in names}
    found: dict[str, int] = group_with_matcher(
        model.named_parameters(), network.group_matcher(coarse=False), reverse=True
    )
    return found


def _exempt(model: nn.Module) -> set[str]:
    """Return the names of the tensors of several dimensions that have no weight decay."""
    network: Any = model
    return set(network.no_weight_decay()) if hasattr(model, "no_weight_decay") else set()


def layer_of(name: str, last: int) -> int:
    """Return the layer of a parameter of a vision transformer.

    Args:
        name: Name of the parameter.
        last: Index of the layer after the blocks.

    Example:
        >>> names = "pos_embed", "blocks.0.norm1.weight", "blocks.23.mlp.fc2.bias", "head.bias"
        >>> [layer_of(name, 25) for name in names]
        [0, 1, 24, 25]
    """
    if STEM.match(name):
        return 0
    block = BLOCK.match(name)
    return int(block[1]) + 1 if block else last


def learning_rate(step: int, *, lr: float, min_lr: float, warmup: int, steps: int) -> float:
    """Return the head's learning rate at an optimiser step: linear from 0 to `lr`, then half a cosine to `min_lr`.

    Args:
        step: Index of the step, from 0; with a warm-up the first learning rate is 0, as in the original.
        lr: Learning rate at the end of the warm-up.
        min_lr: Learning rate at `steps`, one after the last step.
        warmup: Number of warm-up steps.
        steps: Number of steps of the run.

    Example:
        >>> [learning_rate(i, lr=2.0, min_lr=1.0, warmup=4, steps=8) for i in (0, 2, 4, 6, 8)]
        [0.0, 1.0, 2.0, 1.5, 1.0]
    """
    if step < warmup:
        return lr * step / warmup
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return min_lr + (lr - min_lr) * 0.5 * (1 + math.cos(math.pi * done))


def factor(settings: LayerDecay, lr: float, *, warmup: int, steps: int) -> Callable[[int], float]:
    """Return the function from an optimiser step to the factor of all learning rates, for torch's `LambdaLR`.

    All groups have the same factor: the original multiplies the whole schedule, `min_lr` included, by a group's scale.

    Args:
        settings: Settings, of which `min_lr` is used.
        lr: Learning rate of the head at the end of the warm-up.
        warmup: Number of warm-up steps.
        steps: Number of steps of the run.
    """

    def at(step: int) -> float:
        return learning_rate(step, lr=lr, min_lr=settings.min_lr, warmup=warmup, steps=steps) / lr

    return at
