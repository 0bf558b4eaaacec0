"""Learning rates, decay and schedule of instruction tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lmod_train.strategies.sharding import shape_of


@dataclass(frozen=True)
class Optimisation:
    """AdamW with linear warm-up and a half cosine to zero, stepped every iteration.

    Defaults are LLaVA-1.5's LoRA recipe.

    Attributes:
        lr: Of the adapters, or of the language model itself in full tuning.
        projector_lr: Of the projector, and of the tower where it learns.
        weight_decay: On matrices; vectors are never decayed.
        warmup: Share of all steps.
        betas: Of AdamW.
    """

    lr: float = 2e-4
    projector_lr: float = 2e-5
    weight_decay: float = 0.0
    warmup: float = 0.03
    betas: tuple[float, float] = (0.9, 0.999)


def optimiser(
    parameters: Iterable[tuple[str, nn.Parameter]],
    settings: Optimisation,
    steps: int,
    is_language: Callable[[str], bool] = lambda name: "lora_" in name,
    fused: bool = False,
) -> tuple[torch.optim.AdamW, torch.optim.lr_scheduler.LambdaLR]:
    """Return AdamW in groups, each with its own learning rate, and its warm-up and half cosine over all steps.

    Args:
        parameters: Names and parameters; frozen ones are passed over.
        settings: Rates and schedule.
        steps: Optimiser steps of the whole run.
        is_language: Whether a parameter of this name learns at `lr`; others learn at `projector_lr`.
        fused: Step in one compiled pass, which matters where the state is kept on the CPU.
    """
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in parameters:
        if parameter.requires_grad:
            lr = settings.lr if is_language(name) else settings.projector_lr
            decay = settings.weight_decay if len(shape_of(parameter)) > 1 else 0.0
            groups.setdefault((lr, decay), []).append(parameter)
    made = torch.optim.AdamW(
        [{"params": p, "lr": lr, "weight_decay": decay} for (lr, decay), p in groups.items()],
        betas=settings.betas,
        fused=fused or None,
    )
    return made, torch.optim.lr_scheduler.LambdaLR(made, warmup_cosine(steps, settings.warmup))


def warmup_cosine(steps: int, warmup: float) -> Any:
    """Return the factor of the learning rate at each step: linear from 0, then half a cosine to 0 at the last.

    Example:
        >>> factor = warmup_cosine(100, 0.1)
        >>> [round(factor(i), 3) for i in (0, 5, 10, 55, 100)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    rising = round(steps * warmup)

    def factor(step: int) -> float:
        if step < rising:
            return step / rising
        return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))

    return factor
