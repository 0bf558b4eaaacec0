"""Where a centre crop was in the picture it was cut from."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from lmod_train.vision.augmentation import uncropped


def on_square(map: Tensor, picture: tuple[int, int]) -> Tensor:
    """Lay a map of the centre crop over the picture padded to a square; 0 where the crop has not been.

    Args:
        map: (size, size), of the whole input.
        picture: Width and height of the picture before anything was done to it.

    Returns:
        (size, size), of the padded square.

    Example:
        >>> import torch
        >>> on_square(torch.ones(4, 4), (100, 50))
        tensor([[0., 0., 0., 0.],
                [0., 1., 1., 0.],
                [0., 1., 1., 0.],
                [0., 0., 0., 0.]])
    """
    size = len(map)
    side = max(1, round(size * size / uncropped(size) * min(picture) / max(picture)))
    smaller = functional.interpolate(map[None, None], size=(side, side), mode="bilinear", antialias=True)[0, 0]
    before = (size - side) // 2
    return functional.pad(smaller, (before, size - side - before, before, size - side - before))
