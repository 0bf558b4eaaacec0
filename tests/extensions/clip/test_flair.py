"""FLAIR and KeepFIT against a forward pass of its own, from the tensors in a file of their layout."""

import json
import math

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from torch.nn import functional

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.extensions.clip.towers import Flair
from lmod_train.extensions.clip.zero_shot import ZeroShot

SIDE, WIDTH, LAYERS, HEADS = 64, 32, 4, 2
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "a",
    "fundus",
    "photograph",
    "of",
    "glaucoma",
    "no",
    "large",
    "cup",
    "Glaucoma",
]
CLASSES = (("A fundus photograph of glaucoma", "a large cup"), ("a fundus photograph of no Glaucoma",))
TOKENS = (([2, 4, 5, 6, 7, 8, 3], [2, 4, 10, 11, 3, 0, 0]), ([2, 4, 5, 6, 7, 9, 8, 3],))
"""The published tokenizer has no settings, so that it lowers the letters although its vocabulary has capital ones."""


def text_tensors():
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    shapes |= {"embeddings.position_embeddings.weight": (128, WIDTH), "embeddings.LayerNorm.weight": (WIDTH,)}
    shapes |= {"embeddings.LayerNorm.bias": (WIDTH,)}
    parts = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    parts |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (64, WIDTH), "output.dense": (WIDTH, 64)}
    parts |= {"attention.output.LayerNorm": (WIDTH,), "output.LayerNorm": (WIDTH,)}
    layers = {f"encoder.layer.{i}.{part}": shape for i in range(LAYERS) for part, shape in parts.items()}
    for part, shape in {**layers, "pooler.dense": (WIDTH, WIDTH)}.items():
        shapes |= {f"{part}.weight": shape, f"{part}.bias": shape[:1]}
    return {name: torch.randn(shape) * 0.3 for name, shape in shapes.items()}


