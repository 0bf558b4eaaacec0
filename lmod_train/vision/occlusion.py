"""Which places of a picture a classifier's answer rests on: what covering each of them takes from it.

Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks, ECCV 2014, section 4.2. It asks
nothing of the network but its logits, and no gradient. On transformers that had learned to tell a small square from
noise, the other ways that were tried missed the square with at least one kind of pooling: attention rollout,
gradient-weighted attention (Chefer et al., ICCV 2021), and Grad-CAM on the tokens before each block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lmod_train.errors import BadArgument


@torch.no_grad()
def occlusion(
    network: Callable[[Tensor], Tensor], images: Tensor, parts: Sequence[int] = (7, 4), together: int = 32
) -> Tensor:
    """Return for each place of each picture how much the answer rests on it, (B, H, W) in [0, 1], float32.

    A window slides over the picture in steps of half of it and shows the picture's mean colour. What that takes from
    the log-odds of the class that was likeliest is the window's; they tell more than its probability, which stays 1 to
    the last digit where the network is sure. A place has the mean over the windows that cover it, of each size the
    same share. It is 0 where it is negative, and the largest of a picture is made 1; all 0 where no place speaks for
    the class.

    One size does not do: where half of a thing tells a network as much as all of it, a window that covers less than
    all takes nothing, and one that covers more does not tell where.

    It sees what one window can take. A class that shows in the absence of something has no place, nor has one that
    shows in several places of which each is enough: what is drawn then is small change made large.

    Args:
        network: Images to logits (B, at least 2 classes), in evaluation.
        images: (B, channels, H, W).
        parts: For each size of window how many of them side by side cover a side, at least 1 each. A size costs
            (2 parts - 1)^2 + 1 answers for each picture, of any size; that makes 220 by default.
        together: Pictures to give to the network at a time, at least 1.

    Raises:
        BadArgument: There are no `parts`, one or `together` is below 1, or a side has fewer than ``2 * parts`` pixels.

    Example:
        A network that looks at the lower right corner alone:

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
    """Return the mean drop over the windows of one size that cover each place, (H, W)."""
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
    """Return the logarithm of one class's probability over that of all others, (B,)."""
    others = torch.cat([logits[:, :one], logits[:, one + 1 :]], dim=1)
    odds: Tensor = logits[:, one] - others.logsumexp(dim=1)
    return odds
