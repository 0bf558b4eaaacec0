"""Every supported layout loads with a report of every tensor; other files are refused and leave the model unchanged."""

import os
import pickle
from argparse import Namespace
from collections import OrderedDict

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch.nn import functional

from lmod_train.core.errors import BadArgument, LmodError, WeightsMismatch, WeightsNotFound
from lmod_train.models.vision.retfound import vision_transformer
from lmod_train.models.vision.retfound_weights import (
    TwiceLayerNorm,
    initialise,
    load_finetuned,
    load_pretrained,
)
from lmod_train.models.vision.strict_loading import resize_positions
from lmod_train.models.vision.weights_file import read_weights

HEAD = {"head.weight", "head.bias"}
FC_NORM = {"fc_norm.weight", "fc_norm.bias"}
NORM = {"norm.weight", "norm.bias"}
ARGS_2024 = Namespace(model="vit_large_patch16", global_pool=True, nb_classes=3)
ARGS_2025 = Namespace(model="RETFound_mae", global_pool=True, nb_classes=3)


def network(side=224, classes=3, **options):
    return vision_transformer("tiny", classes, image_size=side, **options).eval()


def backbone(family="mae", side=224, seed=1, **options):
    """The tensors of a pre-trained encoder: no head, a final norm, and no value that a new network also has."""
    noise = torch.Generator().manual_seed(seed)
    names = network(side, 0, family=family, pooling="cls", **options).state_dict()
    return {name: torch.randn(tensor.shape, generator=noise) for name, tensor in names.items()}


def decoder():
    names = ("mask_token", "decoder_pos_embed", "decoder_embed.weight", "decoder_blocks.0.norm1.weight")
    return {name: torch.ones(1, 2) for name in (*names, "decoder_norm.bias", "decoder_pred.weight")}


def dino_heads():
    names = ("backbone.mask_token", "dino_head.mlp.0.weight", "dino_head.last_layer.weight_g", "ibot_head.mlp.2.bias")
    return {name: torch.ones(2) for name in names}


def finetuned(seed=2, side=224, **options):
    noise = torch.Generator().manual_seed(seed)
    names = network(side, **options).state_dict()
    return {name: torch.randn(tensor.shape, generator=noise) for name, tensor in names.items()}


def prefixed(prefix, tensors):
    return {prefix + name: tensor for name, tensor in tensors.items()}


@pytest.fixture
def saved(tmp_path):
    def save(payload, name="weights.pth", **options):
        torch.save(payload, tmp_path / name, **options)
        return tmp_path / name

    return save


# ---------------------------------------------------------------------------------------------- layouts that load

