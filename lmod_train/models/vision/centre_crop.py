"""Centre crop of an image, and its position in the image."""

from __future__ import annotations

from typing import Literal

from PIL import Image
from torch import Tensor
from torch.nn import functional
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as pictures

from lmod_train.models.vision.augmentation import uncropped


def centre_cut(picture: Image.Image, size: int, resampling: Literal["bilinear", "bicubic"] = "bicubic") -> Image.Image:
    """Return the centre crop of an image that classifiers evaluate with ``square: crop``, see `eval_transform`.

    Args:
        picture: RGB image.
        size: Side of the crop in pixels; the shorter side of the image is resized to `uncropped` of it.
        resampling: Interpolation of the resizing.

    Example:
        >>> centre_cut(Image.new("RGB", (400, 300)), 224).size
        (224, 224)
    """
    resized: Image.Image = pictures.resize(picture, [uncropped(size)], InterpolationMode(resampling))
    cut: Image.Image = pictures.center_crop(resized, [size, size])
    return cut


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
