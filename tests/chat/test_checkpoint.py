"""Checkpoints load whole or not at all."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from lmod_train.chat.checkpoint import find, find_any, load
from lmod_train.errors import BadArgument, WeightsMismatch, WeightsNotFound

PROJECTOR = "multi_modal_projector.linear_1.bias"


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "copy")


def rewritten(folder, change):
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors, next(k for k in tensors if k.endswith(PROJECTOR)))
    file.unlink()
    save_file(tensors, file, metadata={"format": "pt"})
    return folder


def bare(name):
    """Return a tensor's name without the levels that files and models nest differently."""
    return ".".join(part for part in name.split(".") if part not in ("model", "language_model"))


def reconfigured(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))
    return folder


def test_every_tensor_of_the_file_is_in_the_model(tiny):
    model, file = load(find(str(tiny))), load_file(tiny / "model.safetensors")
    state = {bare(k): v for k, v in model.state_dict().items()}
    assert len(file) > 60 and all(torch.equal(v, state[bare(k)]) for k, v in file.items())
    assert {p.dtype for p in load(tiny, torch.bfloat16).parameters()} == {torch.bfloat16}


def test_every_family_is_found_and_loads_whole(kin):
    file, state = load_file(find(str(kin.folder)) / "model.safetensors"), kin.network.state_dict()
    assert sum(v.numel() for v in file.values()) == sum(v.numel() for v in state.values())
    name = next(n for n in file if n.endswith("q_proj.weight") and ("language_model" in n or "visual" not in n))
    assert any(torch.equal(file[name], value) for n, value in state.items() if n.endswith("q_proj.weight"))


def test_a_missing_folder_says_what_to_fetch():
    with pytest.raises(WeightsNotFound, match=r"checkpoint='nowhere/llava'.*\nNext: .*hf download"):
        find("nowhere/llava")


def test_a_folder_without_safetensors_is_refused(copy):
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(WeightsNotFound, match=r"no \*\.safetensors"):
        find(str(copy))


def test_a_missing_shard_is_named(copy):
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(WeightsNotFound, match=r"lacks model-00002-of-00002\.safetensors"):
        find(str(copy))


def test_the_configuration_of_the_old_code_is_refused(copy):
    flat = {"model_type": "llava_mistral", "mm_vision_tower": "openai/clip-vit-large-patch14-336", "hidden_size": 4096}
    (copy / "config.json").write_text(json.dumps(flat))
    with pytest.raises(WeightsMismatch, match="original LLaVA code"):
        find(str(copy))


def test_another_architecture_is_refused(copy):
    with pytest.raises(BadArgument, match=r"internvl, llava, llava_next, .*qwen2_5_vl, .*model_type 'mllama'"):
        find(str(reconfigured(copy, model_type="mllama")))


def test_any_class_of_transformers_is_found_where_no_family_is_needed(copy):
    assert find_any(str(reconfigured(copy, model_type="mllama"))) == copy
    with pytest.raises(BadArgument, match=r"(?s)in transformers 5.*'deepseek_vl_v2'.*configs/server"):
        find_any(str(reconfigured(copy, model_type="deepseek_vl_v2")))


def test_attention_is_that_which_is_named_or_refused(copy):
    assert load(copy, attention="eager").config._attn_implementation == "eager"
    assert load(copy).config._attn_implementation == "sdpa"
    with pytest.raises(BadArgument, match=r"attention='?flash_attention_2'?: expected an implementation that"):
        load(copy, attention="flash_attention_2")


def test_a_missing_tensor_is_refused(copy):
    with pytest.raises(WeightsMismatch, match=rf"missing: [\w.]*{PROJECTOR}; unexpected: none"):
        load(rewritten(copy, lambda tensors, name: tensors.pop(name)))


def test_a_tensor_left_over_is_refused(copy):
    with pytest.raises(WeightsMismatch, match=r"missing: none; unexpected: [\w.]*linear_9.bias"):
        load(rewritten(copy, lambda t, name: t.update({name.replace("linear_1", "linear_9"): t[name].clone()})))


def test_a_tensor_of_another_shape_is_refused(copy):
    with pytest.raises(WeightsMismatch, match=rf"missing: [\w.]*{PROJECTOR}; unexpected: none"):
        load(rewritten(copy, lambda tensors, name: tensors.update({name: tensors[name][:-1].clone()})))
