"""Tensors are listed without being read, and read once each."""

import json

import pytest
import torch
from safetensors.torch import save_file

from lmod_train.core.errors import WeightsNotFound
from lmod_train.models.chat.stored import missing_shards, stored_in, weight_files

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(4, dtype=torch.bfloat16), "c": torch.arange(2)}


@pytest.mark.parametrize("kind", ["safetensors", "bin"])
def test_names_shapes_types_and_contents(kind, tmp_path):
    if kind == "bin":
        torch.save(TENSORS, tmp_path / "pytorch_model.bin")
    else:
        save_file(TENSORS, tmp_path / "model.safetensors")
    found = {t.name: (t.shape, t.dtype, t.read()) for t in stored_in(tmp_path)}
    types = {"a": ("float32"), "b": "bfloat16", "c": "int64" if kind == "bin" else "I64"}
    assert {n: v[:2] for n, v in found.items()} == {n: (tuple(t.shape), types[n]) for n, t in TENSORS.items()}
    assert all(torch.equal(found[name][2], t) for name, t in TENSORS.items())


def test_safetensors_count_where_both_kinds_are_there(tmp_path):
    torch.save(TENSORS, tmp_path / "pytorch_model.bin")
    save_file(TENSORS, tmp_path / "model.safetensors")
    assert [file.name for file in weight_files(tmp_path)] == ["model.safetensors"]
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {"a": "gone.bin"}}))
    assert missing_shards(tmp_path) == []
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    assert missing_shards(tmp_path) == ["gone.safetensors"]


def test_a_folder_without_weights_is_refused(tmp_path):
    torch.save({}, tmp_path / "mm_projector.bin")
    with pytest.raises(WeightsNotFound, match=r"no weights .*\nNext"):
        weight_files(tmp_path)


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.99])
def test_a_truncated_pickle_says_so(tmp_path, kept):
    file = tmp_path / "pytorch_model.bin"
    torch.save({"a": torch.rand(100, 100)}, file)
    file.write_bytes(file.read_bytes()[: int(kept * file.stat().st_size)])
    with pytest.raises(
        WeightsNotFound, match=r"cannot be read as tensors alone .*\nNext: fetch the file again"
    ) as told:
        [tensor.read() for tensor in stored_in(tmp_path)]
    assert "Errno" not in str(told.value)


def test_a_flipped_bit_of_a_pickle_is_found(tmp_path):
    file = tmp_path / "pytorch_model.bin"
    torch.save({"a": torch.rand(100, 100)}, file)
    content = bytearray(file.read_bytes())
    content[20_000] ^= 1
    file.write_bytes(content)
    assert torch.load(file, weights_only=True, mmap=True), "PyTorch reads it as if it were whole"
    with pytest.raises(WeightsNotFound, match="wrong checksum"):
        [tensor.read() for tensor in stored_in(tmp_path)]
