"""The starts of the lab: what each of them has of the base, and what the doctor says of it."""

import pytest
import torch
from safetensors.torch import load_file

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.collapse.lab import STARTS, checkpoints, phantoms, verdict
from lmod_train.models.chat.checkpoint import find
from lmod_train.models.chat.delta import mean_gain
from tests.extensions.collapse.conftest import N


def test_each_start_has_the_tower_and_its_own_language_model(lab_folder):
    starts = checkpoints(lab_folder, lab_folder / "curated")
    assert tuple(starts) == STARTS and starts["base"] == find("small_base")
    read = {start: load_file(folder / "model.safetensors") for start, folder in starts.items()}
    tower = [name for name in read["base"] if "vision_tower" in name]
    words = [name for name in read["base"] if "language_model" in name and "layers.0" in name]
    assert tower and words
    for start in STARTS:
        assert all(torch.equal(read[start][name], read["merged"][name]) for name in tower)
    for name in words:
        base, merged, delta = read["base"][name], read["merged"][name], read["delta"][name]
        assert not torch.equal(base, merged) and torch.allclose(base + delta, merged, atol=1e-6)
        assert read["random"][name].shape == base.shape and not torch.equal(read["random"][name], base)


def test_gains_are_about_zero_in_the_delta_alone(lab_folder):
    gains = {start: mean_gain(folder) for start, folder in checkpoints(lab_folder, lab_folder / "curated").items()}
    assert abs(gains["delta"]) < 0.05 and gains["random"] == pytest.approx(1.0)
    assert min(gains["merged"], gains["base"]) > 0.2


def test_the_doctor_passes_complete_weights_and_refuses_the_delta(lab_folder):
    starts, curated = checkpoints(lab_folder, lab_folder / "curated"), lab_folder / "curated"
    assert {s: verdict(starts[s], curated) for s in ("merged", "delta")} == {
        "merged": "passes",
        "delta": "refuses: delta",
    }


def test_a_folder_made_with_another_number_of_phantoms_is_refused(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "drawn").write_text("16")
    with pytest.raises(BadArgument, match="16, with which"):
        phantoms(tmp_path, N)
