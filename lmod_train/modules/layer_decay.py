"""Layer-wise learning rates and their schedule, as RETFound is fine-tuned, really applied by torch's own scheduler.

References: BEiT (Bao et al. 2021) for layer-wise decay, MAE (He et al. 2021) for the recipe, the fine-tuning program of
RETFound for its values. timm's optimisers note each group's scale and leave it to timm's schedulers, which Lightning
does not take; here every group's learning rate is multiplied by its scale before the optimiser is made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from timm.models.vision_transformer import VisionTransformer

from lmod_train.errors import BadArgument

IMAGES_OF_BASE_LR = 256
"""Images an optimiser step for which `base_lr` is meant."""


@dataclass(frozen=True)
class LayerDecay:
    """AdamW in groups by depth, linear warm-up from 0, half a cosine; the defaults are RETFound's as LMOD used it.

    Attributes:
        base_lr: For 256 images an optimiser step; the learning rate is this times images a step / 256.
        decay: Each block learns at this share of the learning rate of the one after it; 1 for all alike, in (0, 1].
        weight_decay: On matrices; vectors, the position embedding and the class token are never decayed.
        warmup_epochs: Epochs of linear rise, counted in optimiser steps.
        min_lr: Learning rate of the head at the end; smaller in the layers below like everything else.
        betas: Of AdamW.
        eps: Of AdamW.

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


STEM = re.compile(r"cls_token|pos_embed|patch_embed\.")
BLOCK = re.compile(r"blocks\.(\d+)\.")

RETFOUND = LayerDecay()
"""As LMOD fine-tuned it."""


def scaled_lr(base_lr: float, images: int) -> float:
    """Return the learning rate for so many images an optimiser step: batch x accumulation x devices.

    Example:
        >>> scaled_lr(5e-3, 16)
        0.0003125
    """
    return base_lr * images / IMAGES_OF_BASE_LR


def layer_groups(model: VisionTransformer, lr: float, settings: LayerDecay) -> list[dict[str, Any]]:
    """Return the trained parameters of a vision transformer in groups, each with its own learning rate.

    Class token, position and patch embedding are layer 0, block i is layer i + 1, everything after the last block is
    layer blocks + 1; layer k learns at ``lr * decay ** (blocks + 1 - k)``. So does the original; timm's own grouping
    counts the last ``norm``, which there is with the class token, to the last block.

    Args:
        model: From `lmod_train.vision.retfound.vision_transformer`.
        lr: Of the head.
        settings: Its `decay` and `weight_decay` count.

    Returns:
        Groups with `params`, `lr`, `lr_scale` and `weight_decay`; two a layer, with and without weight decay:
        52 for the 26 layers of a ViT-L.

    Example:
        >>> from lmod_train.vision.retfound import vision_transformer
        >>> groups = layer_groups(vision_transformer("tiny", classes=2, image_size=32), 1.0, LayerDecay(decay=0.5))
        >>> sorted({group["lr"] for group in groups})
        [0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0]
    """
    exempt, last = set(model.no_weight_decay()), len(model.blocks) + 1
    groups: dict[tuple[int, bool], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        layer, decayed = layer_of(name, last), parameter.ndim > 1 and name not in exempt
        scale = settings.decay ** (last - layer)
        fresh = {"params": [], "lr": lr * scale, "lr_scale": scale, "weight_decay": settings.weight_decay * decayed}
        groups.setdefault((layer, decayed), fresh)["params"].append(parameter)
    return list(groups.values())


def layer_of(name: str, last: int) -> int:
    """Return the layer of a parameter of a vision transformer.

    Args:
        name: Of the parameter.
        last: Layer of what follows the blocks.

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
        step: From 0; the first step has learning rate 0 where there is a warm-up, as in the original.
        lr: At the end of the warm-up.
        min_lr: Reached at `steps`, one after the last.
        warmup: Steps of the linear rise.
        steps: Of the whole run.

    Example:
        >>> [learning_rate(i, lr=2.0, min_lr=1.0, warmup=4, steps=8) for i in (0, 2, 4, 6, 8)]
        [0.0, 1.0, 2.0, 1.5, 1.0]
    """
    if step < warmup:
        return lr * step / warmup
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return min_lr + (lr - min_lr) * 0.5 * (1 + math.cos(math.pi * done))


def factor(settings: LayerDecay, lr: float, *, warmup: int, steps: int) -> Callable[[int], float]:
    """Return what every group's learning rate is multiplied by at each optimiser step, for torch's `LambdaLR`.

    One factor serves all groups: the original multiplies the whole schedule, `min_lr` included, by the group's scale.

    Args:
        settings: Its `min_lr` counts.
        lr: Of the head at the end of the warm-up.
        warmup: Steps of the linear rise.
        steps: Of the whole run.
    """

    def at(step: int) -> float:
        return learning_rate(step, lr=lr, min_lr=settings.min_lr, warmup=warmup, steps=steps) / lr

    return at
