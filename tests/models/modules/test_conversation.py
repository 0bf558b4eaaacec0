"""Instruction tuning against by-hand losses of transformers, and what is trained, saved and loaded again."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.plugins import HalfPrecision
from peft import PeftModel
from PIL import Image
from safetensors.torch import load_file

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.weights.merging import merge
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.base_files import processor_files
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.family import MODEL_TYPES, family_class
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.templates import template_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.tasks.glaucoma import Glaucoma
from tests.models.chat import written_once
from tests.tiny import record, trainer, write_curated, write_tiny

RECORDS = [
    record("glaucoma/p/0", "Does this eye have glaucoma?", ["a.png"], "NON-GLAUCOMA"),
    record("glaucoma/p/1", "Glaucoma?", ["b.png"], "GLAUCOMA; Explanation: a large cup and a thin rim below."),
    record("glaucoma/p/2", "What is in the picture that I show you?", ["a.png"], "An eye.", split="val"),
    record("glaucoma/p/3", "What is an optic disc?", [], "Where the nerve leaves."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_curated(tmp_path_factory.mktemp("curated"), RECORDS, side=40)


def conversation(tiny, lora=Lora(4, 8, 0.0), **options):
    torch.manual_seed(1)
    module = VisionLanguageModel(str(tiny), lora, max_new_tokens=6, **options)
    module.configure_model()
    module.log = lambda *a, **k: None
    return module.eval()


def stirred(module):
    """Give everything trained other values, as training would."""
    torch.manual_seed(2)
    with torch.no_grad():
        for p in module.parameters():
            if p.requires_grad:
                p += 0.1 * torch.randn_like(p)
    return module


def loss(module, folder, records):
    return module.training_step(module.collate(records, folder), 0)


def replies(module, folder):
    return [r.reply for r in module.respond(module.collate(RECORDS, folder))]


def trained(module):
    return {n for n, p in module.named_parameters() if p.requires_grad}


def test_it_is_built_ready_to_train_with_the_tower_at_rest(tiny):
    module = VisionLanguageModel(str(tiny), Lora(4, 8, 0.1))
    module.configure_model()
    resting = {n for n, m in module.named_modules() if not m.training}
    assert resting and all("vision_tower" in n for n in resting)
    assert all("vision_tower" not in n or n in resting for n, _ in module.named_modules())


def test_adapters_are_inside_the_language_model_and_the_tower_is_frozen(tiny):
    module = conversation(tiny)
    adapters = {n for n, _ in module.named_parameters() if "lora_" in n}
    # 2 layers of 7 linear maps, two matrices each
    assert len(adapters) == 28 and all(".language_model." in n for n in adapters)
    projector = {n for n in trained(module) if "multi_modal_projector" in n}
    assert len(projector) == 4
    assert trained(module) == adapters | projector
    assert all(p.dtype == torch.float32 for p in module.parameters() if p.requires_grad)


@pytest.mark.parametrize(("tower", "count"), [(False, 4), (True, 4 + 37)])
def test_without_adapters_the_projector_is_trained_alone_or_with_the_tower(tiny, tower, count):
    names = trained(conversation(tiny, None, tune_tower=tower))
    assert len(names) == count
    assert all("multi_modal_projector" in n or (tower and "vision_tower" in n) for n in names)


def by_hand(tiny, module, folder, one):
    """Return transformers' own loss of one record, labels set from the text of the whole conversation."""
    network, processor = load(tiny).eval(), module.collate.processor
    turns = [{"role": m.role, "content": [{"type": p.type, "text": p.text} for p in m.parts]} for m in one.messages]
    prompt = processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    images = [Image.open(folder / one.image[0])] if one.image else None
    inputs = processor(text=prompt, images=images, return_tensors="pt", add_special_tokens=False)
    answer = processor.tokenizer(one.answer + "</s>", add_special_tokens=False, return_tensors="pt").input_ids
    ids = torch.cat([inputs.pop("input_ids"), answer], 1)
    labels = ids.clone()
    labels[:, : -answer.shape[1]] = -100
    inputs.pop("attention_mask")
    with torch.no_grad():
        return network(input_ids=ids, labels=labels, **inputs).loss.item()


