"""Options of peft: each reaches it, and a checkpoint, an adapter folder and a merged model reply as the tuned one."""

from dataclasses import MISSING, asdict, fields
from types import SimpleNamespace

import pytest
import torch
from peft import LoraConfig, LoraRuntimeConfig, PeftModel, get_peft_model
from torch.nn.functional import cross_entropy

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.extensions.weights.merging import merge
from lmod_train.models.chat.adapters import OURS, REFUSED, Lora, trainable
from lmod_train.models.chat.answer_loss import batch_loss
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.training.doctor.recipe import adapters, steps
from lmod_train.training.doctor.weights import over_the_edge, spectra
from tests.families import MODEL_TYPES
from tests.models.chat.written_once import write_tiny
from tests.tiny import record, write_curated

BASE = SHIPPED / "small_base"

ASKED = [
    record("1", "Does this eye have glaucoma?", ["a.png"], "NON-GLAUCOMA"),
    record("2", "What is an optic disc?", [], "Where the nerve leaves."),
]

PATTERNS = {"rank_pattern": {"q_proj": 2}, "alpha_pattern": {"v_proj": 32}}

OPTIONS = {
    "dora": {"use_dora": True},
    "pissa": {"init_lora_weights": "pissa_niter_4", "use_rslora": True, **PATTERNS},
    "embedding": {"target_modules": ["embed_tokens", "q_proj"], "exclude_modules": r".*vision.*"},
    "rslora": {"use_rslora": True},
    "patterns": PATTERNS,
    "exact pissa with dora": {"init_lora_weights": "pissa", "use_dora": True},
    "olora": {"init_lora_weights": "olora"},
    "gaussian": {"init_lora_weights": "gaussian"},
    "random": {"init_lora_weights": False},
    "orthogonal": {"init_lora_weights": "orthogonal"},
    "head": {"modules_to_save": ["lm_head"]},
    "words": {"modules_to_save": ["embed_tokens"]},
    "some words": {"trainable_token_indices": [3, 4]},
    "excluded": {"exclude_modules": r".*\.layers\.0\..*"},
    "one layer": {"target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": "layers"},
    "biases": {"bias": "all"},
    "quantised groups": {"use_qalora": True, "qalora_group_size": 4},
    "singular values": {"kasa_config": {}},
    "blocks": {"use_bdlora": {"target_modules_bd_a": ["q_proj"], "nblocks": 2, "match_strict": False}},
    "subspace": {"velora_config": {}},
}
QUICK = ("dora", "pissa", "embedding")

VALUES = {
    "layers_to_transform": [0],
    "layers_pattern": "layers",
    "loftq_config": {"loftq_bits": 2},
    "task_type": "CAUSAL_LM",
    "kasa_config": {"beta": 0.5},
    "velora_config": {},
    "use_bdlora": {"nblocks": 3},
    "runtime_config": {"ephemeral_gpu_offload": True},
    "init_lora_weights": "olora",
    "target_parameters": ["a.b"],
    "bias": "all",
    "lora_ga_config": {"stable_gamma": 3},
    "eva_config": {"tau": 0.5},
    "corda_config": {"verbose": True},
}
"""Option -> a value that is not its default, where it is none of its type by the rule of `other_than`."""


def other_than(one):
    """Return a value of an option of peft that is not its default."""
    if one.name in VALUES:
        return VALUES[one.name]
    default = one.default if one.default is not MISSING else one.default_factory()
    made = {bool: lambda v: not v, int: lambda v: v + 3, float: lambda v: v + 0.25, dict: lambda v: {"q_proj": 5}}
    return made.get(type(default), lambda _: {"a": 1} if one.name.endswith("mapping") else ["a"])(default)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", [f for f in fields(LoraConfig) if f.name != "peft_type"], ids=lambda f: f.name)
def test_every_field_of_peft_reaches_it_or_is_refused_by_name(one):
    value = other_than(one)
    if one.name in OURS or one.name in REFUSED:
        with pytest.raises(BadArgument, match=rf"lora\.peft\.{one.name}"):
            Lora(peft={one.name: value})
        return
    beside = {"target_modules": ["q_proj"]} if "layers" in one.name else {}
    beside |= {"layers_to_transform": [0]} if one.name == "layers_pattern" else {}
    made = getattr(Lora(peft={one.name: value, **beside}).config(), one.name)
    expected = getattr(LoraConfig(**{one.name: value, **beside}), one.name)
    if one.name == "runtime_config":
        expected = LoraRuntimeConfig(ephemeral_gpu_offload=True)
    assert made == expected != getattr(LoraConfig(), one.name)


