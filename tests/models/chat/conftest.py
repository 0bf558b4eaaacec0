from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.dialect import Dialect
from tests.families import MODEL_TYPES
from tests.models.chat.written_once import write_tiny


@pytest.fixture(scope="session")
def network(tiny: Path):
    return load(tiny).eval()


@pytest.fixture(scope="session")
def dialect(tiny: Path) -> Dialect:
    return Dialect(tiny)


@pytest.fixture(scope="session", params=MODEL_TYPES)
def kin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One family after the other: its folder, its network, its dialect."""
    folder = write_tiny(tmp_path_factory.mktemp(request.param), request.param)
    return SimpleNamespace(
        model_type=request.param, folder=folder, network=load(folder).eval(), dialect=Dialect(folder)
    )


@pytest.fixture(scope="session")
def eyes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two 4:3 pictures, a.png and b.png, and a tall one, tall.png."""
    folder = tmp_path_factory.mktemp("eyes")
    noise = np.random.default_rng(0)
    for name, shape in {"a": (90, 120, 3), "b": (90, 120, 3), "tall": (120, 60, 3)}.items():
        Image.fromarray(noise.integers(0, 255, shape, dtype=np.uint8)).save(folder / f"{name}.png")
    return folder
