"""Any architecture of timm from a local file: its card, its features, and the files that are refused."""

import os

import pytest
import timm
import torch

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.models.vision.backbone import Backbone

VIT, CNN = Backbone("test_vit", image_size=160), Backbone("test_efficientnet", image_size=160)
TINY = {"vit": VIT, "cnn": CNN, "resnet": Backbone("test_resnet"), "convnext": Backbone("test_convnext")}


def tensors(name, seed=0, **options):
    """Tensors of a network of timm, with values that no new network has."""
    noise = torch.Generator().manual_seed(seed)
    own = timm.create_model(name, **options).state_dict()
    return {n: torch.rand(t.shape, generator=noise) + 0.1 if t.is_floating_point() else t for n, t in own.items()}


@pytest.fixture
def saved(tmp_path):
    def save(payload, name="weights.pth"):
        torch.save(payload, tmp_path / name)
        return str(tmp_path / name)

    return save


# -------------------------------------------------------------------------------------------------- a file that fits


@pytest.mark.parametrize("kind", TINY)
def test_features_are_those_of_timm_and_the_head_is_new(saved, kind):
    backbone = TINY[kind]
    torch.manual_seed(3)
    reference = timm.create_model(backbone.architecture).eval()
    file = saved(reference.state_dict())
    images = torch.randn(2, 3, backbone.image_size, backbone.image_size)
    if kind == "vit":
        reference.head = torch.nn.Identity()
    network = backbone.build(0)
    report = backbone.load(network, file)
    with torch.no_grad():
        found = network.eval()(images)
        expected = reference(images) if kind == "vit" else reference.forward_head(
            reference.forward_features(images), pre_logits=True
        )  # fmt: skip
    assert found.shape == (2, backbone.width) and (found - expected).abs().max() < 1e-5
    heads = {name for name in report.dropped if not name.startswith("norm")}
    assert len(heads) == 2 and report.notes[0] == "its head was dropped, a new one is trained"
    classifier = backbone.build(4, drop_path=0.1)
    assert set(backbone.load(classifier, file).fresh) == heads
    assert classifier.eval()(images).abs().max() < 0.1  # ln 4 nats at the start


def test_positions_of_another_size_are_resized(saved):
    small = Backbone("test_vit", image_size=64)
    report = small.load(small.build(0), saved(tensors("test_vit")))
    assert report.resized == ("pos_embed resized from 10x10 to 4x4",)


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("vit_base_patch16_224", 0.5, 0.5),
        ("vit_base_patch16_224.mae", 0.485, 0.229),
        ("tf_efficientnet_lite0", 0.5, 0.5),
        ("vit_base_patch32_clip_quickgelu_224", 0.48145466, 0.26862954),
    ],
)
def test_the_normalisation_is_that_of_the_card(name, mean, std):
    found = Backbone(name).normalisation
    assert (found[0][0], found[1][0]) == (mean, std)


def test_a_given_normalisation_replaces_the_card_s():
    fundus = Backbone("test_vit", mean=(0.42, 0.26, 0.13), std=(0.29, 0.2, 0.14))
    assert fundus.normalisation == ((0.42, 0.26, 0.13), (0.29, 0.2, 0.14))
    assert fundus.settings()["mean"] == [0.42, 0.26, 0.13] and fundus.settings() != VIT.settings()


def test_mean_pooling_of_a_class_token_s_network_has_a_new_norm(saved):
    backbone = Backbone("vit_tiny_patch16_224", pooling="mean", image_size=32)
    shape = {"img_size": 32}
    report = backbone.load(backbone.build(3), saved(tensors("vit_tiny_patch16_224", **shape)))
    assert set(report.fresh) == {"head.weight", "head.bias", "fc_norm.weight", "fc_norm.bias"}
    own = Backbone("test_vit2", image_size=64)  # pools the patches itself: its fc_norm is in its file
    report = own.load(own.build(3), saved(tensors("test_vit2")))
    assert ("fc_norm.weight" in report.loaded) == ("fc_norm.weight" in own.build(3).state_dict())


# --------------------------------------------------------------------------------------------- files that do not fit


class Intruder:
    def __reduce__(self):
        return os.mkdir, ("intruded",)


