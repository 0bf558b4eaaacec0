"""The image processor of a checkpoint as a function of a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.models.chat.checkpoint import config_of
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.plain_dialect import PlainDialect
from lmod_train.models.chat.prompting import Prompting

UNMEASURED = "evaluate the model without this measure: its replies are those of transformers alone"


def look_of(folder: Path, pictures: Pictures) -> Callable[[Image.Image], tuple[npt.NDArray[np.float32], int]]:
    """Return a function of an RGB picture: the network's pixel values, and the number of image tokens in a prompt.

    Args:
        folder: A checkpoint in transformers layout; its weights are not read, and need not be there.
        pictures: Shape, pixel limits and number of tiles.

    Raises:
        WeightsMismatch: It has no processor.
        BadArgument: An option does not apply to it, or its output cannot be measured.
    """
    dialect = _dialect(folder, pictures)
    config = config_of(folder)
    marker = _image_token(config, dialect.processor)

    def look(picture: Image.Image) -> tuple[npt.NDArray[np.float32], int]:
        made = dialect.inputs(dialect.probes(["?"], picture), [0])
        if "pixel_values" not in made:
            raise WeightsMismatch(str(folder), ["pixel_values"], sorted(made), "use the processor published with it")
        if "target_sizes" in made:  # MiniCPM-V: overview and slices of several sizes in one row of patches
            what = "slices of several sizes in one row of patches"
            raise BadArgument("output of the image processor", what, "pictures or patches of one size", UNMEASURED)
        return made["pixel_values"].float().numpy(), int((made["input_ids"] == marker).sum())

    return look


def _dialect(folder: Path, pictures: Pictures) -> PlainDialect:
    """Return the dialect; without a chat template it writes plain words, which changes no picture."""
    try:
        return PlainDialect(folder, pictures=pictures)
    except WeightsMismatch:
        return PlainDialect(folder, Prompting(template="words"), pictures)


def _image_token(config: Any, processor: Any) -> int:
    """Return the id of the image token."""
    stated = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
    found = next((token for token in stated if token is not None), None)
    return int(processor.image_token_id if found is None else found)