def test_the_loss_is_that_of_transformers_and_every_record_weighs_the_same(tiny, folder):
    module = conversation(tiny)
    alone = [by_hand(tiny, module, folder, r) for r in RECORDS]
    assert len({round(value, 3) for value in alone}) == len(RECORDS)
    for one, expected in zip(RECORDS, alone, strict=True):
        assert loss(module, folder, [one]).item() == pytest.approx(expected, abs=1e-4)
    assert loss(module, folder, RECORDS).item() == pytest.approx(np.mean(alone), abs=1e-4)


def test_questions_about_one_image_share_a_sequence_with_the_same_loss(tiny, folder):
    shapes, losses = [], []
    for shared in (True, False):
        module = conversation(tiny, shared_prefix=shared)
        hook = {"with_kwargs": True}
        module.network.register_forward_pre_hook(lambda _, a, given: shapes.append(len(given["input_ids"])), **hook)
        losses.append(loss(module, folder, RECORDS).item())
    assert shapes == [3, 4], "two questions share the first image"
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_it_says_once_that_questions_cannot_share(tiny, folder):
    module = conversation(tiny)
    module.network.config.get_text_config()._attn_implementation_internal = "no_masks"
    with pytest.warns(UserWarning, match="no_masks takes no mask.*sequence of its own"):
        assert not module._shares
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not module._shares


def test_a_batch_of_text_or_of_nothing_gives_all_that_learns_a_gradient(tiny, folder):
    module = stirred(conversation(tiny, max_tokens=60))
    assert not module.collate(RECORDS[3:], folder).images
    for records, learns in ((RECORDS[3:], True), (RECORDS[:3], False)):  # an image alone has 100 tokens
        module.zero_grad()
        value = loss(module, folder, records)
        value.backward()
        assert (value.item() > 0) == learns
        assert {n for n, p in module.named_parameters() if p.grad is not None} == trained(module)


def test_kept_features_are_refused_where_zero_3_will_cut_the_tower(tiny, tmp_path):
    """A rank that finds its images would not run the tower, while the others wait for its share."""
    module = VisionLanguageModel(str(tiny), Lora(4, 8, 0.0), tower_features=tmp_path)
    module._trainer = SimpleNamespace(strategy=SimpleNamespace(zero_stage_3=True))
    with pytest.raises(BadArgument, match=r"(?s)tower_features.*ZeRO-2"):
        module.configure_model()
    assert module.model is None


def test_the_prompt_of_training_and_replies_follows_the_options_and_is_saved(tiny, folder, tmp_path):
    bare = conversation(tiny)
    module = conversation(tiny, prompt=Prompting(template="mistral_instruct", system_prompt="Reply in one word."))
    batch = module.collate(RECORDS[:1], folder)
    expected = "<s>[INST] <<SYS>>\nReply in one word.\n<</SYS>>\n\n<image>\nDoes this eye have glaucoma? [/INST]"
    assert batch.rendered == [expected] and module.identity() != bare.identity()
    assert loss(module, folder, RECORDS[:1]) != loss(bare, folder, RECORDS[:1])
    files = {}
    module.on_save_checkpoint(files)
    assert files["files"]["chat_template.jinja"].decode() == template_of("mistral_instruct")
    saved = {}
    bare.on_save_checkpoint(saved)
    assert saved["files"] == processor_files(tiny), "unchanged, byte by byte"


def test_limits_of_pictures_are_saved(folder, tmp_path):
    base = written_once.write_tiny(tmp_path, "qwen2_5_vl")
    module = VisionLanguageModel(str(base), images=Pictures(min_pixels=64 * 64))
    module.configure_model()
    checkpoint = {"state_dict": module.state_dict(), "global_step": 1}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    merge(tmp_path / "last.ckpt", tmp_path / "merged")
    dialects = module.collate, Dialect(tmp_path / "merged"), Dialect(base)
    tuned, merged, bare = (len(dialect(RECORDS[:1], folder).prompt_ids[0]) for dialect in dialects)
    assert tuned == merged > bare


@pytest.mark.parametrize("attention", ["eager", "flex_attention"])
def test_attention_is_computed_as_configured(tiny, folder, attention):
    usual, module = conversation(tiny), conversation(tiny, attention=attention)
    assert module.network.config.get_text_config()._attn_implementation == attention
    assert module.identity() != usual.identity()
    if attention == "eager":  # FlexAttention is compiled for minutes here, and has no gradients on a CPU
        assert loss(module, folder, RECORDS).item() == pytest.approx(loss(usual, folder, RECORDS).item(), rel=1e-5)
        assert replies(module, folder) == replies(usual, folder)


