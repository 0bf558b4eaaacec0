from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train.models.checkpoint import load
from lmod_train.models.llava import LlavaDialect


@pytest.fixture(scope="session")
def network(tiny: Path):
    return load(tiny).eval()


@pytest.fixture(scope="session")
def dialect(tiny: Path) -> LlavaDialect:
    return LlavaDialect(tiny)


@pytest.fixture(scope="session")
def eyes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two 4:3 pictures, a.png and b.png."""
    folder = tmp_path_factory.mktemp("eyes")
    noise = np.random.default_rng(0)
    for name in "ab":
        Image.fromarray(noise.integers(0, 255, (90, 120, 3), dtype=np.uint8)).save(folder / f"{name}.png")
    return folder