LAYOUTS = {
    "the releases of 2023": lambda: {"model": backbone() | decoder()},
    "the releases of 2023 as its program wrote them": lambda: {
        "model": OrderedDict(backbone() | decoder()),
        "optimizer": {"state": {0: {"step": 1}}, "param_groups": [{"lr": 0.1, "betas": (0.9, 0.95)}]},
        "epoch": 799,
        "scaler": {"scale": 65536.0},
        "args": Namespace(model="mae_vit_large_patch16", mask_ratio=0.75, output_dir="out"),
    },
    "bare": backbone,
    "an ordinary state_dict": lambda: {"state_dict": prefixed("module.", backbone())},
    "behind two prefixes": lambda: {"model": prefixed("module.backbone.", backbone())},
    "with a head of ImageNet's": lambda: {
        "model": backbone() | {"head.weight": torch.ones(9, 64), "head.bias": torch.ones(9)}
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_of_mae_loads_whole(saved, layout):
    model, truth = network(), backbone()
    report = load_pretrained(model, saved(LAYOUTS[layout]()))
    assert set(report.fresh) == HEAD | FC_NORM
    assert set(report.loaded) == truth.keys() - NORM
    assert set(report.loaded) | set(report.fresh) == model.state_dict().keys()
    assert set(report.dropped) <= decoder().keys() | NORM | HEAD and set(report.dropped) >= NORM
    assert all(torch.equal(model.state_dict()[name], truth[name]) for name in report.loaded)
    assert report.resized == () and len(report.sha256) == 64


def test_the_report_names_every_part_of_the_file(saved):
    report = load_pretrained(network(), saved(LAYOUTS["the releases of 2023"]()))
    assert set(report.dropped) == decoder().keys() | NORM
    assert len(report.loaded) + len(report.dropped) == len(backbone() | decoder())
    assert "52 tensors loaded, 8 dropped; new: fc_norm.bias, fc_norm.weight, head.bias, head.weight" in str(report)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_layout_of_dinov2_loads_whole(saved, pooling):
    student = prefixed("backbone.", backbone("dinov2", seed=9))
    file = saved({"student": student, "teacher": prefixed("backbone.", backbone("dinov2")) | dino_heads()})
    model, truth = network(family="dinov2", pooling=pooling), backbone("dinov2")
    report = load_pretrained(model, file)
    heads = {name.removeprefix("backbone.") for name in dino_heads()}
    assert set(report.fresh) == (HEAD if pooling == "cls" else HEAD | FC_NORM)
    assert set(report.dropped) == (heads if pooling == "cls" else heads | NORM)
    assert set(report.loaded) == (truth.keys() if pooling == "cls" else truth.keys() - NORM)
    assert all(torch.equal(model.state_dict()[name], truth[name]) for name in report.loaded)


def test_the_other_names_of_dinov2_s_hidden_layers_are_understood(saved):
    names = {"mlp.fc1.": "mlp.w12.", "mlp.fc2.": "mlp.w3."}
    tensors = {next((n.replace(a, b) for a, b in names.items() if a in n), n): t for n, t in backbone("dinov2").items()}
    assert "blocks.0.mlp.w12.weight" in tensors
    assert set(load_pretrained(network(family="dinov2"), saved(tensors)).loaded) == backbone("dinov2").keys()


def test_the_class_token_pools_with_the_norm_of_pre_training(saved):
    model = network(pooling="cls")
    report = load_pretrained(model, saved({"model": backbone() | decoder()}))
    assert set(report.fresh) == HEAD and set(report.loaded) >= NORM


def test_safetensors_load_the_same(saved, tmp_path):
    save_file(backbone() | decoder(), tmp_path / "weights.safetensors")
    one, two = network(), network()
    first, second = (
        load_pretrained(one, saved(backbone() | decoder())),
        load_pretrained(two, tmp_path / "weights.safetensors"),
    )
    assert (first.loaded, first.dropped) == (tuple(sorted(second.loaded, key=first.loaded.index)), second.dropped)
    assert all(torch.equal(one.state_dict()[name], two.state_dict()[name]) for name in first.loaded)


def test_the_old_format_of_pytorch_loads(saved):
    report = load_pretrained(network(), saved({"model": backbone()}, _use_new_zipfile_serialization=False))
    assert len(report.loaded) == 52


def test_half_precision_becomes_the_model_s(saved):
    model = network(side=96)
    load_pretrained(model, saved({name: tensor.half() for name, tensor in backbone().items()}))
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_the_head_and_its_norm_are_initialised_in_a_used_network(saved):
    model = network()
    model.load_state_dict(finetuned())
    load_pretrained(model, saved(backbone()))
    assert model.head.weight.abs().max() < 1e-3 and not model.head.bias.any()
    assert model.fc_norm.weight.unique().tolist() == [1] and not model.fc_norm.bias.any()


def test_a_network_without_a_head_is_filled_too(saved):
    assert set(load_pretrained(network(classes=0), saved(backbone())).fresh) == FC_NORM


# --------------------------------------------------------------------------------------------- the position table


@pytest.mark.parametrize(("grid", "moved"), [((20, 20), 0.25), ((7, 7), 0.6)])
def test_positions_are_resized_without_smoothing(grid, moved):
    """Against a cubic convolution written out (a = -0.75, edges repeated), and unlike timm's smoothed one."""
    table = torch.randn(1, 197, 6, generator=torch.Generator().manual_seed(0))
    found = resize_positions(table, grid)
    assert torch.equal(found[:, :1], table[:, :1]) and found.shape == (1, 1 + grid[0] * grid[1], 6)
    matrix = cubic(14, grid[0])
    expected = torch.einsum("ai,bj,ijd->abd", matrix, matrix, table[0, 1:].double().reshape(14, 14, 6)).reshape(-1, 6)
    assert torch.allclose(found[0, 1:].double(), expected, atol=1e-5)
    resample = timm.layers.resample_abs_pos_embed
    assert torch.allclose(found, resample(table, grid, antialias=False), atol=1e-6)
    assert (found - resample(table, grid)).abs().max() > moved
    plain = functional.interpolate(table[:, 1:].reshape(1, 14, 14, 6).permute(0, 3, 1, 2), grid, mode="bicubic")
    assert torch.equal(found[:, 1:], plain.permute(0, 2, 3, 1).flatten(1, 2))


def cubic(old, new, a=-0.75):
    """The matrix that resizes a line of `old` values to `new` by cubic convolution."""
    matrix = torch.zeros(new, old, dtype=torch.float64)
    for row in range(new):
        centre = (row + 0.5) * old / new - 0.5
        for place in range(int(centre // 1) - 1, int(centre // 1) + 3):
            d = abs(centre - place)
            near = (a + 2) * d**3 - (a + 3) * d**2 + 1
            matrix[row, min(max(place, 0), old - 1)] += near if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4)
    return matrix


def test_a_table_of_the_same_grid_is_left_alone_and_one_without_a_square_grid_is_refused():
    table = torch.randn(1, 50, 4)
    assert resize_positions(table, (7, 7)) is table
    for crooked in (torch.randn(1, 51, 4), torch.randn(50, 4), torch.randn(1, 1, 4)):
        with pytest.raises(ValueError, match="square grid"):
            resize_positions(crooked, (7, 7))


def test_a_file_of_another_image_size_is_resized_and_told(saved):
    model, truth = network(side=64), backbone()
    report = load_pretrained(model, saved({"model": truth}))
    assert report.resized == ("pos_embed resized from 14x14 to 4x4",)
    assert torch.equal(model.pos_embed, resize_positions(truth["pos_embed"], (4, 4)))


# ------------------------------------------------------------------------------------------------ fine-tuned files


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_fine_tuned_file_loads_with_its_head(saved, pooling):
    truth, model = finetuned(pooling=pooling), network(pooling=pooling)
    report = load_finetuned(model, saved({"model": truth, "epoch": 49, "args": ARGS_2024}))
    assert set(report.loaded) == model.state_dict().keys() and report.fresh == report.dropped == ()
    assert all(torch.equal(tensor, truth[name]) for name, tensor in model.state_dict().items())
    assert report.notes == ("fc_norm is applied once",)


def test_the_second_norm_of_the_program_of_2025(saved):
    truth, images = finetuned(side=64), torch.randn(2, 3, 64, 64)
    new, old = (
        saved({"model": truth, "args": ARGS_2025}, "new.pth"),
        saved({"model": truth, "args": ARGS_2024}, "old.pth"),
    )
    once, twice = network(side=64), network(side=64)
    assert load_finetuned(once, old).notes == ("fc_norm is applied once",)
    assert "February 2025" in load_finetuned(twice, new).notes[0]
    pooled = once.forward_features(images)[:, 1:].mean(dim=1)
    expected = twice.head(once.fc_norm(once.fc_norm(pooled)))
    assert torch.allclose(twice(images), expected, atol=1e-4)
    assert not torch.allclose(once(images), expected, atol=1e-2)
    load_finetuned(twice, new, double_norm=False)
    assert torch.equal(twice(images), once(images))
    load_finetuned(once, old, double_norm=True)
    assert torch.allclose(once(images), expected, atol=1e-4)


def test_the_second_norm_shares_the_parameters_that_an_optimiser_holds(saved):
    model = network()
    held = model.fc_norm.weight
    load_finetuned(model, saved({"model": finetuned()}), double_norm=True)
    assert isinstance(model.fc_norm, TwiceLayerNorm) and model.fc_norm.weight is held
    assert model.state_dict().keys() == network().state_dict().keys() and model.fc_norm.eps == 1e-6


def test_a_second_norm_needs_a_first(saved):
    with pytest.raises(BadArgument, match="mean pooling"):
        load_finetuned(network(pooling="cls"), saved(finetuned(pooling="cls")), double_norm=True)
    file = saved({"model": finetuned(pooling="cls"), "args": Namespace(model="RETFound_mae", global_pool=False)})
    assert load_finetuned(network(pooling="cls"), file).notes == ("fc_norm is applied once",)


# --------------------------------------------------------------------------------------------- files that do not fit


def half(tensors):
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(("blocks.2.", "blocks.3."))}


def other_patch(tensors):
    return tensors | {"patch_embed.proj.weight": torch.ones(64, 3, 32, 32), "pos_embed": torch.ones(1, 50, 64)}


def wide():
    return {n: torch.ones(t.shape) for n, t in vision_transformer("small", 0, pooling="cls").state_dict().items()}


MISFITS = {
    "wider": (wide, "width is 192, the model's is 64"),
    "half": (lambda: half(backbone()), "depth is 2 blocks, the model's is 4 blocks"),
    "decoder only": (decoder, "only parts of pre-training"),
    "heads only": (lambda: {"teacher": dino_heads()}, "only parts of pre-training"),
    "fine-tuned": (lambda: {"model": finetuned()}, "fine-tuned.*finetuned: true"),
    "fine-tuned, class token": (lambda: {"model": finetuned(pooling="cls"), "args": ARGS_2024}, "finetuned: true"),
    "another patch": (lambda: other_patch(backbone()), "side of a patch is 32, the model's is 16"),
    "dinov2": (lambda: {"teacher": prefixed("backbone.", backbone("dinov2"))}, "family is dinov2, the model's is mae"),
    "unknown prefix": (lambda: prefixed("encoder.", backbone()), r"no name in it is known, the first is 'encoder\."),
    "two prefixes": (lambda: prefixed("module.", backbone()) | backbone(), "two tensors of one name"),
    "one tensor short": (
        lambda: {n: t for n, t in backbone().items() if n != "blocks.1.attn.qkv.bias"},
        r"shapes differ.*missing: blocks\.1\.attn\.qkv\.bias; unexpected: none",
    ),
    "one tensor over": (lambda: backbone() | {"reg_token": torch.ones(1)}, "missing: none; unexpected: reg_token"),
    "one shape": (lambda: backbone() | {"cls_token": torch.ones(64)}, r"cls_token \(1, 1, 64\), which is \(64,\)"),
    "crooked positions": (lambda: backbone() | {"pos_embed": torch.ones(1, 100, 64)}, "positions is 100, .* 197"),
    "flat positions": (lambda: backbone() | {"pos_embed": torch.ones(3)}, r"which is \(3,\)"),
}


def untouched(model, load, file, error, message):
    """Hold that loading fails with these words and a cure, and changes nothing."""
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(error, match=f"(?s){message}") as raised:
        load(model, file)
    assert "\nNext: " in str(raised.value) and str(file) in str(raised.value)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("case", MISFITS)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(saved, case):
    payload, message = MISFITS[case]
    untouched(network(), load_pretrained, saved(payload()), WeightsMismatch, message)


@pytest.mark.parametrize(
    ("model", "payload", "message"),
    [
        ({"family": "dinov2"}, lambda: {"model": backbone() | decoder()}, "family is mae, the model's is dinov2"),
        ({"pooling": "cls"}, lambda: {n: t for n, t in backbone().items() if n not in NORM}, r"missing: norm\.weight"),
    ],
)
def test_a_model_of_another_kind_is_refused(saved, model, payload, message):
    untouched(network(**model), load_pretrained, saved(payload()), WeightsMismatch, message)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (lambda: {"model": backbone() | decoder()}, "only pre-trained, it has no head.*leave finetuned out"),
        (lambda: finetuned(classes=5), "number of classes is 5, the model's is 3"),
        (lambda: finetuned(pooling="cls"), "pooling is cls, the model's is mean"),
        (lambda: finetuned(side=64), "number of positions is 17, the model's is 197.*image_size"),
        (lambda: half(finetuned()), "depth is 2 blocks"),
        (lambda: finetuned(family="dinov2", pooling="mean"), "family is dinov2"),
    ],
)
def test_a_fine_tuned_file_of_another_kind_is_refused(saved, payload, message):
    untouched(network(), load_finetuned, saved(payload()), WeightsMismatch, message)