def text_forward(t, tokens):
    """BERT by hand: the mean over all places, padding too, of the first, second and last layer."""
    mask = torch.where(tokens > 0, 0.0, -1e30)[:, None, None]
    x = t["embeddings.word_embeddings.weight"][tokens] + t["embeddings.token_type_embeddings.weight"][0]
    x = normed(t, "embeddings.", x + t["embeddings.position_embeddings.weight"][: tokens.shape[1]])
    layers = []
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (
            linear(t, f"{at}attention.self.{part}", x).unflatten(2, (HEADS, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = (q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS) + mask).softmax(3) @ v
        x = normed(
            t, f"{at}attention.output.", x + linear(t, f"{at}attention.output.dense", seen.transpose(1, 2).flatten(2))
        )
        wide = functional.gelu(linear(t, f"{at}intermediate.dense", x))
        x = normed(t, f"{at}output.", x + linear(t, f"{at}output.dense", wide))
        layers.append(x.mean(1))
    return (layers[0] + layers[1] + layers[-1]) / 3


def linear(t, name, x):
    return x @ t[f"{name}.weight"].T + t[f"{name}.bias"]


def normed(t, name, x):
    return functional.layer_norm(x, (WIDTH,), t[f"{name}LayerNorm.weight"], t[f"{name}LayerNorm.bias"], 1e-12)


def canvas(picture):
    pixels = torch.tensor(np.array(picture), dtype=torch.float32).permute(2, 0, 1) / 255
    size = [length * SIDE // max(pixels.shape[1:]) for length in pixels.shape[1:]]
    whole = torch.zeros(3, SIDE, SIDE)
    whole[:, : size[0], : size[1]] = functional.interpolate(pixels[None], size, mode="bilinear")[0]
    return whole


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with a file in FLAIR's layout, and its image tower, text tensors and projections."""
    place = tmp_path_factory.mktemp("flair")
    torch.manual_seed(0)
    vision = timm.create_model("resnet50", num_classes=0, zero_init_last=False).eval()
    text, heads = text_tensors(), [torch.randn(512, 2048), torch.randn(512, WIDTH)]
    tensors = {f"vision_model.model.{name}": t for name, t in vision.state_dict().items()}
    tensors |= {f"text_model.model.{name}": t for name, t in text.items()}
    tensors["vision_model.projection_head_vision.projection.weight"] = heads[0]
    tensors["text_model.projection_head_text.projection.weight"] = heads[1]
    tensors |= {"logit_scale": torch.tensor(1 / 0.07).log()}
    tensors |= {"text_model.model.embeddings.position_ids": torch.arange(128)[None]}
    torch.save(tensors, place / "FLAIR.pth")
    torch.save(
        tensors | {"attention.W_q.weight": heads[0][:, :512], "logit_scale": torch.tensor(5.0)}, place / "KeepFIT.pth"
    )
    write_text(place / "Bio_ClinicalBERT")
    return place, vision, text, heads


def write_text(folder, **changed):
    folder.mkdir(parents=True)
    stated = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 64}
    stated |= {"model_type": "bert", "vocab_size": len(WORDS), "max_position_embeddings": 128}
    (folder / "config.json").write_text(json.dumps(stated | changed))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")


@torch.no_grad()
def test_logits_are_those_of_a_forward_pass_by_hand_on_20_images(written):
    place, vision, text, heads = written
    noise = np.random.default_rng(0)
    pictures = [
        Image.fromarray(noise.integers(0, 256, (5, 7, 3), dtype=np.uint8)).resize((80 + 9 * i, 200)) for i in range(20)
    ]
    images = unit(unit(vision(torch.stack([canvas(p) for p in pictures]))) @ heads[0].T)
    means = [unit(unit(text_forward(text, torch.tensor(ids))) @ heads[1].T).mean(0) for ids in TOKENS]
    expected = images @ unit(torch.stack(means)).T / 0.07

    towers = Flair(str(place / "FLAIR.pth"), image_size=SIDE)
    module = ZeroShot(towers)
    module.configure_model()
    logits = module.logits(module.embedded(torch.stack([towers.transform(p) for p in pictures])), CLASSES)
    assert (
        logits.shape == (20, 2)
        and expected.std(0).min() > 1e-3
        and (expected[:, 0] - expected[:, 1]).abs().min() > 1e-3
    )
    assert (logits - expected).abs().max() < 1e-5


def test_keepfit_is_read_without_its_attention_and_its_scale_ends_at_100(written):
    place, *_ = written
    towers = Flair(str(place / "KeepFIT.pth"), longest=12)
    towers.build()
    assert towers.scale == pytest.approx(100) and towers.transform(Image.new("RGB", (300, 200))).shape == (3, 512, 512)
    with pytest.raises(BadArgument, match="at most 12 tokens for this text tower; this has 13"):
        towers.texts(["cup " * 11])


def test_another_architecture_is_refused(written, tmp_path):
    place, vision, *_ = written
    write_text(tmp_path / "Bio_ClinicalBERT", hidden_size=48)
    (tmp_path / "FLAIR.pth").symlink_to(place / "FLAIR.pth")
    with pytest.raises(WeightsMismatch, match=r"\(48,\), which is \(32,\) in the file"):
        Flair(str(tmp_path / "FLAIR.pth")).build()
    torch.save(vision.state_dict(), tmp_path / "resnet.pth")
    with pytest.raises(WeightsMismatch, match="missing: "):
        Flair(str(tmp_path / "resnet.pth")).build()


def test_files_that_are_missing_are_named_with_where_they_are(written, tmp_path):
    with pytest.raises(WeightsNotFound, match=r"README of github\.com/jusiro/FLAIR"):
        Flair("checkpoints/FLAIR.pth")
    (tmp_path / "FLAIR.pth").symlink_to(written[0] / "FLAIR.pth")
    with pytest.raises(WeightsNotFound, match=r"hf download emilyalsentzer/Bio_ClinicalBERT config\.json vocab\.txt"):
        Flair(str(tmp_path / "FLAIR.pth"))
