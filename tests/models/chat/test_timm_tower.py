"""A network of timm as a tower: its tokens are timm's own map, and every path of the conversation agrees about it."""

import functools
import json
from copy import deepcopy
from types import SimpleNamespace

import pytest
import timm
import torch
from safetensors.torch import load_file, save_file

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.extensions.weights.merging import merge
from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.timm_tower import READ_BY, TimmTokens, TimmTokensConfig, check, shape_of
from lmod_train.models.chat.tower_features import TowerFeatures
from lmod_train.models.modules.conversation import VisionLanguageModel
from tests import forks
from tests.behind_timm import ARCHITECTURE, SIDE, TOKENS, WIDTH, network, write_behind
from tests.models.chat.reference import generated, loss_of_transformers
from tests.models.chat.test_generation_families import RECORDS
from tests.tiny import record, write_curated

NEW = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_behind(tmp_path_factory.mktemp("behind"))


@pytest.fixture(scope="module")
def behind(folder):
    return SimpleNamespace(model_type="llava", network=checkpoint.load(folder).eval(), dialect=Dialect(folder))


@functools.cache
def own(architecture=ARCHITECTURE):
    """The network of timm, for tests that do not change it."""
    return network(architecture)


def tower(architecture=ARCHITECTURE, side=SIDE, width=WIDTH):
    made = TimmTokens(TimmTokensConfig(architecture=architecture, image_size=side, hidden_size=width))
    made.network.load_state_dict(own(architecture).state_dict())
    return made.eval()


