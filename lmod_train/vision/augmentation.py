"""What a picture goes through before a vision transformer sees it: RETFound's own way, and one that keeps the retina.

References: the fine-tuning program of Zhou et al., Nature 622 (2023), 156-163, which takes timm's ImageNet transforms;
RandAugment: Cubuk et al. 2020; random erasing: Zhong et al. 2020.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterator
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

from lmod_train.errors import BadArgument
from lmod_train.pixels import pad_square
from lmod_train.vision.retfound import IMAGENET_MEAN, IMAGENET_STD

Transform = Callable[[Image.Image], Tensor]

_CROP: Any = RandomResizedCropAndInterpolation  # timm annotates neither
_ERASING: Any = RandomErasing

OPERATIONS = (
    "AutoContrast",
    "Equalize",
    "Invert",
    "Rotate",
    "PosterizeIncreasing",
    "SolarizeIncreasing",
    "SolarizeAdd",
    "ColorIncreasing",
    "ContrastIncreasing",
    "BrightnessIncreasing",
    "SharpnessIncreasing",
    "ShearX",
    "ShearY",
    "TranslateXRel",
    "TranslateYRel",
)
"""Among these RandAugment draws (timm's names, policy ``inc1``); 15."""

LARGEST_CENTRE_CROP = 224
"""Pixels; inputs up to here are cut from the centre of a picture 1 / 0.875 times as large, larger ones from all of
it."""


@dataclass(frozen=True)
class Augmentation:
    """How pictures become pixels, in training and in evaluation; the defaults are RETFound's (preset ``faithful``).

    Attributes:
        crop_area: Share of the picture that a random resized crop keeps, from and to, in (0, 1].
        crop_ratio: Width to height of the crop before it is stretched to the square, from and to.
        flip: Probability of a mirror image, left to right.
        policy: Of RandAugment: two operations a picture, magnitude 9 +- 0.5 of 10. Empty for none.
        without: Names of `OPERATIONS` never drawn.
        shift: Largest translation as a share of the side, in [0, 1].
        fill: Grey or colour (0-255) that shifts and rotations uncover and that padding adds.
        erasing: Probability that a random rectangle becomes noise.
        square: How a picture that is not square becomes so: ``crop`` cuts the longer side (evaluation only; a random
            crop is a crop already), ``pad`` adds margins first, in training too.

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
            refuse("crop_area", "two shares of the picture, the smaller first, in (0, 1]", "set [0.08, 1.0]")
        if not 0 < self.crop_ratio[0] <= self.crop_ratio[1]:
            refuse("crop_ratio", "two positive numbers, the smaller first", "set [0.75, 1.3333]")
        for name in ("flip", "shift", "erasing"):
            if not 0 <= getattr(self, name) <= 1:
                refuse(name, "a number in [0, 1]", "set 0 to do without it")
        if unknown := set(self.without) - set(OPERATIONS):
            refuse("without", f"names among {', '.join(OPERATIONS)}", f"take out {', '.join(sorted(unknown))}")
        if self.policy and not set(OPERATIONS) - set(self.without):
            refuse("without", "at least one operation left", "set policy to an empty string to do without RandAugment")


FAITHFUL = Augmentation()
"""RETFound's own way, as LMOD took it."""


def train_transform(settings: Augmentation, size: int) -> Transform:
    """Return the random way from an RGB picture to pixels (3, size, size), normalised by ImageNet's mean and std.

    With the default settings it is, draw for draw, timm's `create_transform` as RETFound calls it. It draws from the
    global generators of Python, NumPy and torch: see `seeded`.

    Args:
        settings: Which transforms.
        size: Side of the output in pixels.
    """
    steps: list[Any] = [_Padding(settings.fill)] if settings.square == "pad" else []
    steps += [_CROP(size, scale=settings.crop_area, ratio=settings.crop_ratio, interpolation="bicubic")]
    steps += [transforms.RandomHorizontalFlip(settings.flip)] if settings.flip else []
    if settings.policy:
        means = {
            "translate_pct": settings.shift,
            "img_mean": settings.fill,
            "interpolation": Image.Resampling.BICUBIC,
        }
        names = [name for name in OPERATIONS if name not in settings.without]
        steps += [_rand_augment(settings.policy, means, names)]
    steps += [_Normalised()]
    steps += [_ERASING(settings.erasing, mode="pixel", max_count=1, device="cpu")] if settings.erasing else []
    return _composed(steps)


def eval_transform(settings: Augmentation, size: int) -> Transform:
    """Return the fixed way from an RGB picture to pixels (3, size, size), normalised by ImageNet's mean and std.

    ``crop``: the shorter side is resized to ``size / 0.875`` (256 for 224; for inputs above 224, to ``size``) and the
    centre is cut out. ``pad``: margins make the picture square, which is resized to ``size``.

    Args:
        settings: Its `square` and `fill` count.
        size: Side of the output in pixels.

    Example:
        >>> eval_transform(Augmentation(), 224)(Image.new("RGB", (400, 300))).shape
        torch.Size([3, 224, 224])
    """
    bicubic = transforms.InterpolationMode.BICUBIC
    if settings.square == "pad":
        return _composed([_Padding(settings.fill), transforms.Resize(size, bicubic), _Normalised()])
    return _composed([transforms.Resize(uncropped(size), bicubic), transforms.CenterCrop(size), _Normalised()])


def uncropped(size: int) -> int:
    """Return the shorter side of the picture that a centre crop of this size is cut from, in pixels.

    Example:
        >>> uncropped(224), uncropped(384)
        (256, 384)
    """
    return math.floor(size / 0.875) if size <= LARGEST_CENTRE_CROP else size


@contextmanager
def seeded(*place: int | str) -> Iterator[None]:
    """Draw what is drawn inside from `place` alone, and leave the global generators as they were.

    The transforms draw from three global generators. Seeded by (seed, epoch, record id), a picture is augmented the
    same by any worker, in any order, and after any resume.

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
    torch.default_generator.manual_seed(int.from_bytes(digest[16:24]) >> 1)  # the CPU's alone: no other is drawn from
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        torch.set_rng_state(kept[2])


@dataclass(frozen=True)
class _Padding:
    """`pad_square` as a step that can travel to a worker process."""

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
    """Keep the highest bits of every colour; 0 leaves a black picture.

    At magnitude 10, one draw in fifty, RandAugment asks for 0 bits. Pillow made the picture black when RETFound was
    published; Pillow 13 raises.

    Args:
        image: RGB.
        bits: From 0; 8 and more change nothing.
    """
    if bits >= 8:
        return image
    return ImageOps.posterize(image, bits) if bits else Image.new(image.mode, image.size)


class _Normalised:
    """An RGB picture as normalised pixels (3, height, width), looked up: a channel takes 256 values and no others.

    The table is what torchvision's `ToTensor` and `Normalize` make of every value, so the pixels are theirs bit for
    bit. Looking up runs in one thread: where another process holds a core, each of their three passes would wait for
    it, which takes many times longer than the passes.
    """

    def __init__(self) -> None:
        every = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)
        steps: Any = transforms.Compose([transforms.ToTensor(), transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])
        self._values = steps(every)[:, :, 0].numpy()

    def __call__(self, image: Image.Image) -> Tensor:
        raw = np.asarray(image)
        pixels = np.empty((3, *raw.shape[:2]), np.float32)
        for channel, values in enumerate(self._values):
            np.take(values, raw[:, :, channel], out=pixels[channel], mode="clip")  # "raise" would copy it once more
        return torch.from_numpy(pixels)


def _composed(steps: list[Any]) -> Transform:
    composed: Transform = transforms.Compose(steps)
    return composed
