"""The family of models that extend.md adds does with a checkpoint what transformers does with it."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer, GenerationConfig
from transformers.models.pixtral import PixtralImageProcessor, PixtralProcessor

from lmod_train.core.pixels import open_rgb
from lmod_train.models.backends.huggingface import HuggingFace
from tests.docs.standins import written
from tests.families import NARROW
from tests.tiny import base, record

TEMPLATE = """{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}[INST]
{%- for part in message.content %}{% if part.type == 'image' %}[IMG]{% else %}{{ part.text }}{% endif %}{% endfor -%}
[/INST]{% else %}{{ message.content[0].text + eos_token }}{% endif %}{% endfor %}"""
SIZES = {"wide.png": (96, 40), "tall.png": (30, 64), "square.png": (64, 64)}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random, narrow Mistral 3."""
    folder = tmp_path_factory.mktemp("mistral3")
    tokenizer = AutoTokenizer.from_pretrained(base())
    marks = ["[IMG]", "[IMG_BREAK]", "[IMG_END]", "[INST]", "[/INST]"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    images = PixtralImageProcessor(size={"longest_edge": 64}, patch_size=8)
    PixtralProcessor(images, tokenizer, 8, 2, chat_template=TEMPLATE).save_pretrained(folder)
    text = {"model_type": "mistral", "head_dim": 16, "num_key_value_heads": 1, "vocab_size": len(tokenizer), **NARROW}
    config = AutoConfig.for_model(
        "mistral3",
        text_config={**text, "sliding_window": None, "pad_token_id": 0, "max_position_embeddings": 2048},
        vision_config={"model_type": "pixtral", "image_size": 64, "patch_size": 8, "head_dim": 16, **NARROW},
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        spatial_merge_size=2,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    network = AutoModelForImageTextToText.from_config(config)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    network.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=tokenizer.eos_token_id, pad_token_id=0)
    network.save_pretrained(folder)
    return folder


def plain_replies(checkpoint: Path, images: list[Path], prompts: list[str]) -> list[str]:
    """Return the replies that transformers gives with its own processor, one question at a time."""
    network = AutoModelForImageTextToText.from_pretrained(checkpoint).eval()
    processor = AutoProcessor.from_pretrained(checkpoint)
    replies = []
    for image, prompt in zip(images, prompts, strict=True):
        given = processor(text=prompt, images=[open_rgb(image)], return_tensors="pt", add_special_tokens=False)
        ids = network.generate(**given, do_sample=False, max_new_tokens=12)[0, given["input_ids"].shape[1] :]
        replies.append(processor.tokenizer.decode(ids, skip_special_tokens=True).strip())
    return replies


def test_replies_about_images_of_several_shapes_are_those_of_transformers(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    noise = np.random.default_rng(0)
    for name, (width, height) in SIZES.items():
        Image.fromarray(noise.integers(0, 255, (height, width, 3), dtype=np.uint8)).save(tmp_path / name)
    backend = HuggingFace(str(checkpoint), 12, family=importlib.import_module("my_family").Mistral3)
    backend.prepare("cpu")
    replies = backend.respond(backend.collate([record(name, image=[name]) for name in SIZES], tmp_path))
    expected = plain_replies(checkpoint, [tmp_path / name for name in SIZES], [r.rendered for r in replies])
    assert [r.reply for r in replies] == expected
    assert len(set(expected)) == len(SIZES)
