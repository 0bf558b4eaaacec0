"""Optimiser and learning rate schedule of instruction tuning."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from lmod_train.core.errors import check_number
from lmod_train.models.chat.family.base import Part
from lmod_train.models.strategies.sharding import shape_of

MOST = 1e6
"""Largest learning rate or weight decay that is not an error of typing."""


@dataclass(frozen=True)
class Optimisation:
    """AdamW with linear warm-up and cosine decay to zero, updated at every optimiser step.

    The defaults are those of LLaVA-1.5 with LoRA.

    Attributes:
        lr: Peak learning rate of the adapters, or of the language model itself in full tuning.
        projector_lr: Peak learning rate of the projector.
        tower_lr: Peak learning rate of the tower or its adapters; null for `projector_lr`, of its adapters for `lr`.
        weight_decay: Weight decay of matrices; vectors have none.
        warmup: Share of all optimiser steps in the warm-up, in [0, 1].
        betas: Betas of AdamW.
    """

    lr: float = 2e-4
    projector_lr: float = 2e-5
    weight_decay: float = 0.0
    warmup: float = 0.03
    betas: tuple[float, float] = (0.9, 0.999)
    tower_lr: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            BadArgument: One is outside its range.
        """
        for name in ("lr", "projector_lr", "tower_lr", "weight_decay"):
            if getattr(self, name) is not None:
                check_number(f"optimisation.{name}", getattr(self, name), 0, MOST, "leave it out for the default")
        check_number("optimisation.warmup", self.warmup, 0, 1, "set warmup: 0.03")
        for beta in self.betas:
            check_number("optimisation.betas", beta, 0, 1 - 1e-9, "set betas: [0.9, 0.999]")

    def rate(self, part: Part, adapter: bool) -> float:
        """Return the peak learning rate of a parameter.

        Args:
            part: Part of the model that it belongs to.
            adapter: Whether it is one of an adapter.

        Example:
            >>> Optimisation(tower_lr=1e-6).rate("tower", False), Optimisation().rate("tower", True)
            (1e-06, 0.0002)
        """
        if part == "tower" and self.tower_lr is not None:
            return self.tower_lr
        return self.lr if adapter or part in ("language_model", "head") else self.projector_lr


def optimiser(
    parameters: Iterable[tuple[nn.Parameter, float]], settings: Optimisation, steps: int, fused: bool = False
) -> tuple[torch.optim.AdamW, torch.optim.lr_scheduler.LambdaLR]:
    """Return AdamW with a group for each learning rate and decay, and its schedule over all steps.

    Args:
        parameters: Pairs of a parameter and its peak learning rate; frozen ones are skipped.
        settings: Weight decay, betas and warm-up.
        steps: Number of optimiser steps of the run.
        fused: Whether to use the fused implementation, which is faster with optimiser states on the CPU.
    """
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for parameter, lr in parameters:
        if parameter.requires_grad:
            decay = settings.weight_decay if len(shape_of(parameter)) > 1 else 0.0
            groups.setdefault((lr, decay), []).append(parameter)
    made = torch.optim.AdamW(
        [{"params": p, "lr": lr, "weight_decay": decay} for (lr, decay), p in groups.items()],
        betas=settings.betas,
        fused=fused or None,
    )
    return made, torch.optim.lr_scheduler.LambdaLR(made, warmup_cosine(steps, settings.warmup))


def learning_rate(step: int, *, lr: float, min_lr: float, warmup: int, steps: int) -> float:
    """Return the learning rate at an optimiser step: linear from 0 to `lr`, then half a cosine to `min_lr`.

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


def warmup_cosine(steps: int, warmup: float) -> Any:
    """Return the function from a step to its learning rate factor: linear from 0 to 1, then a half cosine to 0.

    Example:
        >>> factor = warmup_cosine(100, 0.1)
        >>> [round(factor(i), 3) for i in (0, 5, 10, 55, 100)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return partial(learning_rate, lr=1.0, min_lr=0.0, warmup=round(steps * warmup), steps=steps)
