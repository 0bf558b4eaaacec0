"""Groups by depth against the original's rule written out by name, and the schedule against timm's."""

import math
import re

import pytest
import timm
import torch
from timm.optim import param_groups_layer_decay
from timm.scheduler import CosineLRScheduler

from lmod_train.core.errors import BadArgument
from lmod_train.models.modules.fine_tuning import LayerDecay, factor, layer_groups, scaled_lr
from lmod_train.models.modules.optimisation import learning_rate
from lmod_train.models.vision.retfound import vision_transformer


@pytest.fixture(scope="module")
def large():
    with torch.device("meta"):
        return vision_transformer("large", classes=5)


def depth_of(name, blocks):
    """The layer of a parameter as RETFound's program counts it."""
    if name in ("cls_token", "pos_embed") or name.startswith("patch_embed"):
        return 0
    block = re.match(r"blocks\.(\d+)\.", name)
    return int(block[1]) + 1 if block else blocks + 1


def by_name(model, groups):
    names = {id(p): name for name, p in model.named_parameters()}
    found = [(names[id(p)], group) for group in groups for p in group["params"]]
    assert len(found) == len(names) == len(dict(found)), "every parameter once"
    return dict(found)


def test_every_parameter_of_vit_l_has_the_original_s_rate_and_decay(large):
    groups = layer_groups(large, 2.0, LayerDecay())
    assert len(groups) == 52
    for name, group in by_name(large, groups).items():
        scale = 0.65 ** (25 - depth_of(name, 24))
        assert group["lr"] == pytest.approx(2.0 * scale, rel=1e-12), name
        shape = dict(large.named_parameters())[name].shape
        exempt = len(shape) == 1 or name in ("pos_embed", "cls_token")
        assert group["weight_decay"] == (0 if exempt else 0.05), name


def test_the_stem_learns_at_a_hundred_thousandth_of_the_head(large):
    found = by_name(large, layer_groups(large, scaled_lr(5e-3, 16), LayerDecay()))
    lr = {name: group["lr"] for name, group in found.items()}
    assert lr["head.weight"] == lr["fc_norm.bias"] == 3.125e-4
    assert lr["blocks.23.attn.qkv.weight"] == pytest.approx(2.03e-4, rel=1e-2)
    assert lr["patch_embed.proj.weight"] / lr["head.weight"] == pytest.approx(2.10e-5, rel=1e-2)


def test_no_decay_is_one_rate_for_all_and_what_is_frozen_is_left_out():
    model = vision_transformer("tiny", classes=2, image_size=32)
    assert {group["lr"] for group in layer_groups(model, 1.0, LayerDecay(decay=1.0))} == {1.0}
    model.patch_embed.requires_grad_(False)
    kept = {id(p) for group in layer_groups(model, 1.0, LayerDecay()) for p in group["params"]}
    assert kept == {id(p) for p in model.parameters() if p.requires_grad}


def test_with_mean_pooling_timm_groups_alike(large):
    theirs = param_groups_layer_decay(large, 0.05, large.no_weight_decay(), layer_decay=0.65)
    expected = by_name(large, theirs)
    for name, group in by_name(large, layer_groups(large, 1.0, LayerDecay())).items():
        assert (group["lr"], group["weight_decay"]) == (expected[name]["lr_scale"], expected[name]["weight_decay"])


@pytest.mark.parametrize("family", ["mae", "dinov2"])
def test_both_families_fall_by_depth(family):
    model = vision_transformer("tiny", classes=3, image_size=112, family=family)
    for name, group in by_name(model, layer_groups(model, 1.0, LayerDecay(decay=0.5))).items():
        assert group["lr"] == 0.5 ** (5 - depth_of(name, 4)), name


@pytest.mark.parametrize(("epochs", "warmup", "steps"), [(20, 10, 7), (50, 10, 3), (5, 0, 4)])
def test_the_schedule_is_that_of_timm_at_every_step(epochs, warmup, steps):
    lr = 3.125e-4
    optimiser = torch.optim.SGD([torch.zeros(1)], lr=lr)
    theirs = CosineLRScheduler(
        optimiser,
        t_initial=(epochs - warmup) * steps,
        lr_min=1e-6,
        warmup_t=warmup * steps,
        warmup_lr_init=0,
        warmup_prefix=True,
        t_in_epochs=False,
    )
    for step in range(epochs * steps):
        theirs.step_update(step)
        ours = learning_rate(step, lr=lr, min_lr=1e-6, warmup=warmup * steps, steps=epochs * steps)
        assert ours == pytest.approx(optimiser.param_groups[0]["lr"], abs=1e-12)


def test_the_least_rate_falls_by_layer_too():
    at = factor(LayerDecay(min_lr=1e-6), 1e-3, warmup=2, steps=10)
    assert at(10) * 1e-3 * 0.5 == pytest.approx(0.5e-6)
    assert (at(0), at(1), at(2)) == (0, 0.5, 1)


def test_a_run_that_ends_within_its_warm_up_only_rises():
    rates = [learning_rate(i, lr=1.0, min_lr=0.0, warmup=10, steps=4) for i in range(5)]
    assert rates == [i / 10 for i in range(5)]
    assert math.isfinite(learning_rate(10, lr=1.0, min_lr=0.0, warmup=10, steps=4))


@pytest.mark.parametrize(
    "broken",
    [{"decay": 0}, {"decay": 1.1}, {"base_lr": 0}, {"weight_decay": -1}, {"warmup_epochs": -1}, {"min_lr": -1e-6}],
)
def test_values_out_of_range_are_refused(broken):
    with pytest.raises(BadArgument, match=rf"optimisation\.{next(iter(broken))}="):
        LayerDecay(**broken)


@pytest.mark.parametrize("name", ["test_efficientnet", "test_resnet", "test_convnext"])
def test_other_networks_have_the_layers_of_timm(name):
    model = timm.create_model(name, num_classes=3)
    found = by_name(model, layer_groups(model, 2.0, LayerDecay(decay=0.8)))
    theirs = by_name(model, param_groups_layer_decay(model, weight_decay=0.05, layer_decay=0.8))
    for parameter, group in theirs.items():
        assert found[parameter]["lr"] == pytest.approx(2.0 * group["lr_scale"]), parameter
        assert found[parameter]["weight_decay"] == group["weight_decay"], parameter
    heads = [parameter for parameter in found if parameter.startswith(("head.fc", "fc.", "classifier."))]
    assert {found[parameter]["lr"] for parameter in heads} == {2.0}


def test_tokens_and_the_norm_before_the_blocks_are_of_the_stem():
    model = timm.create_model("vit_base_patch16_dinov3", embed_dim=16, depth=2, num_heads=2, num_classes=3)
    lr = {name: group["lr"] for name, group in by_name(model, layer_groups(model, 1.0, LayerDecay(decay=0.5))).items()}
    assert {lr[name] for name in ("cls_token", "reg_token", "patch_embed.proj.weight")} == {0.125}
    assert lr["blocks.1.norm1.weight"] == 0.5 and lr["head.weight"] == 1
