"""Occlusion maps: the parts of an image on which a classifier's answer depends.

Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks, ECCV 2014, section 4.2. The method
needs only logits, no gradients. On transformers trained to distinguish a small square from noise, the other methods
that were tried missed the square with at least one kind of pooling: attention rollout, gradient-weighted attention
(Chefer et al., ICCV 2021), and Grad-CAM on the tokens before each block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lmod_train.core.errors import BadArgument


@torch.no_grad()
def occlusion(
    network: Callable[[Tensor], Tensor], images: Tensor, parts: Sequence[int] = (7, 4), together: int = 32
) -> Tensor:
    """Return the relevance of each pixel of each image for the predicted class, (B, H, W) in [0, 1], float32.

    A window of the image's mean colour slides over the image in steps of half its size. The relevance of a window is
    the decrease of the log-odds of the most likely class; probabilities would be 1 to the last digit for a confident
    network. The relevance of a pixel is the mean over the windows that cover it, with equal weight for each window
    size. Negative values are set to 0, and each map is scaled to a maximum of 1; a map without positive values is 0.

    Several window sizes are needed: if half of an object is enough for the network, a smaller window does not change
    the logits, and a larger one is not precise.

    The method finds what a single window can remove. It gives no meaningful map for a class that is recognised by the
    absence of something, or by several objects of which each one is enough: small changes are then scaled to 1.

    Args:
        network: Function from images to logits (B, at least 2 classes), in evaluation mode.
        images: (B, channels, H, W).
        parts: For each window size the number of windows that cover a side without overlap, at least 1. A size needs
            (2 parts - 1)^2 + 1 forward passes per image; the default needs 220.
        together: Number of images per forward pass, at least 1.

    Raises:
        BadArgument: `parts` is empty, one of them or `together` is below 1, or a side has fewer than ``2 * parts``
            pixels.

    Example:
        A network that uses only the lower right corner:

        >>> looks = lambda images: torch.stack([images[:, 0, 3, 3], 0 * images[:, 0, 3, 3]], dim=1)
        >>> image = torch.zeros(1, 1, 4, 4)
        >>> image[0, 0, 3, 3] = 5.0
        >>> occlusion(looks, image, parts=[2])[0]
        tensor([[0.0000, 0.0000, 0.0000, 0.0000],
                [0.0000, 0.0000, 0.0000, 0.0000],
                [0.0000, 0.0000, 0.2500, 0.5000],
                [0.0000, 0.0000, 0.5000, 1.0000]])
    """
    side = min(images.shape[2:])
    if not parts or not 1 <= min(parts) <= max(parts) <= side / 2:
        raise BadArgument("parts", parts, f"numbers from 1 to half of the {side} pixels of a side", "leave parts out")
    if together < 1:
        raise BadArgument("together", together, "1 or more", "leave together out")
    maps = [_scaled(sum(_drops(network, image, n, together) for n in parts)) for image in images]
    return torch.stack(maps) if maps else torch.zeros(0, *images.shape[2:])


def _scaled(drops: Tensor | int) -> Tensor:
    positive: Tensor = torch.as_tensor(drops).clamp_min(0)
    largest: Tensor = positive.max().clamp_min(1e-12)
    return positive / largest


def _drops(network: Callable[[Tensor], Tensor], image: Tensor, parts: int, together: int) -> Tensor:
    """Return for each pixel the mean decrease over the windows of one size that cover it, (H, W)."""
    logits = network(image[None]).float()
    likeliest = int(logits.argmax())
    colour = image.mean(dim=(1, 2), keepdim=True)
    total = image.new_zeros(image.shape[1:], dtype=torch.float32)
    count = torch.zeros_like(total)
    windows = _windows(image.shape[1], image.shape[2], parts)
    for start in range(0, len(windows), together):
        own = windows[start : start + together]
        covered = image.repeat(len(own), 1, 1, 1)
        for one, (rows, columns) in zip(covered, own, strict=True):
            one[:, rows, columns] = colour
        drops = _log_odds(logits, likeliest) - _log_odds(network(covered).float(), likeliest)
        for drop, (rows, columns) in zip(drops, own, strict=True):
            total[rows, columns] += drop
            count[rows, columns] += 1
    mean: Tensor = total / count
    return mean


def _windows(height: int, width: int, parts: int) -> list[tuple[slice, slice]]:
    """Return the rows and columns of each window."""
    rows, columns = (
        [slice(round(i * side / parts / 2), round((i + 2) * side / parts / 2)) for i in range(2 * parts - 1)]
        for side in (height, width)
    )
    return [(own, across) for own in rows for across in columns]


def _log_odds(logits: Tensor, one: int) -> Tensor:
    """Return the log-odds of one class, (B,)."""
    others = torch.cat([logits[:, :one], logits[:, one + 1 :]], dim=1)
    odds: Tensor = logits[:, one] - others.logsumexp(dim=1)
    return odds
