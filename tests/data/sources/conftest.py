"""Fixtures: phantoms written once for all tests of the sources; tests that damage files use a copy."""

import pytest

from lmod_train.core.extension import named
from lmod_train.phantom.folders import eye_diseases
from tests.drawn import drawn_folders, drawn_sources, refuge


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    """A raw folder with every source, refuge in its three layouts."""
    raw = tmp_path_factory.mktemp("drawn")
    eye_diseases.write(raw / "eyes", 8, seed=11, size=48, workers=0)
    for layout in refuge.LAYOUTS:
        refuge.write(raw / layout, 12, seed=12, size=64, layout=layout)
    return raw


@pytest.fixture(scope="session")
def eight(tmp_path_factory):
    """A raw folder for each source, with eight phantoms in it; tests that change files use a copy."""
    raw = tmp_path_factory.mktemp("eight")
    for name in drawn_sources():
        named(drawn_folders()[name]).write(raw / f"of {name}", 8, seed=4, size=64, workers=0)
    return raw
