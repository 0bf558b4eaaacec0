"""Options of a model's pictures: shape, pixel limits and number of tiles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.pixels import pad_square

Fit = Literal["pad", "crop"]


@dataclass(frozen=True)
class Pictures:
    """How pictures become the input of a model. What is left out is as its processor's files state it.

    Attributes:
        fit: What is done with a picture that is no square if the processor would crop its centre: ``pad`` it to a
            square, or ``crop`` it, which loses a quarter of a 4:3 fundus photograph and half of an OCT. Default: pad
            for LLaVA, which was trained so; crop, as its processor does, for a class that is no family of this package.
        min_pixels: Least number of pixels to which a picture is enlarged, for models with such a limit (Qwen-VL, GLM).
        max_pixels: Greatest number of pixels to which a picture is reduced, for the same models.
        tiles: Greatest number of tiles of a picture, without the overview, for models with such a limit (InternVL,
            Llama 3.2 Vision).
    """

    fit: Fit | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    tiles: int | None = None

    def __post_init__(self) -> None:
        """Check shape and numbers.

        Raises:
            BadArgument: The shape is unknown, a number is no whole one from 1, or `min_pixels` above `max_pixels`.
        """
        if self.fit not in (None, *get_args(Fit)):
            cure = "leave it out for that of the model"
            raise BadArgument("images.fit", self.fit, f"one of {', '.join(get_args(Fit))}", cure)
        for name in ("min_pixels", "max_pixels", "tiles"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= 1):
                expected = "a whole number of at least 1"
                raise BadArgument(f"images.{name}", value, expected, "leave it out for the checkpoint's own")
        if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
            expected = f"at most max_pixels, {self.max_pixels}"
            raise BadArgument("images.min_pixels", self.min_pixels, expected, "lower it, or leave it out")

    def resolved(self, processor: Any, known: bool) -> Pictures:
        """Return these options with what `fit` is by default.

        Args:
            processor: Processor of a checkpoint.
            known: Whether its class is a family of this package.
        """
        if self.fit is not None or not (known or crops(processor.image_processor)):
            return self
        return replace(self, fit="pad" if known else "crop")

    def settings(self) -> dict[str, Any]:
        """Return the settings that differ from those of a known family; of options as `resolved` returns them."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "pad")}

    def apply(self, processor: Any) -> None:
        """Write the limits into a processor.

        Args:
            processor: Processor of a checkpoint; its image processor is changed.

        Raises:
            BadArgument: The processor has no such limit, or does not crop pictures.
        """
        images = processor.image_processor
        if self.fit == "crop" and not crops(images):
            raise _inapplicable(images, "fit", self.fit, "a processor that crops the centre, such as LLaVA's")
        if self.min_pixels or self.max_pixels:
            self._limit_pixels(images)
        if self.tiles:
            setattr(images, self._limit(images), self.tiles)

    def _limit_pixels(self, images: Any) -> None:
        limits = {"shortest_edge": self.min_pixels, "longest_edge": self.max_pixels}
        if not hasattr(images, "merge_size") or not all(images.size[name] for name in limits):
            name = "max_pixels" if self.max_pixels else "min_pixels"
            raise _inapplicable(images, name, getattr(self, name), "a processor with limits, such as Qwen2.5-VL's")
        images.size = type(images.size)(**{name: value or images.size[name] for name, value in limits.items()})

    def _limit(self, images: Any) -> str:
        """Return the name of an image processor's greatest number of tiles."""
        if hasattr(images, "crop_to_patches"):
            return "max_patches"
        if hasattr(images, "max_image_tiles"):
            return "max_image_tiles"
        raise _inapplicable(images, "tiles", self.tiles, "a processor with a limit, such as InternVL's")

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return a picture, padded to a square where the processor would crop its centre and `fit` is ``pad``."""
        images = processor.image_processor
        return squared(picture, images) if self.fit == "pad" and crops(images) else picture


def input_of(images: Any) -> dict[str, Any]:
    """Return the input size that an image processor states, as text, and its greatest number of tiles, if it has one.

    The overview is not counted. Where a size is no height and width, its values are named as transformers does.
    """
    cropped = getattr(images, "do_center_crop", False) and images.crop_size
    size = {name: value for name, value in dict(cropped or images.size).items() if value}
    square = f"{size['height']} x {size['width']}" if {"height", "width"} <= size.keys() else ""
    known = {"resolution": square or ", ".join(f"{name} {value}" for name, value in sorted(size.items()))}
    if grid := getattr(images, "image_grid_pinpoints", None):
        known["tiles"] = max(high * wide for high, wide in grid) // min(size.values()) ** 2
    elif getattr(images, "do_image_splitting", False):
        known["tiles"] = (size["longest_edge"] // images.max_image_size["longest_edge"]) ** 2
    elif getattr(images, "crop_to_patches", False) or hasattr(images, "max_image_tiles"):
        known["tiles"] = getattr(images, "max_image_tiles", None) or images.max_patches
    return known


def crops(images: Any) -> bool:
    """Return whether an image processor crops the centre of a picture; one with a grid of tiles does not."""
    return bool(getattr(images, "do_center_crop", False)) and not hasattr(images, "image_grid_pinpoints")


def squared(picture: Image.Image, images: Any) -> Image.Image:
    """Return a picture centred on a square of its longer side, in the mean colour of its image processor."""
    red, green, blue = (round(255 * value) for value in getattr(images, "image_mean", None) or (0.0, 0.0, 0.0))
    return pad_square(picture, (red, green, blue))


def _inapplicable(images: Any, name: str, value: Any, expected: str) -> BadArgument:
    cure = "leave it out for this checkpoint"
    return BadArgument(f"images.{name}", value, f"{expected}; this one is a {type(images).__name__}", cure)
