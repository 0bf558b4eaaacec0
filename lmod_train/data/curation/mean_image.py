"""The mean image of a source and modality: what is shown where nothing of one eye may be seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.shuffling import shuffle_key
from lmod_train.data.curation.images import write_image

MOST = 200
"""Images of which the mean is taken, drawn by their names."""
FEWEST = 5
"""Images of which there is a mean: that of fewer shows each of them."""


def mean_path(source: str, modality: str) -> str:
    """Return the path of the mean image of a source and modality, relative to the curated folder.

    Example:
        >>> mean_path("refuge", "CFP")
        'images/refuge/CFP.mean.jpg'
    """
    return f"images/{source}/{modality or 'images'}.mean.jpg"


def write_mean_image(out: Path, path: str, images: Sequence[str]) -> str:
    """Write the mean of curated images, each in the size that most of them have; return the SHA-256 of the file.

    Args:
        out: The curated folder.
        path: Of `mean_path`.
        images: Paths of plain images, at least `FEWEST`; of more than `MOST`, these are drawn.
    """
    curated = Curated(out)
    drawn = sorted(set(images), key=lambda name: shuffle_key(0, "mean", name))[:MOST]
    size = Counter(curated.rgb(name).size for name in drawn).most_common(1)[0][0]
    total = np.zeros((size[1], size[0], 3))
    for name in drawn:
        total += np.asarray(curated.rgb(name).resize(size, Image.Resampling.BOX), dtype=np.float64)
    mean = Image.fromarray(np.round(total / len(drawn)).astype(np.uint8))
    return write_image(out / path, mean)
