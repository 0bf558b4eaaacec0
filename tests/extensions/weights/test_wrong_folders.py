"""Folders that cannot be converted: each is refused with its reason and with what to do, and nothing is written."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.extensions.weights.convert import convert
from tests import published
from tests.tiny import base


@pytest.fixture
def med(tmp_path: Path) -> Path:
    """A LLaVA-Med 1.5, whose tower is inside."""
    torch.manual_seed(0)
    published.write_llava_med_1_5(tmp_path / "llava-med")
    return tmp_path / "llava-med"


def set_to(folder: Path, **values: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def without(folder: Path, *patterns: str) -> None:
    for pattern in patterns:
        for file in folder.glob(pattern):
            file.unlink()


def rewrite(folder: Path, change: Callable[[dict], None]) -> None:
    file = sorted(folder.glob("*.safetensors"))[0]
    tensors = load_file(file)
    change(tensors)
    file.unlink()
    save_file(tensors, file, metadata={"format": "pt"})


class Evil:
    def __reduce__(self):
        return (print, ("run",))


def pickled(folder: Path) -> None:
    without(folder, "*.safetensors*")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}))


def vila(folder: Path) -> None:
    (folder / "llm").mkdir()
    (folder / "config.json").write_text('{"model_type": "llava_llama"}')


NORM = "model.norm.weight"
WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda f: without(f, "config.json"), r"no config\.json\nNext: name the folder of a checkpoint"),
    "config cut off": (lambda f: (f / "config.json").write_text('{"a'), r"JSON file of .*\nNext: copy the checkpoint"),
    "an adapter": (lambda f: (f / "adapter_config.json").write_text("{}"), r"adapters .*\nNext: merge them"),
    "VILA": (vila, r"VILA's layout.*\nNext: run VILA's own server"),
    "another code": (
        lambda f: (f / "config.json").write_text('{"model_type": "qwen"}'),
        r"model_type 'qwen'\) is none of LLaVA 1\.0.*\nNext: run it with its own code",
    ),
    "no weights": (lambda f: without(f, "*.safetensors"), r"no weights .*\nNext: fetch them"),
    "a missing shard": (lambda f: without(f, "*00002-of-00002.safetensors"), r"missing: model-00002.*\nNext: fetch"),
    "a cut shard": (
        lambda f: sorted(f.glob("*.safetensors"))[0].write_bytes(b"\0" * 99),
        r"cannot be read as tensors alone .*\nNext: fetch the file again",
    ),
    "code in a pickle": (pickled, r"cannot be read as tensors alone .*\nNext: .*pickled code is never run"),
    "quantised": (lambda f: set_to(f, quantization_config={"bits": 4}), r"quantised .*\nNext: name the checkpoint in"),
    "integers": (
        lambda f: rewrite(f, lambda t: t.update({k: v.to(torch.int8) for k, v in t.items() if "q_proj" in k})),
        r"of the type I8: quantised weights.*\nNext",
    ),
    "a stranger": (
        lambda f: rewrite(f, lambda t: t.update({"model.resampler.weight": torch.ones(2)})),
        r"no rule of LLaVA 1\.5.* matches: model\.resampler\.weight\nNext",
    ),
    "a missing tensor": (
        lambda f: rewrite(f, lambda t: t.pop("model.layers.0.mlp.gate_proj.weight")),
        r"missing: language_model\.model\.layers\.0\.mlp\.gate_proj\.weight\nNext",
    ),
    "another size": (
        lambda f: set_to(f, intermediate_size=64),
        r"of another shape than config\.json states: .*gate_proj\.weight \[48, 32\], expected \[64, 32\].*\nNext",
    ),
    "a resampler": (
        lambda f: set_to(f, mm_resampler_type="perceiver"),
        r"mm_resampler_type: unknown settings, which are not of LLaVA's code\nNext",
    ),
    "a deeper projector": (lambda f: set_to(f, mm_projector_type="mlp3x_gelu"), r"mlp3x_gelu.*\nNext"),
    "Yi-VL": (
        lambda f: set_to(f, mm_projector_type="mlp2x_gelu_Norm"),
        r"mlp2x_gelu_Norm.*\nNext: run it with the code",
    ),
    "MPT": (lambda f: set_to(f, model_type="llava_mpt"), r"model_type 'llava_mpt'; known are llava, .*\nNext"),
    "no layer": (lambda f: set_to(f, mm_vision_select_layer=None), r"no mm_vision_select_layer.*\nNext"),
    "an unknown tower": (
        lambda f: set_to(f, mm_vision_tower="laion/CLIP-ViT-H-14"),
        r"of 'laion/CLIP-ViT-H-14' are unknown\nNext: `python -m lmod_train weights convert .* --tower TOWER`",
    ),
    "no tokenizer": (lambda f: without(f, "tokenizer.model"), r"no tokenizer .*\nNext: fetch the tokenizer's files"),
    "a broken tokenizer": (
        lambda f: (f / "tokenizer.model").write_bytes(b"<html>404</html>"),
        r"not a SentencePiece vocabulary\nNext: fetch the file again",
    ),
    "other ids": (
        lambda f: (f / "added_tokens.json").write_text('{"<pad>": 900}'),
        r"'<pad>' should have the id 900 and would have \d+\nNext: put the tokenizer\.json",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_folder_is_refused_with_its_cure_and_nothing_is_left(name, med, tmp_path):
    spoil, setting = WRONG[name]
    spoil(med)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(LmodError, match=setting):
        convert(med, tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_checkpoint_of_transformers_is_used_as_it_is(tmp_path):
    with pytest.raises(LmodError, match=r"already in the layout of transformers\nNext: .*model\.init_args\.checkpoint"):
        convert(base(), tmp_path / "out")


def test_a_missing_tower_is_asked_for_with_the_command(tmp_path):
    published.write_llava_1_5(tmp_path / "llava")
    setting = (
        r"no vision tower, only its name .*\nNext: `hf download openai/clip-vit-large-patch14-336 .*convert .*--tower"
    )
    with pytest.raises(LmodError, match=setting):
        convert(tmp_path / "llava", tmp_path / "out")


def test_a_folder_that_is_no_tower_is_refused(tmp_path):
    published.write_llava_1_5(tmp_path / "llava")
    with pytest.raises(
        LmodError, match=r"expected a CLIP vision tower; .* 'llava'\nNext: name the folder of the tower"
    ):
        convert(tmp_path / "llava", tmp_path / "out", base())
    with pytest.raises(LmodError, match=r"no weights"):
        convert(tmp_path / "llava", tmp_path / "out", tmp_path / "nowhere")


def test_a_folder_that_holds_something_is_not_written_to(med, tmp_path):
    with pytest.raises(BadArgument, match=r"--out=.*a new or empty folder"):
        convert(med, med)


def test_an_unknown_template_is_refused_with_the_known_ones(med, tmp_path):
    with pytest.raises(BadArgument, match=r"--template='vicuna'.*llava_v0, .*vicuna_v1"):
        convert(med, tmp_path / "out", template="vicuna")


INTERNVL: dict[str, tuple[dict[str, object], str]] = {
    "transposed": ({"ps_version": "v1"}, "ps_version v1"),
    "padded": ({"pad2square": True}, "pad2square"),
    "no overview": ({"use_thumbnail": False}, "tiles without an overview"),
    "adapters": ({"use_llm_lora": 16}, "adapters"),
    "another template": ({"template": "phi3-chat"}, "template 'phi3-chat'"),
    "another size": ({"force_image_size": 448}, "force_image_size 448"),
}


@pytest.mark.parametrize("name", INTERNVL)
def test_settings_of_internvl_that_transformers_does_not_compute_are_refused(name, tmp_path):
    published.write_internvl(tmp_path / "a")
    values, setting = INTERNVL[name]
    set_to(tmp_path / "a", **values)
    with pytest.raises(LmodError, match=rf"config\.json has .*{setting}.*\nNext: "):
        convert(tmp_path / "a", tmp_path / "out")


def test_a_language_model_that_is_not_known_and_a_tower_too_many_are_refused(tmp_path):
    published.write_internvl(tmp_path / "a", "Phi3ForCausalLM")
    with pytest.raises(LmodError, match=r"the language model Phi3ForCausalLM; known are InternLM2"):
        convert(tmp_path / "a", tmp_path / "out")
    with pytest.raises(LmodError, match=r"--tower names a vision tower, but .*\nNext: leave out --tower"):
        convert(tmp_path / "a", tmp_path / "out", tmp_path)


def test_a_full_disk_leaves_nothing_half_written(med, tmp_path, monkeypatch):
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lmod_train.extensions.weights.convert.save_file", full)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(OSError, match="No space left"):
        convert(med, tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == before
