"""The fingerprint tells bases apart and not how they are cut into files; what travels is what the processor reads."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoProcessor

from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.chat.base_files import (
    OtherBase,
    check_base,
    fingerprint,
    hashes_of,
    licence_of,
    processor_files,
    write_processor_files,
)


def tensors():
    torch.manual_seed(0)
    return {"a": torch.randn(40, 20), "b": torch.randn(7)}


def written(folder, *shards):
    folder.mkdir()
    for i, shard in enumerate(shards):
        save_file(shard, folder / f"model-{i}.safetensors")
    return fingerprint(folder)


def test_the_fingerprint_is_that_of_the_tensors_however_they_lie_in_files(tmp_path):
    whole = tensors()
    one = written(tmp_path / "one", whole)
    assert one == written(tmp_path / "two", {"b": whole["b"]}, {"a": whole["a"]})
    assert len(one) == 64


@pytest.mark.parametrize("change", ["value", "name", "type", "shape"])
def test_another_value_name_type_or_shape_is_another_base(tmp_path, change):
    other = tensors()
    other["b"][0] += change == "value"
    if change == "name":
        other["c"] = other.pop("b")
    if change == "type":
        other["b"] = other["b"].half()
    if change == "shape":
        other["a"] = other["a"].reshape(20, 40)
    assert written(tmp_path / "one", tensors()) != written(tmp_path / "two", other)


def test_a_delta_is_not_the_weights_it_makes(tiny, tmp_path):
    weights = load_file(tiny / "model.safetensors")
    assert fingerprint(tiny) != written(tmp_path / "delta", {n: 0.5 * t for n, t in weights.items()})


def test_another_base_is_refused_by_name(tmp_path):
    check_base(tmp_path, "a" * 64, {"base": "llava", "fingerprint": "a" * 64})
    with pytest.raises(WeightsMismatch, match=r"(?s)'llava', fingerprint aaaaaaaaaaaa.*--base PATH"):
        check_base(tmp_path, "b" * 64, {"base": "llava", "fingerprint": "a" * 64})


def test_a_byte_of_the_base_that_changed_since_the_training_is_found_where_the_files_are_the_same(tmp_path):
    file = tmp_path / "model.safetensors"
    save_file(tensors(), file)
    facts = {"base": "tiny", "fingerprint": fingerprint(tmp_path), "hashes": hashes_of(tmp_path)}
    check_base(tmp_path, fingerprint(tmp_path), facts)
    content = bytearray(file.read_bytes())
    content[-30] ^= 1  # the end of the larger tensor, of which only the first bytes enter the fingerprint
    file.write_bytes(content)
    assert fingerprint(tmp_path) == facts["fingerprint"]
    with pytest.raises(OtherBase, match=r"model\.safetensors had the SHA-256 .*may be damaged.*\nNext: name the base"):
        check_base(tmp_path, fingerprint(tmp_path), facts)
    file.rename(tmp_path / "model-00001-of-00001.safetensors")
    check_base(tmp_path, fingerprint(tmp_path), facts)


def test_the_files_that_travel_are_all_that_the_processor_needs(tiny, tmp_path):
    files = processor_files(tiny)
    assert "chat_template.jinja" in files and not [n for n in files if n.endswith("safetensors")]
    write_processor_files(tmp_path, files)
    (tmp_path / "config.json").write_bytes((tiny / "config.json").read_bytes())
    ours, theirs = (AutoProcessor.from_pretrained(folder) for folder in (tmp_path, tiny))
    assert ours.chat_template == theirs.chat_template
    assert ours.tokenizer("Is it glaucoma?").input_ids == theirs.tokenizer("Is it glaucoma?").input_ids


def test_a_file_name_cannot_lead_out_of_the_folder(tmp_path):
    with pytest.raises(ValueError, match="not the name of a file"):
        write_processor_files(tmp_path, {"../tokenizer.json": b"{}"})


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: apache-2.0\ntags: [a]\n---\n# A", "apache-2.0"),
        ("---\ntags: [a]\n---\nlicense: mit", "other"),
        ("license: mit", "other"),
        ("---\nlicense: mit", "other"),
        (None, "other"),
    ],
)
def test_the_licence_is_read_from_the_cards_header_alone(tmp_path, card, licence):
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    assert licence_of(tmp_path) == licence