def test_a_limit_that_holds_no_record_is_refused(tiny):
    with pytest.raises(BadArgument, match=r"max_tokens=1: expected at least 2"):
        VisionLanguageModel(str(tiny), max_tokens=1)


def test_records_that_are_too_long_are_counted_and_listed_once(tiny, folder, tmp_path):
    module = VisionLanguageModel(str(tiny), Lora(4, 8, 0.0), max_tokens=60)
    quick = trainer(tmp_path, max_epochs=2, limit_val_batches=0)
    with pytest.warns(UserWarning, match="left out of training"):
        quick.fit(module, datamodule=RecordsDataModule(folder, [Glaucoma()], batch_size=3))
    assert quick.callback_metrics["train/too_long"] == 2
    lines = (tmp_path / "too_long" / "rank-0.csv").read_text().splitlines()
    assert sorted(line.split(",")[0] for line in lines) == ["glaucoma/p/0", "glaucoma/p/1", "id"]


def test_a_record_with_an_image_word_costs_itself_and_is_listed(tiny, tmp_path):
    module = VisionLanguageModel(str(tiny), Lora(4, 8, 0.0))
    wrong = replace(RECORDS[1], answer=f"{module.dialect.processor.image_token} {RECORDS[1].answer}")
    folder = write_curated(tmp_path / "curated", [RECORDS[0], wrong, *RECORDS[2:]], side=40)
    quick = trainer(tmp_path / "run", max_epochs=2, limit_val_batches=0)
    with pytest.warns(UserWarning, match="cannot be trained on"):
        quick.fit(module, datamodule=RecordsDataModule(folder, [Glaucoma()], batch_size=1))
    assert quick.callback_metrics["train/refused"] == 1
    lines = (tmp_path / "run" / "refused" / "rank-0.csv").read_text().splitlines()
    assert len(lines) == 2 and lines[1].startswith(f"{wrong.id},its answer must not contain")


