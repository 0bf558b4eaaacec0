"""Check sums against `zipfile.testzip`, on files of `torch.save` in which bytes are lost at every kind of place."""

import hashlib
import zipfile

import numpy as np
import pytest
import torch

from lmod_train.core.zipped import damage, sha256_and_damage


@pytest.fixture
def file(tmp_path):
    torch.save({"a": torch.arange(5000.0), "b": {"c": torch.ones(3)}}, tmp_path / "weights.pth")
    return tmp_path / "weights.pth"


def test_a_whole_file_has_no_damage_and_its_own_hash(file):
    assert sha256_and_damage(file) == (hashlib.sha256(file.read_bytes()).hexdigest(), "")
    assert damage(file) == ""


def test_a_hole_of_zeros_is_seen_wherever_testzip_sees_it(file):
    content, random = file.read_bytes(), np.random.default_rng(0)
    seen = 0
    for start in random.integers(0, len(content) - 64, 30):
        file.write_bytes(content[:start] + bytes(64) + content[start + 64 :])
        try:
            theirs = zipfile.ZipFile(file).testzip() is not None
        except Exception:  # the structure itself
            theirs = True
        digest, ours = sha256_and_damage(file)
        assert bool(ours) == theirs, (start, ours)
        assert digest == hashlib.sha256(file.read_bytes()).hexdigest()
        assert theirs or damage(file) == ""
        seen += theirs
    assert seen > 20, "most of the file is the large tensor"


def test_a_file_that_was_not_copied_to_its_end_is_cut_off(file):
    content = file.read_bytes()
    for kept in (0, 10, len(content) // 2, len(content) - 30):
        file.write_bytes(content[:kept])
        assert damage(file)


def test_a_compressed_file_is_checked_too(file, tmp_path):
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a", b"abc" * 1000)
    assert damage(packed) == ""
    content = bytearray(packed.read_bytes())
    content[40] ^= 255
    packed.write_bytes(content)
    assert damage(packed)


def test_what_was_written_without_check_sums_has_none_to_compare(tmp_path):
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"a": torch.ones(3)}, tmp_path / "without.pth")
    finally:
        torch.serialization.set_crc32_options(before)
    assert damage(tmp_path / "without.pth") == ""


def test_what_is_no_zip_file_has_a_hash_alone(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"no zip file")
    digest, said = sha256_and_damage(tmp_path / "model.safetensors")
    assert digest == hashlib.sha256(b"no zip file").hexdigest() and said == ""


@pytest.mark.parametrize("more", [4, -4])
@pytest.mark.parametrize("field", [20, 24])  # of an entry of the directory: packed size, size
def test_a_size_that_the_directory_states_wrongly_is_seen(file, field, more):
    content = bytearray(file.read_bytes())
    at = content.rindex(b"PK\x01\x02", 0, content.rindex(b"/data/0")) + field
    size = int.from_bytes(content[at : at + 4], "little") + more
    content[at : at + 4] = size.to_bytes(4, "little")
    file.write_bytes(content)
    assert damage(file)
