"""Augmentation of crops in training that does not change their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.sides import names_a_side


@dataclass(frozen=True)
class Variation:
    """Random augmentation of each crop; the LMOD paper names none.

    Attributes:
        flip: Whether to mirror left and right with probability 0.5; never a crop whose class names a side.
        shift: Largest shift as a share of the side, in both directions; uncovered pixels repeat the edge.
        brightness: Range of the factor for all pixels, in [1 - brightness, 1 + brightness]; values are clipped.

    Raises:
        BadArgument: A share is outside [0, 1).
    """

    flip: bool = True
    shift: float = 0.05
    brightness: float = 0.1

    def __post_init__(self) -> None:
        for name in ("shift", "brightness"):
            if not 0 <= getattr(self, name) < 1:
                raise BadArgument(f"variation.{name}", getattr(self, name), "a share in [0, 1)", "set it to 0 for none")


def varied(crops: Tensor, targets: Tensor, choices: Sequence[str], variation: Variation) -> Tensor:
    """Return randomly augmented crops, drawn from torch's global CPU generator.

    Args:
        crops: (B, 3, side, side) in [0, 1].
        targets: (B), indices of `choices`.
        choices: Words of the classes.
        variation: Range of the augmentation.

    Returns:
        (B, 3, side, side) in [0, 1], with channels last in memory; B may be 0.
    """
    count, side = crops.shape[0], crops.shape[-1]
    fixed = torch.tensor([names_a_side(word) for word in choices])
    mirrored = (torch.rand(count) < 0.5 * variation.flip) & ~fixed[targets.cpu()]
    far = round(variation.shift * side)
    down, across = torch.randint(-far, far + 1, (2, count, 1))
    place = torch.arange(side)
    rows = (place + down).clamp(0, side - 1)
    columns = (torch.where(mirrored[:, None], side - 1 - place, place) + across).clamp(0, side - 1)
    gain = 1 + variation.brightness * (2 * torch.rand(count, 1, 1, 1) - 1)
    own, rows, columns, gain = (t.to(crops.device) for t in (torch.arange(count), rows, columns, gain))
    picked = crops.permute(0, 2, 3, 1)[own[:, None, None], rows[:, :, None], columns[:, None, :]]
    return (picked * gain).clamp(0, 1).permute(0, 3, 1, 2)
