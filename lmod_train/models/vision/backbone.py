"""Vision networks by name: RETFound's vision transformer, or any architecture of timm, from a local file.

The card of an architecture (mean, standard deviation, names of the classifier) is timm's ``default_cfg``. Nothing is
downloaded: timm builds the network, and `lmod_train.models.vision.retfound_weights` fills it strictly from a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import timm
import torch
from timm.models import get_pretrained_cfg, is_model
from torch import nn

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.published_weights import IMAGENET_MEAN, IMAGENET_STD, Family, Pooling, fetch_of, present
from lmod_train.models.vision.retfound import SIZES, initialise_head, vision_transformer
from lmod_train.models.vision.retfound_weights import initialise, load_finetuned
from lmod_train.models.vision.strict_loading import FC_NORM, HEAD, LoadReport

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Backbone:
    """Architecture and input of a vision network.

    Attributes:
        architecture: Name in timm, with its tag if another than the default one is meant (`vit_base_patch16_224.mae`);
            empty for RETFound's vision transformer in `size` and `family`.
        size: Size of RETFound's vision transformer.
        family: Family of RETFound's vision transformer.
        image_size: Side of the square input in pixels.
        pooling: ``mean`` or ``cls``; None for the architecture's own.
        mean: Mean of the channels, in [0, 1]; None for that of the architecture's card.
        std: Standard deviation of the channels; None for that of the architecture's card.

    Raises:
        BadArgument: `architecture` is unknown, or a value of `std` is not positive.
    """

    architecture: str = ""
    size: Literal["large", "small", "tiny"] = "large"
    family: Family = "mae"
    image_size: int = 224
    pooling: Pooling | None = None
    mean: Colour | None = None
    std: Colour | None = None

    def __post_init__(self) -> None:
        if self.architecture:
            _card(self.architecture)
        if self.std is not None and min(self.std) <= 0:
            raise BadArgument("std", self.std, "three positive numbers", "leave it out for the architecture's card")

    @property
    def normalisation(self) -> tuple[Colour, Colour]:
        """Mean and standard deviation of the three channels, for values in [0, 1]."""
        card = _card(self.architecture) if self.architecture else None
        mean, std = (card.mean, card.std) if card else (IMAGENET_MEAN, IMAGENET_STD)
        return self.mean or tuple(mean), self.std or tuple(std)

    @property
    def width(self) -> int:
        """Length of a feature vector."""
        if not self.architecture:
            return SIZES[self.size].width
        plain = _plain(self.architecture)
        return int(getattr(plain, "head_hidden_size", None) or plain.num_features)

    def build(self, classes: int, drop_path: float = 0.0) -> nn.Module:
        """Return the network with random weights.

        Args:
            classes: Number of outputs; 0 for features (B, width).
            drop_path: Share of images that skip the last block in training.

        Raises:
            BadArgument: The architecture does not support `image_size`, `pooling` or `drop_path`.
        """
        if not self.architecture:
            return vision_transformer(
                self.size,
                classes,
                image_size=self.image_size,
                drop_path=drop_path,
                pooling=self.pooling,
                family=self.family,
            )
        network = _created(self, classes, drop_path)
        _refuse_size(network, self.image_size)
        initialise_head(network)
        return network

    def load(self, network: nn.Module, weights: str) -> LoadReport:
        """Load a pre-trained file into a network of `build`; ``random`` leaves it random.

        Raises:
            WeightsNotFound: There is no such file; the message says how to get one.
            WeightsMismatch: The file does not fit the network.
        """
        if not self.architecture:
            return initialise(network, weights)
        return initialise(network, weights, self._fresh, _fetch(self.architecture))

    def present(self, weights: str) -> Path:
        """Return the path of a weights file that exists.

        Raises:
            WeightsNotFound: There is no such file; the message says how to get one.
        """
        return present(weights, _fetch(self.architecture) if self.architecture else "")

    def load_finetuned(
        self, network: nn.Module, weights: str, order: Sequence[int] = (), double_norm: bool | None = None
    ) -> LoadReport:
        """Load a fine-tuned file with its head; see `lmod_train.models.vision.retfound_weights.load_finetuned`."""
        heads = _heads(self.architecture) if self.architecture else HEAD
        return load_finetuned(network, weights, double_norm, order, heads)

    @property
    def _fresh(self) -> frozenset[str]:
        """Names that are new in a network for another task: the head, and a norm that the architecture lacks."""
        own = isinstance(getattr(_plain(self.architecture), "fc_norm", None), nn.LayerNorm)
        return _heads(self.architecture) | (frozenset() if own else FC_NORM)

    def settings(self) -> dict[str, Any]:
        """Return what determines the network's function beside its weights."""
        mean, std = self.normalisation
        colours = {"mean": list(mean), "std": list(std)}
        if self.architecture:
            names = ["architecture", "image_size", "pooling"]
        else:
            names = ["size", "image_size", "pooling", "family"]
            colours = {} if (tuple(mean), tuple(std)) == (IMAGENET_MEAN, IMAGENET_STD) else colours
        return {name: getattr(self, name) for name in names} | colours