@pytest.mark.parametrize("checkpointing", [False, True])
def test_gradients_reach_adapters_and_projector_and_nothing_else(tiny, folder, checkpointing):
    module = stirred(conversation(tiny, gradient_checkpointing=checkpointing))
    module.train(), module.network.model.vision_tower.eval()
    layers = []
    for part in (module.network.model.language_model, module.network.model.vision_tower):
        norm, name = next(m for m in part.modules() if "norm" in type(m).__name__.lower()), type(part).__name__
        norm.register_forward_hook(lambda *a, name=name: layers.append(name))
    loss(module, folder, RECORDS).backward()
    assert layers == ["CLIPVisionModel", "LlamaModel", *["LlamaModel"] * checkpointing], "once more where recomputed"
    reached = {n for n, p in module.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert reached == trained(module)
    assert not [n for n, p in module.named_parameters() if not p.requires_grad and p.grad is not None]


def test_the_tower_learns_where_it_is_asked_to_and_is_in_the_adapter_file(tiny, folder):
    module = stirred(conversation(tiny, tune_tower=True)).train()
    loss(module, folder, RECORDS).backward()
    tower = {n for n, p in module.named_parameters() if "vision_tower" in n and p.grad is not None and p.grad.any()}
    assert tower and tower <= trained(module) and all("modules_to_save" in n for n in tower)


def test_a_checkpoint_holds_what_is_trained_and_gives_the_same_replies(tiny, folder):
    tuned = stirred(conversation(tiny))
    checkpoint = {"state_dict": tuned.state_dict(), "global_step": 7}
    assert set(checkpoint["state_dict"]) == trained(tuned)
    fresh = conversation(tiny)
    assert replies(fresh, folder) != replies(tuned, folder)
    fresh.on_load_checkpoint(checkpoint)
    fresh.load_state_dict(checkpoint["state_dict"], strict=fresh.strict_loading)
    assert replies(fresh, folder) == replies(tuned, folder)
    assert {r.step for r in fresh.respond(fresh.collate(RECORDS, folder))} == {7}


@pytest.mark.parametrize("other", [Lora(8, 8, 0.0), None])
def test_the_checkpoint_of_another_configuration_is_refused(tiny, other):
    checkpoint = {"state_dict": conversation(tiny, other).state_dict(), "global_step": 7}
    with pytest.raises(WeightsMismatch, match=r"(?s)ckpt_path.*missing: model.*config\.yaml in its run folder"):
        conversation(tiny).on_load_checkpoint(checkpoint)


def test_adapters_of_another_scale_are_refused_and_another_dropout_is_not(tiny):
    checkpoint = {"state_dict": conversation(tiny).state_dict(), "global_step": 7}
    conversation(tiny).on_save_checkpoint(checkpoint)
    conversation(tiny, Lora(4, 8, 0.5)).on_load_checkpoint(checkpoint)
    with pytest.raises(WeightsMismatch, match=r"(?s)rank 4 and alpha 64.*rank 4 and alpha 8.*config\.yaml"):
        conversation(tiny, Lora(4, 64, 0.0)).on_load_checkpoint(checkpoint)


def test_a_checkpoint_whose_weights_the_strategy_has_loaded_gives_its_step(tiny):
    module = conversation(tiny)
    module.on_load_checkpoint({"global_step": 9})
    assert module.step == 9


def test_low_precision_weights_train_and_answer_without_mixed_precision(tiny, folder):
    half = conversation(tiny, dtype="bfloat16")
    value = loss(half.train(), folder, RECORDS)
    value.backward()
    assert value.item() == pytest.approx(loss(conversation(tiny), folder, RECORDS).item(), rel=0.05)
    assert len(replies(half.eval(), folder)) == len(RECORDS)


def test_all_in_low_precision_as_the_trainer_converts_it(tiny, folder):
    half = conversation(tiny)
    HalfPrecision("bf16-true").convert_module(half)
    assert {p.dtype for p in half.parameters()} == {torch.bfloat16}
    expected = loss(conversation(tiny), folder, RECORDS).item()
    assert loss(half, folder, RECORDS).item() == pytest.approx(expected, rel=0.05)
    assert len(replies(half, folder)) == len(RECORDS)


def test_a_missing_checkpoint_is_refused_before_anything_is_built():
    with pytest.raises(WeightsNotFound, match="no/such/folder"):
        VisionLanguageModel("no/such/folder")


class Watch(Callback):
    """Notes the loss of each step and the groups of the optimiser; raises before the step that it is told."""

    def __init__(self, kill_at=None):
        self.losses, self.kill_at, self.groups = [], kill_at, []

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == self.kill_at:
            raise KilledError
        self.groups = [
            (g["initial_lr"], g["weight_decay"], len(g["params"]), {p.ndim for p in g["params"]})
            for g in trainer.optimizers[0].param_groups
        ]

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))


class KilledError(Exception): ...


@pytest.fixture(scope="module")
def fitted(tiny, folder, tmp_path_factory):
    """Train with dropout, once undisturbed and once killed and resumed; return folder, module and what was watched."""

    def run(place, watch, **options):
        module = VisionLanguageModel(str(tiny), Lora(4, 8, 0.5), Optimisation(1e-2, 1e-3, 0.1), max_new_tokens=6)
        saved = ModelCheckpoint(place, save_last=True, every_n_train_steps=1, save_top_k=1)
        torch.manual_seed(3)
        quick = trainer(place, max_epochs=2, callbacks=[watch, saved], enable_checkpointing=True, limit_val_batches=0)
        quick.fit(module, datamodule=RecordsDataModule(folder, [Glaucoma()], batch_size=1), **options)
        return module

    place, steady, killed, resumed = tmp_path_factory.mktemp("run"), Watch(), Watch(4), Watch()
    module = run(place / "steady", steady)
    with pytest.raises(KilledError):
        run(place / "killed", killed)
    run(place / "killed", resumed, ckpt_path=place / "killed" / "last.ckpt", weights_only=True)
    return place, module, steady, killed, resumed


def test_a_resumed_training_draws_the_same_dropout(fitted):
    _, _, steady, killed, resumed = fitted
    assert len(steady.losses) == 6 and len(set(steady.losses)) == 6
    assert killed.losses + resumed.losses == steady.losses


def test_adapters_and_projector_have_rates_of_their_own_and_vectors_are_not_decayed(fitted):
    groups = fitted[2].groups
    assert sorted(groups) == [(1e-3, 0.0, 2, {1}), (1e-3, 0.1, 2, {2}), (1e-2, 0.1, 28, {2})]


