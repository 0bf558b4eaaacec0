"""Checkpoints load whole or not at all."""

import json
import re
import shutil
import subprocess

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.models.chat.checkpoint import find, find_any, load
from lmod_train.models.chat.checkpoint_files import SETTINGS
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.plain_dialect import PlainDialect
from tests.models.chat.written_once import write_tiny as write_family
from tests.tiny import record

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
    with pytest.raises(
        WeightsNotFound, match=r"'nowhere/llava'.*\nNext: .*hf download.* convert FOLDER --out nowhere/llava`"
    ):
        find("nowhere/llava")


def test_missing_weights_of_a_shipped_config_are_fetched_by_one_whole_command(tmp_path):
    with pytest.raises(WeightsNotFound) as raised:
        find("checkpoints/llava-1.5-7b-hf")
    fetch = "`hf download llava-hf/llava-1.5-7b-hf --local-dir checkpoints/llava-1.5-7b-hf`"
    assert str(raised.value).endswith(f"Next: on a machine with access to the hub: {fetch}")
    place = tmp_path / "InternVL2-2B-hf"
    with pytest.raises(WeightsNotFound) as raised:
        find(str(place))
    original = tmp_path / "InternVL2-2B"
    convert = f"`python -m lmod_train weights convert {original} --out {place}`"
    assert str(raised.value).endswith(f"`hf download OpenGVLab/InternVL2-2B --local-dir {original}`, then {convert}")


def test_a_checkpoint_inside_the_named_folder_is_pointed_at(copy):
    with pytest.raises(WeightsNotFound, match=rf"in one inside\nNext: name as the checkpoint `{copy}`"):
        find(str(copy.parent))


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


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def emptied(file):
    file.write_bytes(b"")


def pointed(file):
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 9\n")


@pytest.mark.parametrize("name", ["model.safetensors", *SETTINGS])
@pytest.mark.parametrize("damage", [cut, emptied, pointed])
def test_a_damaged_file_is_named_before_anything_is_loaded(copy, name, damage):
    """A broken generation_config.json would otherwise be left out by transformers, and its end tokens with it."""
    (copy / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model.safetensors"}}')
    if not (copy / name).is_file():
        (copy / name).write_text('{"a": {"b": 1}}')
    find_any(str(copy))
    damage(copy / name)
    with pytest.raises(WeightsNotFound, match=rf"{re.escape(name)} cannot be read \(.*\nNext: fetch {re.escape(name)}"):
        find_any(str(copy))


def test_parts_without_their_index_are_no_weights(copy):
    (copy / "model.safetensors").rename(copy / "model-00001-of-00002.safetensors")
    with pytest.raises(WeightsNotFound, match=r"(?s)weights are missing.*Next: .*index"):
        load(find_any(str(copy)))


@pytest.mark.parametrize("of", [Dialect, PlainDialect])
@pytest.mark.parametrize("pattern", ["*process*", "token*"])
def test_missing_files_of_the_processor_are_an_error_with_a_cure(copy, of, pattern):
    for file in copy.glob(pattern):
        file.unlink()
    with pytest.raises(WeightsMismatch, match=r"(?s)processor and tokenizer.*\nNext: copy the files"):
        of(copy)


@pytest.mark.parametrize("template", ["{% for m in", "{{ raise_exception('no question') }}"])
def test_a_template_that_raises_is_an_error_with_a_cure(copy, template):
    (copy / "chat_template.jinja").write_text(template)
    with pytest.raises(WeightsMismatch, match=r"a question .it raises Template"):
        Dialect(copy)
    plain = PlainDialect(copy)
    for ask in (lambda: plain.probes(["?"], Image.new("RGB", (9, 9))), lambda: plain([record()], copy)):
        Image.new("RGB", (9, 9)).save(copy / "eye.png")
        with pytest.raises(WeightsMismatch, match=r"(?s)a question .it raises Template.*\nNext: .*prompt.template"):
            ask()


def test_a_processor_of_another_class_is_refused(tmp_path):
    folder = reconfigured(write_family(tmp_path, "qwen2_5_vl"), model_type="llava")
    for of in (Dialect, PlainDialect):
        with pytest.raises(WeightsMismatch, match=r"(?s)Qwen2_5_VLProcessor.*\nNext: use the config.json"):
            of(folder)


def indexed(folder, *names):
    """Write an index in which the files hold the weights in turn."""
    tensors = list(load_file(folder / "model.safetensors"))
    weight_map = {tensor: names[i % len(names)] for i, tensor in enumerate(tensors)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def sharded(folder):
    """Divide the weights into two shards with an index."""
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    indexed(folder, *names)
    tensors = load_file(folder / "model.safetensors")
    listed = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    for name in names:
        own = {tensor: value for tensor, value in tensors.items() if listed[tensor] == name}
        save_file(own, folder / name, metadata={"format": "pt"})
    (folder / "model.safetensors").unlink()


def test_shards_with_their_index_load_but_not_beside_the_weights_of_another_download(copy, tiny):
    sharded(copy)
    state = load(find(str(copy))).state_dict()
    assert all(torch.equal(value, state[name]) for name, value in load(tiny).state_dict().items())
    shutil.copy(tiny / "model.safetensors", copy)
    for finding in (find, find_any):
        with pytest.raises(BadArgument, match=r"would load model\.safetensors and leave out the 2 files") as told:
            finding(str(copy))
    subprocess.run(re.search(r"`(rm .*?)`", str(told.value))[1], shell=True, check=True)
    assert find(str(copy))


def test_an_index_that_leads_out_of_its_folder_is_refused(copy, tiny):
    indexed(copy, "../elsewhere.safetensors")
    with pytest.raises(BadArgument, match=r"names files in its folder; .* names '\.\./elsewhere"):
        find(str(copy))
    indexed(copy, "model.safetensors")
    assert find(str(copy))


def test_an_adapter_beside_a_base_is_refused_as_transformers_would_add_it(copy):
    (copy / "adapter_config.json").write_text("{}")
    for finding in (find, find_any):
        with pytest.raises(BadArgument, match=r"adapter_config\.json .* in silence.*\nNext: .*--ckpt_path"):
            finding(str(copy))


@pytest.mark.parametrize("nested", [False, True])
def test_a_configuration_of_quantised_weights_over_plain_ones_is_refused(copy, nested):
    stated = {"quantization_config": {"quant_method": "fp8"}}
    text = json.loads((copy / "config.json").read_text())["text_config"]
    reconfigured(copy, **({"text_config": text | stated} if nested else stated))
    with pytest.raises(BadArgument, match=r"as config\.json states \(fp8\); all tensors are F32"):
        find(str(copy))


def test_quantised_weights_without_their_configuration_are_refused(copy):
    rewritten(copy, lambda tensors, name: tensors.update({name: tensors[name].to(torch.float8_e4m3fn)}))
    with pytest.raises(BadArgument, match="states no quantization_config"):
        find(str(copy))


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e30])
def test_impossible_values_are_refused_before_a_network_is_made(copy, value):
    rewritten(copy, lambda tensors, name: tensors[name.replace("bias", "weight")].view(-1)[5:6].fill_(value))
    with pytest.raises(WeightsNotFound, match=r"1 of \d+ tensors hold NaN, .*linear_1.weight"):
        load(copy)