# --------------------------------------------------------------------------------------- files that are no weights


class Intruder:
    """Makes a folder when a pickle of it is loaded."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def broken(tensors, value):
    tensors["blocks.3.mlp.fc2.weight"][5, 7] = value
    return tensors


def cut(path, whole, share=0.5):
    path.write_bytes(whole.read_bytes()[: int(whole.stat().st_size * share)])
    return path


NO_WEIGHTS = {
    "empty": (b"", "the file is empty"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1213\n", "Git LFS pointer"),
    "page": (b"<!DOCTYPE html>\n<html><body>Log in \xe2\x80\xa6</body></html>", "a web page"),
    "text": (b"Access to model RETFound_mae_natureCFP is restricted.", "a text file that begins with 'Access to model"),
    "noise": (bytes(range(7, 250)) * 9, "not a complete PyTorch file"),
}


@pytest.mark.parametrize("case", NO_WEIGHTS)
def test_a_file_without_weights_is_refused(tmp_path, case):
    content, message = NO_WEIGHTS[case]
    for name in ("weights.pth", "weights.safetensors"):
        (tmp_path / name).write_bytes(content)
        expected = "not a complete safetensors file" if case == "noise" and name.endswith("safetensors") else message
        untouched(network(), load_pretrained, tmp_path / name, WeightsNotFound, expected)


def test_a_truncated_file_is_refused(saved, tmp_path):
    whole = saved({"model": backbone()}, "whole.pth")
    untouched(network(), load_pretrained, cut(tmp_path / "cut.pth", whole), WeightsNotFound, "truncated")
    old = saved({"model": backbone()}, "old.pth", _use_new_zipfile_serialization=False)
    untouched(
        network(), load_pretrained, cut(tmp_path / "cut.pth", old, 0.9), WeightsNotFound, "not a complete PyTorch"
    )
    save_file(backbone(), tmp_path / "whole.safetensors")
    shorter = cut(tmp_path / "cut.safetensors", tmp_path / "whole.safetensors")
    untouched(network(), load_pretrained, shorter, WeightsNotFound, "not a complete safetensors")


@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_pickle_is_not_run(saved, tmp_path, zipped):
    trace = tmp_path / "trace"
    payload = {"model": backbone(), "args": Intruder(trace)}
    file, message = saved(payload, _use_new_zipfile_serialization=zipped), r"asks for \w+\.mkdir.*not loaded"
    untouched(network(), load_pretrained, file, WeightsNotFound, message)
    (tmp_path / "plain.pth").write_bytes(pickle.dumps(payload["args"], protocol=2))
    untouched(network(), load_pretrained, tmp_path / "plain.pth", WeightsNotFound, message)
    assert not trace.exists()
    pickle.loads((tmp_path / "plain.pth").read_bytes())
    assert trace.exists()  # the pickle does what it is refused for


def test_a_whole_network_in_a_pickle_is_refused(saved):
    untouched(network(), load_pretrained, saved(network()), WeightsNotFound, "asks for timm.*VisionTransformer")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_refused(saved, value):
    message = r"1 of 54 tensors contain NaN or infinity, the first is blocks\.3\.mlp\.fc2\.weight"
    untouched(network(), load_pretrained, saved(broken(backbone(), value)), WeightsNotFound, message)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({}, "contains no tensors"),
        ({"model": {}, "epoch": 3}, "its 'model' contains no tensors"),
        (torch.ones(3), "contains a Tensor, not named tensors"),
        ({"epoch": 3, "weights": {"a": torch.ones(1)}}, "not tensors: epoch, weights .*model, teacher, state_dict"),
        ({"model": {"cls_token": [1.0]}}, "its 'model' contains values that are not tensors: cls_token"),
        ({"cls_token": torch.ones(2, dtype=torch.int8)}, "cls_token is torch.int8"),
        ({"cls_token": torch.ones(2).to(torch.float8_e4m3fn)}, "cls_token is torch.float8_e4m3fn"),
        ({"cls_token": torch.ones(2, dtype=torch.complex64)}, "cls_token is torch.complex64"),
        ({"cls_token": torch.eye(2).to_sparse()}, "cls_token is torch.float32 and torch.sparse_coo"),
        ({"cls_token": torch.ones(2, device="meta")}, "cls_token has no values"),
    ],
)
def test_a_file_without_weights_by_name_is_refused(saved, payload, message):
    untouched(network(), load_pretrained, saved(payload), WeightsNotFound, message)


def test_no_file_and_a_folder_are_refused(tmp_path):
    untouched(network(), load_pretrained, tmp_path / "none.pth", WeightsNotFound, "no such file")
    untouched(network(), load_finetuned, tmp_path, WeightsNotFound, "is a folder")


def test_arguments_of_the_program_are_read(saved):
    file = read_weights(saved({"model": {"a": torch.ones(2)}, "args": ARGS_2025}))
    assert file.arguments["model"] == "RETFound_mae" and file.tensors.keys() == {"a"}


def test_a_model_without_memory_is_refused(saved):
    with torch.device("meta"):
        model = vision_transformer("tiny", 3)
    for load, payload in ((load_pretrained, backbone()), (load_finetuned, finetuned())):
        with pytest.raises(BadArgument, match="meta device"):
            load(model, saved(payload))


# -------------------------------------------------------------------------------------- a path, or the word random


def test_random_has_to_be_requested(saved):
    model = network()
    report = initialise(model, "random")
    assert (
        report.loaded == () and set(report.fresh) == model.state_dict().keys() and "every tensor is new" in str(report)
    )
    assert set(initialise(model, saved(backbone())).loaded) == backbone().keys() - NORM


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("RETFound_mae_natureOCT", "YukunZhou/RETFound_mae_natureOCT RETFound_mae_natureOCT.pth --local-dir"),
        ("weights/RETFound_cfp_weights.pth", "download RETFound_cfp_weights.pth from the links of the README"),
        ("mine.pth", "natureCFP.*any of RETFound_cfp, .*set it to `random`"),
        ("", "not downloaded automatically|is a folder"),
    ],
)
def test_the_error_of_a_missing_file_names_the_release(weights, message):
    untouched(network(), initialise, weights, LmodError, message)