def noise(n=3, side=SIDE):
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("architecture", "side"),
    [(ARCHITECTURE, 96), pytest.param(ARCHITECTURE, 224, marks=pytest.mark.slow), ("test_byobnet", 160)],
)
def test_the_mean_of_the_tokens_is_the_pooled_feature_of_timm_and_each_a_place_of_its_map(architecture, side):
    made, theirs = tower(architecture, side), own(architecture)
    with torch.no_grad():
        out, pooled, places = made(noise(2, side)), theirs(noise(2, side)), theirs.forward_features(noise(2, side))
    tokens = out.last_hidden_state
    assert tokens.shape == (2, (side // 32) ** 2, WIDTH) and out.hidden_states[-1] is tokens
    torch.testing.assert_close(tokens.mean(1), pooled, rtol=0, atol=1e-5)
    assert pooled.std() > 0.05, "features that are all alike prove nothing"
    for row in range(side // 32):
        for column in range(side // 32):
            place = tokens[:, row * (side // 32) + column]
            torch.testing.assert_close(place, places[:, :, row, column], rtol=0, atol=1e-5)


def test_the_default_is_the_shape_of_efficientnet_lite0():
    given = TimmTokensConfig().to_dict()
    check(given)
    assert shape_of("tf_efficientnet_lite0", 224) == (given["hidden_size"], given["patch_size"]) == (1280, 32)


def test_batch_norm_keeps_its_statistics_in_training_mode_and_in_copies():
    made = tower()
    with torch.no_grad():
        truth = made(noise()).last_hidden_state
    before = {name: value.clone() for name, value in made.named_buffers()}
    for one in (made.train(), deepcopy(made).train()):
        assert one.training and torch.equal(one(noise()).last_hidden_state.detach(), truth)
        assert all(torch.equal(value, before[name]) for name, value in one.named_buffers()) and before


def test_a_folder_is_opened_by_the_ordinary_path(behind, eyes):
    behind.dialect.verify(behind.network.config)
    batch = behind.dialect([record(image=["a.png"])], eyes)
    encoded = encode(behind.network, batch.images)
    assert encoded.tokens == batch.images.tokens == [TOKENS]
    saved = own().state_dict()
    loaded = behind.network.model.vision_tower.network.state_dict()
    assert saved.keys() == loaded.keys() and all(torch.equal(saved[n], loaded[n]) for n in saved)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_an_implementation_of_attention_may_be_named_though_the_tower_has_none(folder, attention):
    assert checkpoint.load(folder, attention=attention).config._attn_implementation == attention


@pytest.mark.parametrize("size", [1, 8])
def test_replies_are_those_of_plain_generate_alone_and_in_batches(behind, eyes, size):
    expected = [generated(behind, eyes, one, NEW) for one in RECORDS]
    words = [behind.dialect.tokenizer.decode(new, skip_special_tokens=True).strip() for _, new in expected]
    found = []
    for at in range(0, len(RECORDS), size):
        batch = behind.dialect(RECORDS[at : at + size], eyes)
        assert batch.prompt_ids == [old for old, _ in expected[at : at + size]]
        found += [r.reply for r in respond(behind.network, behind.dialect, batch, Decoding(NEW), "tiny")]
    assert found == words and len({*found}) >= len(RECORDS) - 1


def test_likelihoods_do_not_depend_on_the_batch(behind, eyes):
    asked = [r for r in RECORDS if r.choices]
    each = Decoding(1, likelihoods="sum")
    together = respond(behind.network, behind.dialect, behind.dialect(asked, eyes), each, "tiny")
    for one, other in zip(asked, together, strict=True):
        (alone,) = respond(behind.network, behind.dialect, behind.dialect([one], eyes), each, "tiny")
        assert alone.likelihoods.keys() == set(one.choices)
        assert other.likelihoods == pytest.approx(alone.likelihoods, abs=1e-3)


def module(folder, **options):
    made = VisionLanguageModel(
        str(folder), **{"lora": None, "tune_language_model": True, "max_new_tokens": NEW} | options
    )
    made.configure_model()
    return made


@pytest.mark.parametrize("shared", [True, False])
def test_the_loss_is_that_of_transformers_with_shared_prefix_or_without(folder, eyes, shared):
    tuned = module(folder, shared_prefix=shared)
    asked = [r for r in RECORDS if r.image]
    truth = torch.stack([loss_of_transformers(tuned, eyes, one) for one in asked]).mean()
    torch.testing.assert_close(tuned.loss(tuned.dialect(asked, eyes)), truth, rtol=1e-5, atol=1e-5)


def test_stored_features_give_the_same_replies_and_losses_and_the_tower_is_spared(folder, eyes, tmp_path):
    plain = module(folder)
    batch = plain.dialect(RECORDS, eyes)
    replies, loss = [r.reply for r in plain.eval().respond(batch)], plain.loss(batch).detach()
    for computed in (2, 0):
        kept = module(folder, tower_features=tmp_path)
        torch.testing.assert_close(kept.eval().loss(batch).detach(), loss, rtol=0, atol=0)  # stores what it computes
        assert [r.reply for r in kept.respond(batch)] == replies
        features = kept.network.model.vision_tower.forward
        assert isinstance(features, TowerFeatures) and features.computed == computed and features.found


@pytest.mark.parametrize(
    ("lora", "tune_tower"),
    [
        (None, True),
        (Lora(2, 4, 0.0), False),
        pytest.param(None, False, marks=pytest.mark.slow),
        pytest.param(Lora(2, 4, 0.0), True, marks=pytest.mark.slow),
    ],
)
def test_a_merged_folder_replies_as_the_tuned_model(folder, tmp_path, lora, tune_tower):
    tuned = module(folder, lora=lora, tune_language_model=lora is None, tune_tower=tune_tower)
    curated = write_curated(tmp_path / "curated", RECORDS, side=90)
    batch = tuned.collate(RECORDS, curated)
    untuned = [r.reply for r in tuned.eval().respond(batch)]
    step(tuned, batch)
    saved = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(saved)
    torch.save(saved, tmp_path / "last.ckpt")
    merge(tmp_path / "last.ckpt", tmp_path / "merged")
    assert READ_BY in (tmp_path / "merged" / "README.md").read_text(encoding="utf-8")
    merged = Dialect(checkpoint.find(str(tmp_path / "merged")))
    ours = respond(
        checkpoint.load(tmp_path / "merged").eval(), merged, merged(RECORDS, curated), Decoding(NEW), "merged"
    )
    expected = [r.reply for r in tuned.eval().respond(batch)]
    assert [r.reply for r in ours] == expected != untuned
    theirs, own = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "merged"))
    moved = {name for name in own if "vision_tower" in name and not torch.equal(own[name], theirs[name])}
    assert bool(moved) == tune_tower and not any("running" in name for name in moved)


def step(tuned, batch):
    """One step of plain gradient descent that is large enough to change replies."""
    tuned.train()
    tuned.loss(batch).backward()
    with torch.no_grad():
        for parameter in tuned.parameters():
            if parameter.grad is not None:
                parameter -= 0.05 * parameter.grad.sign()


def test_stored_features_are_refused_for_a_tower_that_is_trained(folder, tmp_path):
    with pytest.raises(BadArgument, match="tune_tower to false"):
        module(folder, tune_tower=True, tower_features=tmp_path)


def test_names_of_servers_are_refused_as_no_server_reads_the_tower(folder, tmp_path):
    tuned = module(folder)
    saved = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(saved)
    torch.save(saved, tmp_path / "last.ckpt")
    with pytest.raises(BadArgument, match="--names transformers"):
        merge(tmp_path / "last.ckpt", tmp_path / "merged", names="server")
    assert not (tmp_path / "merged").exists()


def changed(folder, out, **vision):
    """A copy of a checkpoint with other values in its vision_config."""
    out.mkdir()
    for file in folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config["vision_config"] |= vision
    (out / "config.json").write_text(json.dumps(config))
    return out


WRONG = [
    ({"architecture": "efficientnet_lite00"}, "network of timm"),
    ({"architecture": "hf-hub:timm/resnet18.a1_in1k"}, "network of timm"),
    ({"architecture": "local-dir:/nowhere"}, "network of timm"),
    ({"architecture": None}, "network of timm"),
    ({"architecture": "test_vit"}, "convolutional"),
    ({"architecture": "swin_tiny_patch4_window7_224"}, "convolutional"),
    ({"hidden_size": 255}, "expected 256"),
    ({"hidden_size": "256"}, "whole number"),
    ({"patch_size": 16}, "expected 32"),
    ({"image_size": 100}, "expected 25"),
    ({"image_size": 0}, "whole number"),
    ({"num_hidden_layers": 2}, "expected 0"),
]


@pytest.mark.parametrize(("vision", "told"), WRONG, ids=lambda v: str(v))
def test_a_configuration_of_no_such_tower_is_refused_by_every_reader(folder, tmp_path, vision, told):
    wrong = changed(folder, tmp_path / "wrong", **vision)
    for read in (Dialect, checkpoint.load):
        with pytest.raises(BadArgument, match=told) as refusal:
            read(wrong)
        assert "Next: " in str(refusal.value) and "vision_config." in str(refusal.value)


@pytest.mark.parametrize("lost", ["vision_tower.network.conv_stem.weight", "vision_tower.network.bn1.running_var"])
def test_a_tensor_that_is_missing_is_named(folder, tmp_path, lost):
    broken = changed(folder, tmp_path / "broken")
    tensors = load_file(folder / "model.safetensors")
    tensors = {name: tensor for name, tensor in tensors.items() if not name.endswith(lost)}
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    with pytest.raises(WeightsMismatch, match=lost):
        checkpoint.load(broken)


def test_another_architecture_of_the_same_shape_does_not_take_the_weights(folder, tmp_path):
    other = changed(folder, tmp_path / "other", architecture="test_byobnet")
    with pytest.raises(WeightsMismatch, match="missing"):
        checkpoint.load(other)


def test_code_in_a_folder_is_not_run(folder, tmp_path):
    hostile = changed(folder, tmp_path / "hostile", auto_map={"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"})
    (hostile / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    Dialect(hostile), checkpoint.load(hostile)
    assert not (tmp_path / "ran").exists()


def test_it_is_registered_when_a_folder_names_it_and_not_before(folder, tiny, tmp_path):
    code = f"""
from pathlib import Path
from transformers import CONFIG_MAPPING
import lmod_train.models.chat.timm_tower
from lmod_train.models.chat.checkpoint import config_of
seen = ["timm_tokens" in CONFIG_MAPPING]
for folder in ({str(tiny)!r}, {str(folder)!r}, {str(folder)!r}):
    config_of(Path(folder))
    seen.append("timm_tokens" in CONFIG_MAPPING)
assert seen == [False, False, True, True], seen
"""
    ended = forks.run(["-c", code], tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_timm_would_take_an_address_that_is_refused_here():
    assert not timm.is_model("hf-hub:timm/resnet18.a1_in1k")
    with pytest.raises(BadArgument):
        shape_of("hf-hub:timm/resnet18.a1_in1k", 224)


@pytest.mark.parametrize("architecture", ["resnetblur18", "coatnet_pico_rw_224"])
def test_a_network_with_tensors_that_no_file_holds_is_refused(architecture):
    with pytest.raises(BadArgument, match="tensors are all saved; no file holds "):
        shape_of(architecture, 224)