def test_the_adapter_folder_is_one_that_peft_loads(tiny, folder, fitted):
    place, module, *_ = fitted
    module.eval()
    adapter = place / "steady" / "checkpoints" / "adapter"
    loaded = PeftModel.from_pretrained(load(tiny), adapter).eval().get_base_model()
    batch = module.collate(RECORDS, folder)
    theirs = [r.reply for r in respond(loaded, module.collate, batch, Decoding(6), "peft")]
    assert theirs == replies(module, folder)
    told = "".join(file.read_text() for file in adapter.iterdir() if file.suffix in (".json", ".md", ".jinja"))
    assert str(tiny) not in told and f'"base_model_name_or_path": "{tiny.name}"' in told
    assert theirs != [r.reply for r in respond(load(tiny).eval(), module.collate, batch, Decoding(6), "base")]


QUICKLY = [("answer", 2, 3), ("answer", 5, 1), ("token", 1, 2), ("token", 2, 3)]


@pytest.mark.parametrize(
    ("over", "size", "accumulated"),
    [
        pytest.param(over, *steps, marks=[] if (over, *steps) in QUICKLY else pytest.mark.slow)
        for over in ("answer", "token")
        for steps in ((1, 2), (2, 3), (2, 2), (5, 1))
    ],
)
def test_a_step_has_the_gradient_of_one_batch_that_holds_all_it_accumulates(tiny, tmp_path, over, size, accumulated):
    """Seven records: the last step of an epoch accumulates fewer batches, and its last batch is smaller."""
    words = ["No.", "A large cup and a thin rim below, as is often seen.", "Stage 3"]
    asked = [record(f"glaucoma/p/{i}", f"Glaucoma {i}?", [f"{i % 3}.png"], words[i % 3], choices=()) for i in range(7)]
    curated = write_curated(tmp_path, asked, side=40)
    steps = []

    class Watch(Callback):
        """Keeps what each step accumulated, and its gradient."""

        def __init__(self):
            self.held = []

        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            self.held += batch.records

        def on_before_optimizer_step(self, trainer, module, optimizer):
            steps.append((self.held, {n: p.grad.clone() for n, p in module.named_parameters() if p.requires_grad}))
            self.held = []

    module = VisionLanguageModel(str(tiny), Lora(4, 8, 0.0), Optimisation(0.0, 0.0), loss_over=over)
    data = RecordsDataModule(curated, [Glaucoma()], batch_size=size, max_questions=2)
    trainer(
        tmp_path / "run",
        max_epochs=1,
        accumulate_grad_batches=accumulated,
        limit_val_batches=0,
        callbacks=[Watch()],
    ).fit(module, datamodule=data)
    assert sorted(r.id for held, _ in steps for r in held) == sorted(r.id for r in asked)
    for held, gradients in steps:
        module.zero_grad()
        module.loss(module.collate(held, curated)).backward()
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("lora", [Lora(4, 8, 0.0), Lora(8, 8, 0.0)])
def test_a_checkpoint_of_another_base_is_refused_by_that_name_whether_its_tensors_fit_or_not(tiny, tmp_path, lora):
    module = conversation(tiny)
    checkpoint = {"state_dict": module.state_dict(), "global_step": 3}
    module.on_save_checkpoint(checkpoint)
    conversation(tiny).on_load_checkpoint(dict(checkpoint))
    other = conversation(write_tiny(tmp_path, seed=1), lora)
    with pytest.raises(
        WeightsMismatch, match=r"(?s)tuned from another base: .*, fingerprint .*, this is .*--base PATH"
    ):
        other.on_load_checkpoint(dict(checkpoint))


@pytest.mark.parametrize("model_type", [t for t in MODEL_TYPES if family_class(t).projector_parameters])
def test_the_newline_of_llava_next_learns_and_is_saved_with_its_projector(folder, tmp_path, model_type):
    (tmp_path / "base").mkdir()
    module = conversation(written_once.write_tiny(tmp_path / "base", model_type))
    newline = next(p for n, p in module.named_parameters() if n.endswith("image_newline"))
    assert newline.requires_grad and any(n.endswith("image_newline") for n in module.state_dict())
    stirred(module)
    loss(module, folder, RECORDS).backward()
    assert newline.grad is not None and newline.grad.any()
    module._trainer = SimpleNamespace(is_global_zero=True, default_root_dir=tmp_path)
    module.on_train_end()
    (held,) = load_file(tmp_path / "checkpoints" / "adapter" / "image_newline.safetensors").values()
    assert torch.equal(held, newline.detach())
