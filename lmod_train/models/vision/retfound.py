"""RETFound's vision transformer and smaller variants of it.

Reference: Zhou et al., A foundation model for generalizable disease detection from retinal images, Nature 622 (2023),
156-163, and the fine-tuning program of its authors (June 2024, the one LMOD used). This package neither contains nor
downloads weights: `lmod_train.models.vision.retfound_weights` reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from timm.models.vision_transformer import VisionTransformer
from torch import nn

from lmod_train.core.errors import BadArgument, check_one_of
from lmod_train.models.vision.published_weights import Family, Pooling, published_pooling

HEAD_STD = 2e-5
PATCH: dict[Family, int] = {"mae": 16, "dinov2": 14}
LAYER_SCALE = 1e-5  # initial value in DINOv2's blocks; MAE's blocks have none


@dataclass(frozen=True, slots=True)
class Size:
    """Width, number of blocks and attention heads of a transformer; the hidden layer is four times the width."""

    width: int
    depth: int
    heads: int


SIZES: dict[str, Size] = {"large": Size(1024, 24, 16), "small": Size(192, 6, 3), "tiny": Size(64, 4, 4)}
"""``large`` is the ViT-L of all RETFound releases; ``small`` can be trained on a CPU, ``tiny`` is for tests."""


def vision_transformer(
    size: Literal["large", "small", "tiny"],
    classes: int,
    *,
    image_size: int = 224,
    drop_path: float = 0.2,
    pooling: Pooling | None = None,
    family: Family = "mae",
) -> VisionTransformer:
    """Return a vision transformer with random weights.

    With mean pooling the patch tokens are averaged without the class token and normalised by ``fc_norm``, and there is
    no ``norm``; with cls pooling the class token is normalised by ``norm``. All layer norms have eps 1e-6. The head's
    weight is drawn from a truncated normal of std 2e-5 and its bias is 0, so that the initial loss is ln(classes).

    Args:
        size: ``large`` is ViT-L (width 1024, 24 blocks, 16 heads); ``small`` and ``tiny`` are smaller variants.
        classes: Number of outputs, at least 2; or 0 for no head: the network then returns features (B, width).
        image_size: Side of the square input in pixels, a multiple of the patch size (``mae`` 16, ``dinov2`` 14).
        drop_path: Share of images that skip the last block in training, in [0, 1); it rises linearly from 0.
        pooling: ``mean`` or ``cls``; by default the family's published one: ``mae`` mean, ``dinov2`` cls.
        family: ``mae``, or ``dinov2`` with patches of 14 and a layer scale in every block.

    Returns:
        Network from images (B, 3, image_size, image_size), normalised by the release's mean and std, to logits
        (B, classes).

    Raises:
        BadArgument: An argument is out of its range.

    Example:
        >>> import torch
        >>> model = vision_transformer("tiny", classes=5, image_size=64)
        >>> model(torch.zeros(2, 3, 64, 64)).shape
        torch.Size([2, 5])
    """
    patch = _checked(size, classes, image_size, drop_path, pooling, family)
    pooling = pooling or published_pooling(family)
    shape = SIZES[size]
    model = VisionTransformer(
        img_size=image_size,
        patch_size=patch,
        embed_dim=shape.width,
        depth=shape.depth,
        num_heads=shape.heads,
        num_classes=classes,
        global_pool="avg" if pooling == "mean" else "token",
        init_values=LAYER_SCALE if family == "dinov2" else None,
        drop_path_rate=drop_path,
        norm_layer=partial(nn.LayerNorm, eps=1e-6),
    )
    initialise_head(model)
    return model


def initialise_head(model: nn.Module) -> None:
    """Initialise the head's weight (truncated normal, std 2e-5) and set its bias to 0; do nothing without a head.

    A classifier of timm that is no linear layer keeps timm's initial values.
    """
    head: Any = model
    head = head.get_classifier()
    if isinstance(head, nn.Linear):
        nn.init.trunc_normal_(head.weight, std=HEAD_STD)
        nn.init.zeros_(head.bias)


def _checked(
    size: str, classes: int, image_size: int, drop_path: float, pooling: Pooling | None, family: Family
) -> int:
    """Return the patch size; raise BadArgument for invalid arguments."""
    check_one_of("size", size, SIZES, "set size: large for the published weights")
    if family not in PATCH:
        raise BadArgument("family", family, f"one of {', '.join(PATCH)}", "set family: mae for the weights of 2023")
    if pooling not in ("mean", "cls", None):
        raise BadArgument("pooling", pooling, "mean or cls", "leave it out for the family's published pooling")
    if classes < 0 or classes == 1:
        raise BadArgument("classes", classes, "at least 2, or 0 for features", "set it to the task's number of choices")
    if not 0 <= drop_path < 1:
        raise BadArgument("drop_path", drop_path, "a share in [0, 1)", "set drop_path: 0.2 as in RETFound")
    patch = PATCH[family]
    if image_size < patch or image_size % patch:
        nearest = max(patch, round(image_size / patch) * patch)
        raise BadArgument("image_size", image_size, f"a multiple of {patch}", f"set image_size: {nearest}")
    return patch