def test_short_names_reach_peft_too():
    made = Lora(3, 7, 0.25).config()
    assert (made.r, made.lora_alpha, made.lora_dropout) == (3, 7, 0.25)


@pytest.mark.parametrize(
    ("peft", "said"),
    [
        ({"use_dorra": True}, "use_dora"),
        ({"r": 4}, r"lora\.rank"),
        ({"init_lora_weights": "eva"}, "activations"),
        ({"use_dora": True, "lora_bias": True}, "not supported for DoRA"),
    ],
)
def test_what_peft_does_not_take_is_refused_with_the_cure(peft, said):
    with pytest.raises(BadArgument, match=said):
        Lora(peft=peft)


def test_adapters_that_cannot_be_merged_are_refused_before_the_training(tiny):
    with pytest.raises(BadArgument, match=r"lora_bias.*14 of 14 layers"):
        trainable(load(tiny), Lora(2, 4, 0.0, peft={"lora_bias": True}))
    tied = load(tiny)
    tied.lm_head.weight = tied.get_input_embeddings().weight
    with pytest.raises(BadArgument, match="modules_to_save"):
        trainable(tied, Lora(2, 4, 0.0, peft={"target_modules": ["embed_tokens"]}))


@pytest.fixture(scope="module")
def curated(tmp_path_factory):
    return write_curated(tmp_path_factory.mktemp("curated"), ASKED, side=40)


def module_of(base, lora):
    module = VisionLanguageModel(str(base), lora, max_new_tokens=6)
    module.configure_model()
    return module.eval()


def stirred(module):
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter += 0.1 * torch.randn_like(parameter)
    return module


def answers(network, dialect, curated):
    """Return replies and loss of a network."""
    batch = dialect(ASKED, curated)
    loss = batch_loss(network, batch, dialect.tokenizer.pad_token_id, 2048, shared_prefix=True)
    return [r.reply for r in respond(network, dialect, batch, Decoding(6), "any")], loss.item()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "lora",
    [
        Lora(4, 8, 0.0, tower=True),
        *(
            pytest.param(Lora(4, 8, 0.0, peft=options), marks=[] if name in QUICK else pytest.mark.slow, id=name)
            for name, options in OPTIONS.items()
        ),
    ],
)
def test_checkpoint_adapter_folder_and_merged_model_reply_as_the_tuned_one(tiny, tmp_path, curated, lora):
    torch.manual_seed(1)
    tuned = stirred(module_of(tiny, lora))
    replies, loss = answers(tuned.network, tuned.dialect, curated)
    assert answers(load(tiny).eval(), tuned.dialect, curated)[0] != replies

    checkpoint = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    torch.manual_seed(5)
    again = module_of(tiny, lora)
    again.on_load_checkpoint(checkpoint)
    again.load_state_dict(checkpoint["state_dict"], strict=False)
    assert answers(again.network, again.dialect, curated) == (replies, loss)

    tuned._trainer = SimpleNamespace(default_root_dir=tmp_path, is_global_zero=True)
    tuned.on_train_end()
    torch.manual_seed(6)
    read = PeftModel.from_pretrained(load(tiny), tmp_path / "checkpoints" / "adapter").eval()
    found, as_read = answers(read.get_base_model(), tuned.dialect, curated)
    assert found == replies and as_read == pytest.approx(loss, abs=1e-4)

    merge(tmp_path / "last.ckpt", tmp_path / "merged")
    found, merged = answers(load(tmp_path / "merged").eval(), Dialect(tmp_path / "merged"), curated)
    assert found == replies and merged == pytest.approx(loss, abs=1e-4)


def test_a_checkpoint_of_other_options_is_refused_by_name(tiny):
    tuned = module_of(tiny, Lora(4, 8, 0.0, peft={"init_lora_weights": "pissa"}))
    checkpoint = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(checkpoint)
    with pytest.raises(WeightsMismatch, match="init_lora_weights='pissa'"):
        module_of(tiny, Lora(4, 8, 0.0)).on_load_checkpoint(checkpoint)
    module_of(tiny, Lora(4, 8, 0.5, peft={"init_lora_weights": "pissa", "use_dora": False})).on_load_checkpoint(
        checkpoint
    )


