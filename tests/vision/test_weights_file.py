"""Weights with a hole are refused, whichever way they were saved."""

import pytest
import torch
from safetensors.torch import save_file

from lmod_train.errors import WeightsNotFound
from lmod_train.vision.weights_file import read_weights


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
