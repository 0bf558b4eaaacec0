"""What the tests of training and evaluation share: a curated folder of phantoms and a tiny checkpoint."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # 200 ms an example is a matter of the machine's other work
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Do not wait for the disk at every file that is written: no test cuts the power of the machine."""
    os.fsync = lambda _: None  # the tests of its order put their own in its place


def pytest_collection_finish() -> None:
    """Leave the libraries and tests, millions of objects, out of garbage collections: a tenth of the suite's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


IN_PROCESSES = ("tests/phantom", "tests/data/curation")
"""Folders whose tests are about several processes."""


@pytest.fixture(scope="module", autouse=True)
def _in_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Phantoms are drawn and curated in the process of the test: one that starts anew imports for seconds."""
    if request.path.relative_to(request.config.rootpath).as_posix().startswith(IN_PROCESSES):
        yield
        return
    from lmod_train.data.curation.workers import local_crew

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lmod_train.phantom.shots.FEW", 10**6)
        patched.setattr("lmod_train.data.curation.pipeline.local_crew", lambda workers: local_crew(min(workers, 1)))
        yield


@pytest.fixture(scope="session")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve phantom eyes a source, curated: three tasks, three splits."""
    from lmod_train.data.curation.pipeline import curate
    from lmod_train.data.sources.discovery import discover
    from lmod_train.phantom.folders import eye_diseases, refuge
    from lmod_train.tasks.anatomy import Anatomy
    from lmod_train.tasks.four_way import FourWay
    from lmod_train.tasks.glaucoma import Glaucoma

    raw, out = tmp_path_factory.mktemp("raw"), tmp_path_factory.mktemp("curated")
    eye_diseases.write(raw, 12, 0, size=128, workers=0)
    refuge.write(raw, 12, 0, size=128, workers=0)
    sources = discover(raw).sources
    assert len(sources) == 2
    tasks = [Anatomy(options={"CFP": ["optic disc", "optic cup"]}), Glaucoma(), FourWay()]
    curate(sources, tasks, out, ratios=(0.5, 0.25, 0.25), workers=1, progress=False)
    return out


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random LLaVA checkpoint, two layers of 32."""
    from tests.tiny import write_tiny

    return write_tiny(tmp_path_factory.mktemp("tiny"))
