"""A folder of the collapse lab with few phantoms, and weights after one step."""

import pytest

from lmod_train.extensions.collapse import lab as starts
from lmod_train.extensions.collapse.lab import Recipe

N = 24
"""Phantoms per source; with 16 all eight training phantoms happened to have their two regions in the same order."""


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory):
    """Return the folder; tests that write to it do so in folders of their own."""
    out = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "START", Recipe(steps=1))
        starts.checkpoints(out, starts.phantoms(out, N))
    return out
