"""The feasibility CNN of LMOD figure 7, which tests whether the classes can be learnt from pixels.

Reference: LMOD (NAACL Findings 2025), figure 7 and section 4.4: crops of 128 x 128 pixels, batch 512, learning rate
0.001, 20 epochs, one classifier per modality.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn


class FeasibilityCNN(nn.Module):
    """Two convolutions with a 2 x 2 max-pool after each, and one hidden layer of 128 units.

    The figure has a ReLU before each pool; here it is after it. The maximum of rectified values is the rectified
    maximum, so outputs and gradients are the same, and the ReLU has a quarter of the cost. With channels last in
    memory, a step on a CPU takes less than half of the time.

    Args:
        classes: Number of output classes, at least 2.
        size: Side of the square input in pixels, a multiple of 4; the paper's is 128.

    Example:
        >>> FeasibilityCNN(classes=4)(torch.zeros(2, 3, 128, 128)).shape
        torch.Size([2, 4])
    """

    def __init__(self, classes: int, size: int = 128) -> None:
        super().__init__()
        pool, relu = nn.MaxPool2d(2), nn.ReLU()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), pool, relu, nn.Conv2d(32, 64, 3, padding=1), pool, relu
        )
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * (size // 4) ** 2, 128), nn.ReLU(), nn.Linear(128, classes)
        )
        self.to(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (B, classes) of images (B, 3, size, size) with values in [-1, 1]."""
        return cast(Tensor, self.head(self.features(images.contiguous(memory_format=torch.channels_last))))
