"""Deltas: made, noticed, and put together again to the bit."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from lmod_train.core.errors import BadArgument, LmodError, WeightsMismatch, WeightsNotFound
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.chat.delta import (
    DeltaSigns,
    apply_delta,
    language_name,
    make_delta,
    mean_gain,
    named_delta,
    next_token_entropy,
    tensors,
)

BASE = SHIPPED / "small_base"


def weights(folder):
    return {name: read() for name, read in tensors(folder)}


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    """A language model alone, in the shapes of the shipped base and with fewer words."""
    folder = tmp_path_factory.mktemp("language")
    text = json.loads((BASE / "config.json").read_text())["text_config"]
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**{**text, "vocab_size": text["vocab_size"] - 3})).half().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def delta(language, tmp_path_factory):
    out = tmp_path_factory.mktemp("deltas") / "small-delta"
    make_delta(BASE, language, out)
    return out


def test_a_delta_is_the_difference_of_the_language_models_and_nothing_else(delta, language):
    whole, base, made = weights(BASE), weights(language), weights(delta)
    assert made.keys() == whole.keys()
    touched = {n for n in made if not torch.equal(made[n], whole[n])}
    assert touched == {n for n in whole if n.startswith("language_model.")}
    rows = len(base["model.embed_tokens.weight"])
    embedding = "language_model.model.embed_tokens.weight"
    assert torch.equal(made[embedding][rows:], whole[embedding][rows:]), "rows beyond the base are kept whole"
    expected = whole[embedding][:rows].float() - base["model.embed_tokens.weight"].float()
    assert torch.allclose(made[embedding][:rows].float(), expected, atol=1e-3)


def test_it_is_put_together_again(delta, language, tmp_path):
    apply_delta(delta, language, tmp_path / "whole")
    whole, again = weights(BASE), weights(tmp_path / "whole")
    for name in whole:
        assert torch.allclose(whole[name].float(), again[name].float(), atol=2e-3, rtol=2e-3), name
    ids = torch.arange(4, 40)[None]
    assert torch.allclose(load(BASE)(input_ids=ids).logits, load(tmp_path / "whole")(input_ids=ids).logits, atol=0.2)


def test_a_delta_is_told_from_whole_weights_by_gains_and_by_entropy(tmp_path):
    """As the published one: the whole model a little away from its base."""
    tuned = tmp_path / "tuned"
    shutil.copytree(BASE, tuned)
    own = load_file(tuned / "model.safetensors")
    torch.manual_seed(0)
    moved = {n: (t.float() * (1 + 0.01 * torch.randn(t.shape))).half() for n, t in own.items()}
    save_file(moved, tuned / "model.safetensors", metadata={"format": "pt"})
    make_delta(tuned, BASE, tmp_path / "d")
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    signs = {
        folder.name: DeltaSigns(False, mean_gain(folder), next_token_entropy(load(folder), tokenizer))
        for folder in (tuned, tmp_path / "d")
    }
    assert not signs["tuned"].is_delta and signs["tuned"].gain > 0.2 and signs["tuned"].entropy < 0.9
    assert signs["d"].is_delta and abs(signs["d"].gain) < 0.02 and signs["d"].entropy > 0.99
    assert DeltaSigns(False, signs["d"].gain).is_delta and DeltaSigns(False, None, signs["d"].entropy).is_delta


def test_a_name_alone_counts_where_there_are_no_weights_to_weigh():
    assert named_delta("x/llava-med-7b-delta/") and not named_delta("delta/merged") and not named_delta("deltas-7b")
    assert DeltaSigns(True).is_delta and not DeltaSigns(True, 0.9).is_delta and not DeltaSigns(False).is_delta


def test_gains_that_are_stored_less_one_say_nothing(tmp_path):
    (tmp_path / "config.json").write_text('{"text_config": {"model_type": "gemma3_text"}}')
    save_file({"model.norm.weight": torch.zeros(4)}, tmp_path / "model.safetensors")
    assert mean_gain(tmp_path) is None


def test_a_base_that_does_not_belong_is_refused_and_nothing_is_left(delta, language, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    save_file({"model.norm.weight": torch.ones(3)}, other / "model.safetensors")
    with pytest.raises(WeightsMismatch, match=r"missing: .*embed_tokens"):
        apply_delta(delta, other, tmp_path / "out")
    save_file({"model.stranger.weight": torch.ones(3)}, other / "model.safetensors")
    with pytest.raises(WeightsMismatch, match="stranger"):
        apply_delta(delta, other, tmp_path / "out")
    narrow = {language_name(n): t for n, t in weights(language).items()}
    save_file(narrow | {"norm.weight": torch.ones(3)}, other / "model.safetensors")
    with pytest.raises(WeightsMismatch, match=r"\[192\].*\[3\]"):
        apply_delta(delta, other, tmp_path / "out")
    with pytest.raises(WeightsNotFound, match="no weights"):
        apply_delta(delta, tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(BadArgument, match="out="):
        apply_delta(delta, language, tmp_path / "other")
    assert not (tmp_path / "out").exists()


def test_a_sum_that_is_still_a_delta_is_refused(delta, tmp_path):
    apart = tmp_path / "apart"
    make_delta(delta, delta, apart)  # nothing but zeros
    with pytest.raises(LmodError, match=r"still looks like a delta.*\n.*Next"):
        apply_delta(apart, apart, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_whole_weights_are_no_delta_and_nothing_is_added_to_them(language, tmp_path):
    """The sum of two whole models has norms twice as large, and passes for a model."""
    with pytest.raises(LmodError, match=r"mean gain near 0 .* it is 0\.\d+, as in complete weights") as refused:
        apply_delta(BASE, language, tmp_path / "out")
    assert f"model.init_args.checkpoint {BASE}" in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_pickled_shards_of_the_original_layout(tmp_path):
    """LLaVA-Med v1.0 as it was published: flat names, two .bin shards and their index."""
    delta, base = tmp_path / "llava-med-7b-delta", tmp_path / "llama"
    delta.mkdir(), base.mkdir()
    torch.save({"model.norm.weight": torch.full((4,), 0.01)}, delta / "pytorch_model-1.bin")
    torch.save(
        {"model.embed_tokens.weight": torch.zeros(5, 4), "model.mm_projector.weight": torch.ones(4, 2)},
        delta / "pytorch_model-2.bin",
    )
    places = {"model.norm.weight": "pytorch_model-1.bin", "model.embed_tokens.weight": "pytorch_model-2.bin"}
    (delta / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": places}))
    (delta / "config.json").write_text('{"model_type": "llava"}')
    save_file(
        {"model.norm.weight": torch.ones(4), "model.embed_tokens.weight": torch.ones(3, 4)}, base / "model.safetensors"
    )
    apply_delta(delta, base, tmp_path / "whole")
    made = weights(tmp_path / "whole")
    assert made["model.norm.weight"].tolist() == pytest.approx([1.01] * 4)
    assert made["model.embed_tokens.weight"].sum(1).tolist() == [4, 4, 4, 0, 0]
    assert torch.equal(made["model.mm_projector.weight"], torch.ones(4, 2))
    index = json.loads((tmp_path / "whole" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == {"pytorch_model-1.safetensors", "pytorch_model-2.safetensors"}
    assert not list((tmp_path / "whole").glob("*.bin*"))


def test_the_head_of_a_base_that_ties_it_is_its_embedding(tmp_path):
    """It was subtracted so, as in memory both are one; left as it is, the head of the sum would be noise."""
    held = {"model.norm.weight": torch.ones(4), "model.embed_tokens.weight": torch.ones(3, 4)}
    for name, factor in {"base": 1.0, "delta": 0.01}.items():
        (tmp_path / name).mkdir()
        head = {"lm_head.weight": torch.full((3, 4), factor)} if name == "delta" else {}
        save_file({n: factor * t for n, t in held.items()} | head, tmp_path / name / "model.safetensors")
    apply_delta(tmp_path / "delta", tmp_path / "base", tmp_path / "whole")
    assert weights(tmp_path / "whole")["lm_head.weight"].unique().tolist() == pytest.approx([1.01])


@pytest.mark.parametrize("where", ["delta", "base", "both"])
def test_frequencies_that_early_versions_wrote_stand_in_nobodys_way(where, tmp_path):
    folders = {"delta": tmp_path / "delta", "base": tmp_path / "base"}
    for name, folder in folders.items():
        folder.mkdir()
        held = {"model.norm.weight": torch.full((4,), {"delta": 0.01, "base": 1.0}[name])}
        if where in (name, "both"):
            held["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.full((2,), {"delta": 0.0, "base": 0.5}[name])
        save_file(held, folder / "model-1.safetensors")
        places = {"weight_map": dict.fromkeys(held, "model-1.safetensors")}
        (folder / "model.safetensors.index.json").write_text(json.dumps(places))
        (folder / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "b.bin"}}')  # of files beside them
    apply_delta(folders["delta"], folders["base"], tmp_path / "whole")
    assert weights(tmp_path / "whole").keys() == {"model.norm.weight"}, "zeros would be taken for frequencies"
    index = json.loads((tmp_path / "whole" / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == {"model.norm.weight": "model-1.safetensors"}


def test_names_of_every_layout():
    assert language_name("model.language_model.embed_tokens.weight") == "embed_tokens.weight"
    assert language_name("language_model.lm_head.weight") == language_name("lm_head.weight") == "lm_head.weight"
    assert language_name("model.visual.blocks.0.norm1.weight") == ""
