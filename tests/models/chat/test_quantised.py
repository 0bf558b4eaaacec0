"""Bases in 4 and 8 bits: what is quantised, tuning end to end, merging, zero-shot, and what is refused."""

from types import SimpleNamespace

import bitsandbytes
import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.weights import commands
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.answer_loss import batch_loss
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.models.strategies.sharding_fsdp import FullyShard
from lmod_train.training.doctor.weights import spectra
from tests.models.chat.quick import few
from tests.models.chat.written_once import write_other, write_tiny
from tests.tiny import record, write_curated

BASE = SHIPPED / "small_base"

ASKED = [
    record("1", "Does this eye have glaucoma?", ["a.png"], "NON-GLAUCOMA"),
    record("2", "What is an optic disc?", [], "Where the nerve leaves the eye."),
]


@pytest.fixture(scope="module")
def curated(tmp_path_factory):
    return write_curated(tmp_path_factory.mktemp("curated"), ASKED, side=64)


def answers(network, dialect, curated):
    """Return replies and loss of a network."""
    batch = dialect(ASKED, curated)
    with torch.no_grad():
        loss = batch_loss(network, batch, dialect.tokenizer.pad_token_id, 2048, shared_prefix=True)
    return [r.reply for r in respond(network, dialect, batch, Decoding(8), "any")], loss.item()


@torch.no_grad()
def dequantised(base):
    """Return a network in float32 with the values that NF4 has for its quantised matrices, by bitsandbytes itself."""
    whole, packed = load(base), load(base, quantise="nf4")
    for name, part in packed.named_modules():
        if isinstance(part, bitsandbytes.nn.Linear4bit):
            values = bitsandbytes.functional.dequantize_4bit(part.weight.data, part.weight.quant_state)
            whole.get_submodule(name).weight.copy_(values)
    return whole.eval()


@pytest.mark.parametrize("model_type", few(("llava", "qwen3_vl")))
def test_the_language_models_matrices_are_quantised_twice_and_nothing_else(tmp_path, model_type):
    network = load(write_tiny(tmp_path, model_type), quantise="nf4")
    part = family_of(network).part
    linear = {n: m for n, m in network.named_modules() if isinstance(m, torch.nn.Linear)}
    packed = {n for n, m in linear.items() if isinstance(m, bitsandbytes.nn.Linear4bit)}
    assert packed == {n for n in linear if part(n) == "language_model"}
    assert all(linear[n].weight.quant_state.nested and linear[n].weight.quant_state.quant_type == "nf4" for n in packed)
    assert {p.dtype for n, p in network.named_parameters() if n.removesuffix(".weight") not in packed} == {
        torch.float32
    }


def tuned(quantise, curated):
    """Return a module after some steps on two records, and the losses."""
    torch.manual_seed(0)
    rates = Optimisation(lr=1e-3, projector_lr=1e-3)
    module = VisionLanguageModel("small_base", Lora(8, 16, 0.0), rates, max_new_tokens=8, quantise=quantise)
    module.configure_model()
    batch, losses = module.collate(ASKED, curated), []
    made, _ = module.optimiser(20)
    for _ in range(8):
        for group in made.param_groups:
            group["lr"] = group["initial_lr"]
        loss = module.loss(batch)
        made.zero_grad()
        loss.backward()
        made.step()
        losses.append(loss.item())
    return module.eval(), losses


def saved(module, file):
    checkpoint = {"state_dict": module.state_dict(), "global_step": 8}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, file)
    return checkpoint


def with_adapters(base, checkpoint):
    """Return a base of full precision with the adapters of a checkpoint beside it."""
    model = trainable(base, Lora(8, 16, 0.0))
    model.load_state_dict({n.removeprefix("model."): t for n, t in checkpoint["state_dict"].items()}, strict=False)
    return model.get_base_model().eval()


@pytest.mark.slow  # 4 s
def test_qlora_learns_and_merges_into_the_rounded_or_the_published_weights(tmp_path, curated, capsys):
    module, losses = tuned("nf4", curated)
    assert losses[-1] < 0.6 * losses[0]
    checkpoint = saved(module, tmp_path / "last.ckpt")
    replies, loss = answers(module.network, module.dialect, curated)
    beside, exact = answers(with_adapters(dequantised(BASE), checkpoint), module.dialect, curated)
    assert replies == beside and loss == pytest.approx(exact, rel=1e-5)

    commands.merge(ckpt=tmp_path / "last.ckpt", out=tmp_path / "rounded", onto="quantised")
    assert "replies are those of the tuned model" in capsys.readouterr().out
    assert "in nf4 (merged here into the quantised weights)" in (tmp_path / "rounded" / "README.md").read_text()
    found, merged = answers(load(tmp_path / "rounded").eval(), Dialect(tmp_path / "rounded"), curated)
    assert found == replies and merged == pytest.approx(loss, rel=1e-5)

    commands.merge(ckpt=tmp_path / "last.ckpt", out=tmp_path / "published")
    assert "not those in nf4 that the model was tuned" in capsys.readouterr().out
    published = answers(load(tmp_path / "published").eval(), Dialect(tmp_path / "published"), curated)
    expected = answers(with_adapters(load(BASE), checkpoint), module.dialect, curated)
    assert published[0] == expected[0] and published[1] == pytest.approx(expected[1], rel=1e-5)
    assert abs(published[1] - loss) > 1e-3 * loss