def half(own):
    return dict(list(own.items())[: len(own) // 2])


def other_patch():
    return tensors("test_vit", patch_size=8, img_size=80)


WRONG = {
    "other architecture": (lambda name: tensors("test_resnet"), WeightsMismatch, "no name in it is known|differ|is "),
    "half the keys": (lambda name: half(tensors(name)), WeightsMismatch, r"missing: \w+"),
    "decoder only": (
        lambda name: {"model": {"mask_token": torch.ones(1), "decoder_embed.weight": torch.ones(2, 2)}},
        WeightsMismatch,
        "only parts of pre-training",
    ),
    "optimizer state": (
        lambda name: {"optimizer": {"state": {0: {"step": 1}}, "param_groups": [{"lr": 0.1}]}},
        WeightsNotFound,
        "values that are not tensors: optimizer",
    ),
    "code": (lambda name: {"model": tensors(name), "args": Intruder()}, WeightsNotFound, r"asks for \w+\.mkdir"),
    "empty dictionary": (lambda name: {"model": {}}, WeightsNotFound, "contains no tensors"),
    "other width": (
        lambda name: tensors(name, embed_dim=128) if name == "test_vit" else tensors(name, channel_multiplier=2.0),
        WeightsMismatch,
        "which is|width is 128",
    ),
    "not finite": (
        lambda name: {n: t * float("nan") if t.is_floating_point() else t for n, t in tensors(name).items()},
        WeightsNotFound,
        "NaN or infinity",
    ),
}
RAW = {
    "web page": (b"<!DOCTYPE html>\n<html><body>Log in</body></html>", "a web page"),
    "empty file": (b"", "the file is empty"),
}


@pytest.mark.parametrize("backbone", [VIT, CNN], ids=["vit", "cnn"])
@pytest.mark.parametrize("case", [*WRONG, *RAW, "truncated", "other patch"])
def test_a_wrong_file_is_refused_and_changes_nothing(saved, tmp_path, monkeypatch, backbone, case):
    monkeypatch.chdir(tmp_path)
    if case in RAW:
        file, kind, message = str(tmp_path / "weights.pth"), WeightsNotFound, RAW[case][1]
        (tmp_path / "weights.pth").write_bytes(RAW[case][0])
    elif case == "truncated":
        file, kind, message = saved(tensors(backbone.architecture)), WeightsNotFound, "truncated"
        whole = (tmp_path / "weights.pth").read_bytes()
        (tmp_path / "weights.pth").write_bytes(whole[: len(whole) // 2])
    elif case == "other patch":
        file, kind, message = saved(other_patch()), WeightsMismatch, "side of a patch is 8|no name in it|differ"
    else:
        make, kind, message = WRONG[case]
        file = saved(make(backbone.architecture))
    network = backbone.build(3)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(kind, match=f"(?s)weights.pth.*({message})|({message}).*weights.pth") as raised:
        backbone.load(network, file)
    assert "\nNext: " in str(raised.value)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert not (tmp_path / "intruded").exists()


# ------------------------------------------------------------------------------------------------- wrong arguments


@pytest.mark.parametrize("weights", ["", "checkpoints/none.safetensors"])
def test_no_file_is_an_error_with_the_command_that_gets_one(weights):
    backbone = Backbone("test_vit")
    with pytest.raises(
        WeightsNotFound, match=r"not downloaded.*\nNext: run `hf download timm/test_vit\.r160_in1k model"
    ):
        backbone.load(backbone.build(2), weights)


def test_an_unknown_architecture_names_those_alike():
    with pytest.raises(BadArgument, match=r"(?s)architecture='vit_base_patch16_225'.*vit_base_patch16_224.*Next: list"):
        Backbone("vit_base_patch16_225")
    with pytest.raises(BadArgument, match=r"one of .*vit_base_patch16_224\.mae"):
        Backbone("vit_base_patch16_224.nonsense")
    with pytest.raises(BadArgument, match="three positive numbers"):
        Backbone("test_vit", std=(0.0, 0.2, 0.2))


def test_what_an_architecture_cannot_do_is_an_error():
    with pytest.raises(BadArgument, match=r"(?s)can be built with .*\nNext: leave pooling out"):
        Backbone("test_efficientnet", pooling="cls").build(2)
    with pytest.raises(BadArgument, match=r"image_size=33: expected a multiple of 16.*\nNext: set image_size: 32"):
        Backbone("test_vit", image_size=33).build(2)


def test_retfound_s_own_networks_have_imagenet_s_normalisation_and_the_settings_of_before():
    own = Backbone(size="tiny", image_size=32)
    assert own.normalisation == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)) and own.width == 64
    assert own.settings() == {"size": "tiny", "image_size": 32, "pooling": None, "family": "mae"}


@pytest.mark.parametrize("name", ["mean", "std"])
def test_other_colours_are_other_settings_of_retfound_too(name):
    own = Backbone(size="tiny", image_size=32)
    other = Backbone(size="tiny", image_size=32, **{name: (0.5, 0.4, 0.3)})
    assert other.settings()[name] == [0.5, 0.4, 0.3] and other.settings() != own.settings()
