"""Transforms of images for vision transformers: RETFound's, and options that never crop the retina.

References: the fine-tuning program of Zhou et al., Nature 622 (2023), 156-163, which uses timm's ImageNet transforms;
RandAugment: Cubuk et al. 2020; random erasing: Zhong et al. 2020.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image, ImageOps
from timm.data.auto_augment import rand_augment_transform
from timm.data.random_erasing import RandomErasing
from timm.data.transforms import RandomResizedCropAndInterpolation
from torch import Tensor
from torchvision import transforms

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.pixels import pad_square
from lmod_train.models.vision.published_weights import IMAGENET_MEAN, IMAGENET_STD

Transform = Callable[[Image.Image], Tensor]
Colour = tuple[float, float, float]
Views = Literal["none", "flip"]
"""Views of an image whose likelihoods are averaged in evaluation: itself alone, or itself and its mirror image."""
MIRRORED = {"none": "", "flip": " and its mirror image"}
"""What replies say of the views."""

_CROP: Any = RandomResizedCropAndInterpolation  # timm annotates neither
_ERASING: Any = RandomErasing

OPERATIONS: tuple[str, ...] = tuple(package_data(__file__, "texts.yaml")["operations"])
"""Operations of RandAugment (timm's names, policy ``inc1``)."""

LARGEST_CENTRE_CROP = 224
"""Largest input in pixels that is cut from the centre of an image 1 / 0.875 times as large; larger inputs are cut from
an image of their own size."""


@dataclass(frozen=True)
class Augmentation:
    """Settings of the transforms in training and evaluation; the defaults are RETFound's (preset ``faithful``).

    Attributes:
        crop_area: Range of the share of the image that a random resized crop keeps, in (0, 1].
        crop_ratio: Range of width to height of the crop before it is stretched to the square.
        flip: Probability of mirroring left and right.
        policy: Policy of RandAugment: two operations per image, magnitude 9 +- 0.5 of 10. Empty for none.
        without: Names of `OPERATIONS` that are not used.
        shift: Largest translation as a share of the side, in [0, 1].
        fill: Colour (0-255) of areas uncovered by shifts and rotations, and of padding.
        erasing: Probability that a random rectangle is replaced by noise.
        square: How an image is made square: ``crop`` cuts the longer side (in evaluation; training has random crops),
            ``pad`` adds margins first, in training too.

    Raises:
        BadArgument: A value is out of its range.
    """

    crop_area: tuple[float, float] = (0.08, 1.0)
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip: float = 0.5
    policy: str = "rand-m9-mstd0.5-inc1"
    without: tuple[str, ...] = ()
    shift: float = 0.45
    fill: tuple[int, int, int] = (124, 116, 104)
    erasing: float = 0.25
    square: Literal["crop", "pad"] = "crop"

    def __post_init__(self) -> None:
        def refuse(name: str, expected: str, cure: str) -> None:
            raise BadArgument(f"augmentation.{name}", getattr(self, name), expected, cure)

        if not 0 < self.crop_area[0] <= self.crop_area[1] <= 1:
            refuse("crop_area", "two shares of the image, the smaller first, in (0, 1]", "set [0.08, 1.0]")
        if not 0 < self.crop_ratio[0] <= self.crop_ratio[1]:
            refuse("crop_ratio", "two positive numbers, the smaller first", "set [0.75, 1.3333]")
        for name in ("flip", "shift", "erasing"):
            if not 0 <= getattr(self, name) <= 1:
                refuse(name, "a number in [0, 1]", "set it to 0 to switch it off")
        if unknown := set(self.without) - set(OPERATIONS):
            refuse("without", f"names among {', '.join(OPERATIONS)}", f"remove {', '.join(sorted(unknown))}")
        if self.policy and not set(OPERATIONS) - set(self.without):
            refuse("without", "at least one operation left", "set policy to an empty string to switch RandAugment off")


FAITHFUL = Augmentation()
"""RETFound's transforms, as used by LMOD."""


def train_transform(
    settings: Augmentation, size: int, mean: Colour = IMAGENET_MEAN, std: Colour = IMAGENET_STD
) -> Transform:
    """Return the random transform from an RGB image to pixels (3, size, size), normalised by a mean and std.

    With the default settings it makes the same random draws as timm's `create_transform` as called by RETFound. It uses
    the global generators of Python, NumPy and torch, see `seeded`.

    Args:
        settings: Settings of the transforms.
        size: Side of the output in pixels.
        mean: Mean of the channels, for values in [0, 1]; ImageNet's by default.
        std: Standard deviation of the channels, likewise.
    """
    steps: list[Any] = [_Padding(settings.fill)] if settings.square == "pad" else []
    steps += [_CROP(size, scale=settings.crop_area, ratio=settings.crop_ratio, interpolation="bicubic")]
    steps += [transforms.RandomHorizontalFlip(settings.flip)] if settings.flip else []
    if settings.policy:
        means = {"translate_pct": settings.shift, "img_mean": settings.fill, "interpolation": Image.Resampling.BICUBIC}
        names = [name for name in OPERATIONS if name not in settings.without]
        steps += [_rand_augment(settings.policy, means, names)]
    steps += [_Normalised(mean, std)]
    steps += [_ERASING(settings.erasing, mode="pixel", max_count=1, device="cpu")] if settings.erasing else []
    return _composed(steps)


def eval_transform(
    settings: Augmentation, size: int, mean: Colour = IMAGENET_MEAN, std: Colour = IMAGENET_STD
) -> Transform:
    """Return the fixed transform from an RGB image to pixels (3, size, size), normalised by a mean and std.

    ``crop``: the shorter side is resized to ``size / 0.875`` (256 for 224; for inputs above 224, to ``size``) and the
    centre is cut out. ``pad``: the image is padded to a square, which is resized to ``size``.

    Args:
        settings: Settings, of which `square` and `fill` are used.
        size: Side of the output in pixels.
        mean: Mean of the channels, for values in [0, 1]; ImageNet's by default.
        std: Standard deviation of the channels, likewise.

    Example:
        >>> eval_transform(Augmentation(), 224)(Image.new("RGB", (400, 300))).shape
        torch.Size([3, 224, 224])
    """
    bicubic = transforms.InterpolationMode.BICUBIC
    if settings.square == "pad":
        return _composed([_Padding(settings.fill), transforms.Resize(size, bicubic), _Normalised(mean, std)])
    return _composed([transforms.Resize(uncropped(size), bicubic), transforms.CenterCrop(size), _Normalised(mean, std)])


def uncropped(size: int) -> int:
    """Return the shorter side in pixels of the image from which a centre crop of this size is cut.

    Example:
        >>> uncropped(224), uncropped(384)
        (256, 384)
    """
    return math.floor(size / 0.875) if size <= LARGEST_CENTRE_CROP else size


def views_of(images: Tensor, views: Views) -> list[Tensor]:
    """Return the views of images (B, 3, height, width): themselves, and for ``flip`` mirrored left to right.

    Example:
        >>> [view.tolist() for view in views_of(torch.tensor([[[[1, 2]]]]), "flip")]
        [[[[[1, 2]]]], [[[[2, 1]]]]]
    """
    return [images, images.flip(-1)] if views == "flip" else [images]


def mean_over_views(scores: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean probability over views; the scores of a single view are returned unchanged.

    Args:
        scores: For each view, log-probabilities (B, classes); at least one view.

    Example:
        >>> mean_over_views([torch.tensor([[0.9, 0.1]]).log(), torch.tensor([[0.5, 0.5]]).log()]).exp()
        tensor([[0.7000, 0.3000]])
    """
    return scores[0] if len(scores) == 1 else torch.stack(list(scores)).logsumexp(dim=0) - math.log(len(scores))


@contextmanager
def seeded(*place: int | str) -> Iterator[None]:
    """Seed the global generators by `place` inside the block, and restore their states afterwards.

    The transforms use three global generators. With the seed (seed, epoch, record id), an image is augmented in the
    same way by any worker, in any order, and after any resume.

    Example:
        >>> with seeded(0, 3, "glaucoma/refuge/1"):
        ...     first = random.random(), float(np.random.rand()), float(torch.rand(()))
        >>> with seeded(0, 3, "glaucoma/refuge/1"):
        ...     print(first == (random.random(), float(np.random.rand()), float(torch.rand(()))))
        True
    """
    digest = hashlib.sha256("\0".join(map(str, place)).encode()).digest()
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(digest[:8])
    np.random.seed(int.from_bytes(digest[8:12]))
    torch.default_generator.manual_seed(int.from_bytes(digest[16:24]) >> 1)  # only the CPU's generator is used
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        torch.set_rng_state(kept[2])


@dataclass(frozen=True)
class _Padding:
    """`pad_square` as a picklable transform."""

    fill: tuple[int, int, int]

    def __call__(self, image: Image.Image) -> Image.Image:
        return pad_square(image, self.fill)


def _rand_augment(policy: str, means: dict[str, Any], names: list[str]) -> Any:
    drawn: Any = rand_augment_transform(policy, means, names)
    for operation in drawn.ops:
        if operation.name.startswith("Posterize"):
            operation.aug_fn = posterized
    return drawn


def posterized(image: Image.Image, bits: int, **_: Any) -> Image.Image:
    """Return the image with only the highest bits of every colour; black for 0 bits.

    At magnitude 10, one draw in fifty, RandAugment requests 0 bits. Pillow returned a black image when RETFound was
    published; Pillow 13 raises an error.

    Args:
        image: RGB image.
        bits: Number of bits, from 0; 8 and more change nothing.
    """
    if bits >= 8:
        return image
    return ImageOps.posterize(image, bits) if bits else Image.new(image.mode, image.size)


class _Normalised:
    """Transform of an RGB image to normalised pixels (3, height, width) by a lookup table of 256 values per channel.

    The table contains the results of torchvision's `ToTensor` and `Normalize`, so the pixels are identical. The lookup
    runs in one thread; with several threads on a busy machine, each of torchvision's three passes would wait for the
    slowest one.
    """

    def __init__(self, mean: Colour, std: Colour) -> None:
        every = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)
        steps: Any = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])
        self._values = steps(every)[:, :, 0].numpy()

    def __call__(self, image: Image.Image) -> Tensor:
        raw = np.asarray(image)
        pixels = np.empty((3, *raw.shape[:2]), np.float32)
        for channel, values in enumerate(self._values):
            np.take(values, raw[:, :, channel], out=pixels[channel], mode="clip")  # "raise" would need another copy
        return torch.from_numpy(pixels)


def _composed(steps: list[Any]) -> Transform:
    composed: Transform = transforms.Compose(steps)
    return composed