def test_a_checkpoint_is_loaded_again_beside_the_same_values(tmp_path, curated):
    module, _ = tuned("nf4", curated)
    checkpoint = saved(module, tmp_path / "last.ckpt")
    expected = answers(module.network, module.dialect, curated)
    again = VisionLanguageModel("small_base", Lora(8, 16, 0.0), max_new_tokens=8, quantise="nf4")
    again.configure_model()
    again.on_load_checkpoint(checkpoint)
    again.load_state_dict(checkpoint["state_dict"], strict=False)
    assert answers(again.eval().network, again.dialect, curated) == expected
    other = VisionLanguageModel("small_base", Lora(8, 16, 0.0), max_new_tokens=8)
    other.configure_model()
    with pytest.warns(UserWarning, match="tuned with quantise=nf4, this is None"):
        other.on_load_checkpoint(checkpoint)


def test_in_8_bits_it_learns_and_merges(tmp_path, curated):
    """Its layers round their inputs too, so that no merged model has quite its loss."""
    module, losses = tuned("int8", curated)
    assert losses[-1] < 0.6 * losses[0]
    saved(module, tmp_path / "last.ckpt")
    replies, loss = answers(module.network, module.dialect, curated)
    commands.merge(ckpt=tmp_path / "last.ckpt", out=tmp_path / "merged", onto="quantised")
    found, merged = answers(load(tmp_path / "merged").eval(), Dialect(tmp_path / "merged"), curated)
    assert found == replies and merged == pytest.approx(loss, rel=0.02)


def test_doras_adapters_learn_beside_4_bits(curated):
    module = VisionLanguageModel("small_base", Lora(8, 16, 0.0, peft={"use_dora": True}), quantise="nf4")
    module.configure_model()
    module.loss(module.collate(ASKED, curated)).backward()
    magnitudes = [p.grad for n, p in module.named_parameters() if "magnitude" in n]
    assert len(magnitudes) == 28 and all(g is not None and g.abs().sum() > 0 for g in magnitudes)


def test_zero_shot_it_replies_as_its_values_in_full_precision_do(curated):
    backend = HuggingFace("small_base", max_new_tokens=8, quantise="nf4")
    backend.prepare("cpu")
    found = [r.reply for r in backend.respond(backend.collate(ASKED, curated))]
    assert found == answers(dequantised(BASE), backend.collate, curated)[0]


def test_the_identity_is_that_of_the_published_files_with_the_quantisation_beside():
    plain, packed = (HuggingFace("small_base", quantise=q).identity() for q in (None, "nf4"))
    assert plain.weights == packed.weights and plain.template == packed.template
    assert dict(packed.settings) == {**plain.settings, "quantise": '"nf4"'}
    module = VisionLanguageModel("small_base", quantise="int8")
    assert module.identity().settings["quantise"] == '"int8"'


def test_the_doctor_measures_quantised_matrices():
    whole, packed = (spectra(load(BASE, quantise=q)) for q in (None, "nf4"))
    assert whole["language_model"].keys() == packed["language_model"].keys()
    for block, edge in whole["language_model"].items():
        assert packed["language_model"][block] == pytest.approx(edge, rel=0.05)
    assert load(BASE, quantise="nf4").num_parameters() == load(BASE).num_parameters()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lora": None, "tune_language_model": True}, "tune_language_model trains the matrices"),
        ({"lora": Lora(peft={"init_lora_weights": "pissa"})}, "singular values"),
        ({"lora": Lora(peft={"kasa_config": {}})}, "singular values"),
    ],
)
def test_a_training_of_the_matrices_themselves_is_refused(options, said):
    with pytest.raises(BadArgument, match=said):
        VisionLanguageModel("small_base", quantise="nf4", **options)


def test_without_bitsandbytes_the_error_has_the_command(monkeypatch):
    monkeypatch.setattr("lmod_train.models.chat.checkpoint.find_spec", lambda name: None)
    with pytest.raises(BadArgument, match=r"pip install 'lmod-train\[quantise\]'"):
        load(BASE, quantise="nf4")


def test_a_strategy_that_shards_the_weights_is_refused():
    module = VisionLanguageModel("small_base", Lora(2, 4, 0.0), quantise="nf4")
    module._trainer = SimpleNamespace(strategy=FullyShard(process_group_backend="gloo"))
    with pytest.raises(BadArgument, match="this strategy shards the weights"):
        module.configure_model()


def test_of_an_unknown_family_all_but_the_head_is_quantised(tmp_path, curated):
    """ViP-LLaVA is none of the families here, so that `generate` of transformers answers."""
    backend = HuggingFace(str(write_other(tmp_path, "vipllava")), max_new_tokens=4, quantise="nf4")
    backend.prepare("cpu")
    network, _ = backend.opened()
    linear = {n: m for n, m in network.named_modules() if isinstance(m, torch.nn.Linear)}
    packed = {n for n, m in linear.items() if isinstance(m, bitsandbytes.nn.Linear4bit)}
    assert packed and "lm_head" in linear and "lm_head" not in packed
    assert len(backend.respond(backend.collate(ASKED[:1], curated))) == 1
