"""The network is ViT-L/16 with RETFound's pooling, and its initial head predicts all classes equally."""

import math

import pytest
import timm
import torch
from torch import nn
from torch.nn import functional

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.published_weights import RELEASES
from lmod_train.models.vision.retfound import SIZES, initialise_head, vision_transformer


@pytest.fixture
def images():
    return torch.randn(6, 3, 64, 64, generator=torch.Generator().manual_seed(0))


def large(**options):
    with torch.device("meta"):
        return vision_transformer("large", **{"classes": 5, "image_size": 224} | options)


def shapes(model):
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def test_large_is_the_published_network():
    model, (width, depth) = large(), (1024, 24)
    block = 2 * 2 * width + (width + 1) * 3 * width + (width + 1) * width + (width + 1) * 4 * width
    block += (4 * width + 1) * width
    stem = width + 197 * width + (3 * 16 * 16 + 1) * width
    by_hand = stem + depth * block + 2 * width + (width + 1) * 5
    assert sum(p.numel() for p in model.parameters()) == by_hand == 303_306_757
    assert len(model.blocks) == 24 and {b.attn.num_heads for b in model.blocks} == {16}
    assert (model.fc_norm.eps, model.blocks[0].norm1.eps, model.blocks[23].norm2.eps) == (1e-6,) * 3
    assert isinstance(model.norm, nn.Identity) and model.blocks[0].attn.qkv.bias is not None


@pytest.mark.parametrize(
    ("family", "name", "pool"),
    [("mae", "vit_large_patch16_224", "avg"), ("dinov2", "vit_large_patch14_dinov2", "token")],
)
def test_large_has_the_names_and_shapes_of_timm_s_own(family, name, pool):
    with torch.device("meta"):
        theirs = timm.create_model(name, num_classes=3, global_pool=pool, img_size=224)
    assert shapes(large(classes=3, family=family)) == shapes(theirs)


def test_the_layer_scale_of_dinov2_and_its_pooling():
    model = vision_transformer("tiny", 2, image_size=56, family="dinov2")
    assert model.blocks[0].ls1.gamma.unique().tolist() == pytest.approx([1e-5])
    assert isinstance(model.fc_norm, nn.Identity) and model.global_pool == "token"
    assert model(torch.zeros(1, 3, 56, 56)).shape == (1, 2)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_what_is_pooled_and_normalised(images, pooling):
    """Written out from the paper's program: the mean over the patches without the class token, then its norm."""
    model = vision_transformer("tiny", 3, image_size=64, pooling=pooling).eval()
    nn.init.normal_(model.head.weight)
    patches = model.patch_embed(images)
    tokens = torch.cat((model.cls_token.expand(len(images), -1, -1), patches), dim=1) + model.pos_embed
    for block in model.blocks:
        tokens = block(tokens)
    pooled = tokens[:, 1:].mean(dim=1) if pooling == "mean" else tokens[:, 0]
    expected = model.head(functional.layer_norm(pooled, (64,), eps=1e-6))
    assert torch.allclose(model(images), expected, atol=1e-5)
    assert not torch.allclose(expected, model.head(functional.layer_norm(tokens.mean(dim=1), (64,))), atol=1e-3)


@pytest.mark.parametrize("classes", [2, 5, 13])
@pytest.mark.parametrize("family", ["mae", "dinov2"])
def test_the_initial_loss_is_that_of_equal_probabilities(classes, family):
    side = 64 if family == "mae" else 56
    model = vision_transformer("small", classes, image_size=side, family=family)
    logits = model(torch.randn(4, 3, side, side))
    loss = functional.cross_entropy(logits, torch.arange(4) % classes)
    assert loss.item() == pytest.approx(math.log(classes), abs=0.01)


def test_the_head_is_drawn_narrow_and_its_bias_is_zero():
    model = vision_transformer("small", 1000, image_size=64)
    model.head.bias.data.fill_(3)
    initialise_head(model)
    assert model.head.weight.std().item() == pytest.approx(2e-5, rel=0.02) and not model.head.bias.any()


def test_the_drop_path_rises_from_zero():
    model = vision_transformer("tiny", 2, image_size=64, drop_path=0.3)
    rates = [getattr(b.drop_path1, "drop_prob", 0.0) for b in model.blocks]
    assert rates == pytest.approx([0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize("size", ["small", "tiny"])
def test_siblings_keep_the_shape_of_the_family(size):
    model, shape = vision_transformer(size, 2, image_size=112), SIZES[size]
    assert (model.embed_dim, len(model.blocks)) == (shape.width, shape.depth)
    assert {tuple(b.mlp.fc1.weight.shape) for b in model.blocks} == {(4 * shape.width, shape.width)}
    assert model.state_dict().keys() < large().state_dict().keys()


def test_no_classes_give_features(images):
    model = vision_transformer("tiny", 0, image_size=64)
    assert model(images).shape == (6, 64) and "head.weight" not in model.state_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "huge"}, r"size='huge'.*large, small, tiny"),
        ({"classes": 1}, "classes=1"),
        ({"classes": -3}, "classes=-3"),
        ({"image_size": 100}, r"image_size=100.*\s.*image_size: 96"),
        ({"image_size": 0}, r"image_size=0.*\s.*image_size: 16"),
        ({"image_size": 64, "family": "dinov2"}, r"multiple of 14.*\s.*image_size: 70"),
        ({"drop_path": 1.0}, "drop_path=1.0"),
        ({"pooling": "max"}, "pooling='max'"),
        ({"family": "dinov3"}, "family='dinov3'"),
    ],
)
def test_arguments_out_of_range_are_refused(change, message):
    with pytest.raises(BadArgument, match=message):
        vision_transformer(**{"size": "tiny", "classes": 2, "image_size": 64} | change)


def test_every_release_has_its_card():
    assert len({r.name for r in RELEASES}) == len(RELEASES) == 8
    assert {r.licence for r in RELEASES} == {"CC BY-NC 4.0"}
    assert {(r.family, r.pooling) for r in RELEASES} == {("mae", "mean"), ("dinov2", "cls")}
    gated = next(r for r in RELEASES if r.name == "RETFound_mae_natureOCT")
    assert "hf download YukunZhou/RETFound_mae_natureOCT RETFound_mae_natureOCT.pth" in gated.fetch
    assert all(224 % {"mae": 16, "dinov2": 14}[r.family] == 0 for r in RELEASES)
