"""Values of weights are checked in the pass that hashes their file."""

import io
import json
import struct
from hashlib import sha256

import pytest
import torch
from safetensors.torch import save_file

from lmod_train.core import weight_values
from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.weight_values import (
    SUMS,
    checkpoint_json,
    known_by,
    refuse_changed,
    tensors_of,
    write_sha256sums,
    zero_matrices,
)
from lmod_train.extensions.weights.server_names import rename_for_servers
from lmod_train.models.chat.base_files import fingerprint
from lmod_train.models.chat.checkpoint import model_type_of
from lmod_train.models.chat.delta import mean_gain
from lmod_train.models.chat.stored import missing_shards
from lmod_train.models.chat.timm_tower import tower_config

TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def write(path, **changed):
    torch.manual_seed(0)
    tensors = {
        "a.weight": torch.randn(5, 7),
        "b.bias": torch.zeros(3),
        "ids": torch.arange(3),
        "none": torch.ones(0, 4),
    }
    save_file({name.replace("_", "."): t for name, t in (tensors | changed).items()}, path, metadata={"format": "pt"})
    return path


@pytest.mark.parametrize("kind", TYPES)
def test_a_file_is_known_by_the_hash_of_its_bytes(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(weight_values, "AT_ONCE", 16)  # tensors in several pieces
    path = write(tmp_path / "good.safetensors", c_weight=torch.tensor([[-6e4, 1e-7]]).to(kind))
    assert known_by(path) == sha256(path.read_bytes()).hexdigest() and zero_matrices(path) == []
    assert known_by("gpt-4o") == "gpt-4o" and zero_matrices("gpt-4o") == []


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf, -1e30])
def test_impossible_values_are_refused_wherever_they_stand(tmp_path, kind, value, monkeypatch):
    monkeypatch.setattr(weight_values, "AT_ONCE", 16)
    for place in (0, 7, 34):
        wrong = torch.ones(5, 7, dtype=torch.float64)
        wrong.view(-1)[place] = value
        path = write(tmp_path / "bad.safetensors", c_weight=wrong.to(kind))
        with pytest.raises(WeightsNotFound, match=r"1 of 5 tensors hold NaN.*e\.g\. c\.weight"):
            known_by(path)


def test_matrices_of_zeros_are_named_and_vectors_are_not(tmp_path):
    path = write(tmp_path / "holes.safetensors", c_weight=torch.zeros(4, 4), d_weight=-torch.zeros(2, 2, 2))
    assert zero_matrices(path) == ["c.weight", "d.weight"] and known_by(path)


def test_a_large_vector_and_a_file_that_cannot_be_read_have_a_hash(tmp_path):
    assert known_by(write(tmp_path / "mask.safetensors", mask=torch.full((3, 3), -1e30)))
    (tmp_path / "cut.safetensors").write_bytes(b"12345678{not json")
    assert known_by(tmp_path / "cut.safetensors") == sha256(b"12345678{not json").hexdigest()


@pytest.mark.parametrize("change", ["flipped", "exchanged"])
def test_a_file_with_another_hash_than_its_folder_states_is_refused_and_one_it_does_not_list_is_not(tmp_path, change):
    files = [write(tmp_path / f"{name}.safetensors", c_weight=torch.ones(2, 2) * n) for n, name in enumerate("ab")]
    write_sha256sums(tmp_path)
    known = [known_by(file) for file in files]
    assert (tmp_path / SUMS).read_text() == "".join(f"{k}  {f.name}\n" for k, f in zip(known, files, strict=True))
    content = bytearray(files[1].read_bytes() if change == "exchanged" else files[0].read_bytes())
    content[-1] ^= change == "flipped"
    files[0].write_bytes(content)
    for reading in (known_by, refuse_changed):
        with pytest.raises(WeightsNotFound, match=r"SHA-256 is not the one that .*SHA256SUMS states.*\nNext: copy it"):
            reading(files[0])
        reading(files[1])
    files[0].rename(tmp_path / "other.safetensors")
    known_by(tmp_path / "other.safetensors")


PART = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
HEADERS = [
    b"[" * 100_000, b"[]", b"3", b"\xff", b'{"a": 1}', b'{"a": {}}', *(
        json.dumps({"b": PART, "a": PART | part}).encode()
        for part in (
            {"dtype": 3}, {"dtype": None}, {"shape": 3}, {"shape": [-1]}, {"shape": ["1"]}, {"data_offsets": [0]},
            {"data_offsets": [0, 4, 8]}, {"data_offsets": ["0", "4"]}, {"data_offsets": [0, 10**400]},
            {"data_offsets": [2**63, 2**64]}, {"data_offsets": [-8, 4]}, {"data_offsets": {"a": 1, "b": 2}},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("size", [None, 0, 2**40, 2**64 - 1])
def test_a_header_that_describes_no_tensors_has_none(tmp_path, header, size):
    data = struct.pack("<Q", len(header) if size is None else size) + header
    (tmp_path / "a.safetensors").write_bytes(data + b"1234")
    assert tensors_of(io.BytesIO(data)) == (data if size != 0 else data[:8], [])
    assert known_by(tmp_path / "a.safetensors") == sha256(data + b"1234").hexdigest()
    assert len(fingerprint(tmp_path)) == 64


DAMAGED = [
    "[" * 200_000,
    "{",
    "[1]",
    "3",
    "\xff",
    '{"weight_map": ["a"]}',
    '{"weight_map": {"a": 1}}',
    "x" * (2**26 + 1),
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_json_file_of_a_checkpoint_is_named(tmp_path, text):
    write(tmp_path / "model.safetensors")
    file = tmp_path / "config.json"
    file.write_bytes(text.encode("latin-1"))
    readers = [mean_gain, tower_config, rename_for_servers, model_type_of, lambda folder: checkpoint_json(file)]
    for read in readers:
        with pytest.raises(WeightsNotFound, match=r"json': expected a JSON file of a checkpoint.*\nNext: copy the"):
            read(tmp_path)


def test_an_index_names_the_file_of_each_tensor(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    for text, reads in (('{"weight_map": {"a": "b"}}', True), ("{}", False), ('{"weight_map": null}', False)):
        index.write_text(text)
        if reads:
            assert missing_shards(tmp_path) == ["b"]
        else:
            with pytest.raises(WeightsNotFound, match="its weight_map does not name a file a tensor"):
                missing_shards(tmp_path)
