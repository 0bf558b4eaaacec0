"""Weights with a hole are refused, whichever way they were saved."""

import pytest
import torch
from safetensors.torch import save_file

from lmod_train.core.errors import WeightsNotFound
from lmod_train.models.vision.weights_file import read_weights


def test_a_hole_of_zeros_in_a_pytorch_file_is_refused(tmp_path):
    path = tmp_path / "weights.pth"
    torch.save({"layer.weight": torch.rand(64, 64)}, path)
    assert read_weights(path).tensors
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    assert torch.load(path)["layer.weight"].isfinite().all(), "PyTorch itself takes it for whole"
    with pytest.raises(WeightsNotFound, match=r"(?s)damaged: .*/data/0 .*checksum.*fetch the file again"):
        read_weights(path)


def test_a_matrix_of_only_zeros_is_refused_where_there_are_no_check_sums(tmp_path):
    path = tmp_path / "weights.safetensors"
    tensors = {"layer.weight": torch.rand(4, 4), "layer.bias": torch.zeros(4), "mask_token": torch.zeros(1, 4)}
    save_file(tensors, path)
    assert set(read_weights(path).tensors) == set(tensors), "biases and tokens may begin as zeros"
    save_file(tensors | {"layer.weight": torch.zeros(4, 4)}, path)
    with pytest.raises(WeightsNotFound, match=r"1 of 3 tensors contain only zeros, the first is layer\.weight"):
        read_weights(path)


@pytest.mark.parametrize("name", ["weights.safetensors", "weights.pth"])
def test_a_matrix_of_huge_values_is_refused(tmp_path, name):
    tensors = {"layer.weight": torch.rand(4, 4) * 1e30, "layer.bias": torch.zeros(4)}
    (save_file if name.endswith("safetensors") else torch.save)(tensors, tmp_path / name)
    with pytest.raises(WeightsNotFound, match=r"1 of 2 tensors contain values above 1e\+15, .* layer\.weight"):
        read_weights(tmp_path / name)


def test_other_weights_in_a_file_are_named_and_other_state_is_not(tmp_path):
    path, plain = tmp_path / "weights.pth", {"layer.weight": torch.rand(4, 4)}
    torch.save({"model": plain, "optimizer": {"state": {}, "param_groups": []}, "epoch": 3}, path)
    assert read_weights(path).notes == ()
    torch.save({"model": plain, "model_ema": {"layer.weight": torch.ones(4, 4)}}, path)
    file = read_weights(path)
    assert torch.equal(file.tensors["layer.weight"], plain["layer.weight"])
    assert len(file.notes) == 1 and "loaded are those of 'model'; the file also holds 'model_ema'" in file.notes[0]
    command = file.notes[0].partition("to use them: ")[2].rstrip(")") + ")"
    exec(command.replace("FILE", "path").replace("NEW", "path"), {"torch": torch, "path": path})
    assert torch.equal(read_weights(path).tensors["layer.weight"], torch.ones(4, 4))
