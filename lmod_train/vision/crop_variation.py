"""Crops varied in training such that their classes stay true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lmod_train.errors import BadArgument


@dataclass(frozen=True)
class Variation:
    """What is drawn for every crop anew; nothing of it is in the paper, which names no augmentation.

    Attributes:
        flip: Mirror left and right with probability 0.5, but never a crop whose class names a side.
        shift: At most this share of the side, in both directions; what comes into view repeats the edge.
        brightness: All pixels are multiplied by a factor in [1 - brightness, 1 + brightness] and clipped.

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


def names_a_side(word: str) -> bool:
    """Whether a mirrored picture of this class would be one of another class.

    Example:
        >>> names_a_side("right eye"), names_a_side("LEFT"), names_a_side("bright spot"), names_a_side("pupil")
        (True, True, False, False)
    """
    return re.search(r"\b(left|right)\b", word, re.IGNORECASE) is not None


def varied(crops: Tensor, targets: Tensor, choices: Sequence[str], variation: Variation) -> Tensor:
    """Return crops varied at random, drawn from torch's global generator of the CPU.

    Args:
        crops: (B, 3, side, side) in [0, 1].
        targets: (B), indices of `choices`.
        choices: Words of the classes.
        variation: What is drawn.

    Returns:
        (B, 3, side, side) in [0, 1], with the channels last in memory; B may be 0.
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