def _card(architecture: str) -> Any:
    """Return timm's card of an architecture.

    Raises:
        BadArgument: timm has no such architecture, or no such tag of it.
    """
    known = is_model(architecture)
    try:
        card = get_pretrained_cfg(architecture) if known else None
    except RuntimeError as error:  # an unknown tag
        tags = timm.list_pretrained(f"{architecture.partition('.')[0]}.*")
        raise BadArgument(
            "architecture", architecture, f"one of {', '.join(tags[:8])}", "leave the tag after the dot out"
        ) from error
    if known:
        return card or timm.models.PretrainedCfg(mean=IMAGENET_MEAN, std=IMAGENET_STD)
    near = difflib.get_close_matches(architecture, timm.list_models(), 4, 0.5)
    expected = f"an architecture of timm {timm.__version__}" + (f", e.g. {', '.join(near)}" if near else "")
    cure = "list them: python -c \"import timm; print(*timm.list_models('*vit_base*'), sep='\\n')\""
    raise BadArgument("architecture", architecture, expected, cure)


@cache
def _plain(architecture: str) -> Any:
    """Return the network as timm builds it, without memory for its weights."""
    with torch.device("meta"):
        return timm.create_model(architecture, pretrained=False)


def _heads(architecture: str) -> frozenset[str]:
    """Return the names of the classifier's tensors."""
    named = getattr(_plain(architecture), "pretrained_cfg", {}).get("classifier") or "head"
    places = [named] if isinstance(named, str) else list(named)
    return frozenset(f"{place}.{kind}" for place in places for kind in ("weight", "bias"))


def _created(backbone: Backbone, classes: int, drop_path: float) -> nn.Module:
    options: dict[str, Any] = {"num_classes": classes}
    if _card(backbone.architecture).fixed_input_size:
        options["img_size"] = backbone.image_size
    if drop_path:
        options["drop_path_rate"] = drop_path
    if backbone.pooling:
        options["global_pool"] = "avg" if backbone.pooling == "mean" else "token"
    try:
        network: nn.Module = timm.create_model(backbone.architecture, pretrained=False, **options)
    except (TypeError, AssertionError, ValueError, RuntimeError) as error:
        asked = {"image_size": backbone.image_size, "pooling": backbone.pooling, "drop_path": drop_path}
        expected = f"an architecture that can be built with {asked} ({str(error)[:160]})"
        cure = "leave pooling out, set drop_path: 0, and an image_size that is a multiple of its patches"
        raise BadArgument("architecture", backbone.architecture, expected, cure) from error
    return network


def _refuse_size(network: Any, image_size: int) -> None:
    """Refuse a size of which a network of patches would leave out the last rows and columns.

    Raises:
        BadArgument: `image_size` is no multiple of the side of a patch.
    """
    patch = getattr(getattr(network, "patch_embed", None), "patch_size", None)
    side = patch[0] if isinstance(patch, tuple) else 1
    if image_size % side:
        nearest = max(1, round(image_size / side)) * side
        raise BadArgument("image_size", image_size, f"a multiple of {side}", f"set image_size: {nearest}")


def _fetch(architecture: str) -> str:
    """Return how to get timm's own file of an architecture."""
    return fetch_of(architecture, _card(architecture).hf_hub_id)
