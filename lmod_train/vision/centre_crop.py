"""Position of a centre crop in the image it was cut from."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from lmod_train.vision.augmentation import uncropped


def on_square(map: Tensor, picture: tuple[int, int]) -> Tensor:
    """Return a map of the centre crop as a map of the image padded to a square, 0 outside the crop.

    Args:
        map: Map of the network's input, shape (size, size).
        picture: Width and height of the original image in pixels.

    Returns:
        Map of the padded square, shape (size, size).

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
