"""Phantoms of every source of chains, drawn once; curated in several ways, and never changed."""

import pytest

from lmod_train.core.extension import named
from tests.drawn import drawn_folders

DRAWN = {"oimhs": 32, "brset": 40, "idrid": 16, "refuge": 12, "origa": 10, "g1020": 10}
DRAWN |= {"fairseg": 10, "cataract_detection_2": 10, "cataract_1k": 16}
SIZE = 128


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    root = tmp_path_factory.mktemp("chains")
    for name, n in {**DRAWN, "xpcr": 10}.items():
        named(drawn_folders()[name]).write(root / name, n, 3, size=SIZE, workers=0)
    return root


@pytest.fixture(scope="session")
def truths():
    """The truth of each phantom of `drawn` but X-PCR, by source and key."""
    found = {}
    for name, n in DRAWN.items():
        folder = named(drawn_folders()[name])
        options = ({} if name == "brset" else {"size": SIZE}) | ({"lesions": True} if name == "idrid" else {})
        found |= {(name, truth.key): truth for truth in folder.truths(n, 3, **options)}
    return found