def test_doras_gradients_are_those_of_pefts_own_model(tiny):
    """Loss and gradients of the same tokens, by our adapters and by peft alone."""
    ids = torch.tensor([[5, 9, 3, 7, 2, 8]])

    def gradients(model):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.copy_(torch.linspace(-0.1, 0.1, parameter.numel()).view_as(parameter))
                if "lora_A" in name:
                    parameter.copy_(torch.linspace(0.1, -0.2, parameter.numel()).view_as(parameter))
        logits = model(input_ids=ids).logits[0, :-1]
        cross_entropy(logits, ids[0, 1:]).backward()
        return {n: p.grad for n, p in model.named_parameters() if p.grad is not None and "lora_" in n}

    ours = gradients(trainable(load(tiny), Lora(2, 4, 0.0, peft={"use_dora": True})))
    own = load(tiny)
    config = LoraConfig(
        r=2, lora_alpha=4, use_dora=True, target_modules=r".*\.language_model\..*\.(\w+_proj)", lora_dropout=0.0
    )
    theirs = gradients(get_peft_model(own, config))
    assert ours.keys() == theirs.keys() and len(ours) == 14 * 3
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert any("magnitude" in name and grad.abs().sum() > 0 for name, grad in ours.items())


@pytest.mark.parametrize(
    "model_type", [m if m in ("llava", "qwen3_vl") else pytest.param(m, marks=pytest.mark.slow) for m in MODEL_TYPES]
)
def test_all_adapters_of_the_tower_learn_in_every_family(tmp_path, curated, model_type):
    module = stirred(module_of(write_tiny(tmp_path, model_type), Lora(2, 4, 0.0, tower=True)))
    family = family_of(module.network)
    module.loss(module.collate(ASKED, curated)).backward()
    learns = {n: p.grad for n, p in module.named_parameters() if p.requires_grad}
    tower = {n for n in learns if family.part(n) == "tower"}
    assert tower and all("lora_" in n for n in tower)
    assert all(grad is not None and grad.abs().sum() > 0 for name, grad in learns.items() if name in tower)


def test_tower_projector_and_language_model_learn_at_rates_of_their_own(tiny):
    def rates(lora, tune_tower, **given):
        module = VisionLanguageModel(
            str(tiny), lora, Optimisation(lr=1e-3, projector_lr=1e-4, **given), tune_tower=tune_tower
        )
        module.configure_model()
        made, _ = module.optimiser(10)
        rate = {id(p): group["initial_lr"] for group in made.param_groups for p in group["params"]}
        part = family_of(module.network).part
        return {part(n): rate[id(p)] for n, p in module.named_parameters() if p.requires_grad}

    usual = {"language_model": 1e-3, "projector": 1e-4}
    assert rates(Lora(2, 4, tower=True), False) == usual | {"tower": 1e-3}
    assert rates(Lora(2, 4, tower=True), False, tower_lr=1e-5) == usual | {"tower": 1e-5}
    assert rates(Lora(2, 4), True) == usual | {"tower": 1e-4}
    assert rates(Lora(2, 4), True, tower_lr=1e-5) == usual | {"tower": 1e-5}
    with pytest.raises(BadArgument, match="tune_tower"):
        rates(Lora(2, 4, tower=True), True)


def test_the_doctor_knows_the_scale_of_each_option():
    stable = {"rank": 64, "alpha": 16, "peft": {"use_rslora": True}}
    assert not list(adapters(stable))
    assert [r.what for r in adapters(stable | {"alpha": 1600})] == ["lora: alpha 1600 / root of rank 64 = 200"]
    patterned = {"rank": 64, "alpha": 16, "peft": {"alpha_pattern": {"q_proj": 6400}}}
    assert [r.what for r in adapters(patterned)] == ["lora: alpha 6400 / rank 64 = 100 in q_proj"]
    rate = {"optimisation": {"lr": 3e-3, "projector_lr": 2e-5}}
    assert [r.what for r in steps({"lora": stable | {"alpha": 128}, **rate})] == [
        "lr=0.003 for adapters: alpha x root of rank 1024 x rate = 3.1"
    ]
    assert not list(steps({"lora": asdict(Lora(64, 128)), **rate}))


def test_the_doctor_sees_what_pissa_took_out_of_a_matrix():
    """Without it the rest of each matrix has smaller singular values than any block."""
    plain, moved = (
        spectra(trainable(load(BASE), Lora(32, 32, 0.0, peft=options)).get_base_model())["language_model"]
        for options in ({}, {"init_lora_weights": "pissa"})
    )
    assert plain == pytest.approx(moved, rel=1e-3)
    left = trainable(load(BASE), Lora(32, 32, 0.0, peft={"init_lora_weights": "pissa"})).get_base_model()
    rests = [over_the_edge(p) for n, p in left.named_parameters() if n.endswith("q_proj.base_layer.weight")]
    assert max(rests) < min(plain.values())
