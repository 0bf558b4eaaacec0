"""A random LLaVA of two narrow layers with the tokenizer and processor of the base that comes with the package."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from lightning import Trainer
from PIL import Image
from transformers import (
    AutoTokenizer,
    CLIPVisionConfig,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
)

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.types import Message, Part, Record
from lmod_train.models.chat.checkpoint_files import SHIPPED

SIDE, PATCH = 192, 16
TOKENS = (SIDE // PATCH) ** 2


def base() -> Path:
    return SHIPPED / "small_base"


def write_tiny(folder: Path, seed: int = 0) -> Path:
    """Save a random checkpoint; weights are drawn wide, so that replies depend on the image and on the question."""
    for file in base().iterdir():
        if "token" in file.name or "processor" in file.name or file.name == "chat_template.jinja":
            shutil.copy(file, folder)
    vocabulary = AutoTokenizer.from_pretrained(folder)
    wide = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(image_size=SIDE, patch_size=PATCH, initializer_factor=3.0, **wide),
        text_config=LlamaConfig(vocab_size=len(vocabulary), initializer_range=0.4, **wide),
        image_token_index=vocabulary.convert_tokens_to_ids("<image>"),
        image_seq_length=TOKENS,
        vision_feature_layer=-1,
    )
    torch.manual_seed(seed)
    model = LlavaForConditionalGeneration(config)
    for parameter in model.model.multi_modal_projector.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    model.generation_config = GenerationConfig(**ids)
    model.save_pretrained(folder)
    return folder


def record(
    id: str = "glaucoma/phantom/1",
    text: str = "Does this eye have glaucoma?",
    image: Sequence[str] = ("eye.png",),
    answer: str = "GLAUCOMA",
    **fields,
) -> Record:
    """Return a record with one image and one text, as tasks write them."""
    places = tuple(Part("image") for _ in image)
    defaults = {
        "task": "glaucoma",
        "task_class": "lmod_train.tasks.glaucoma.Glaucoma",
        "task_version": 1,
        "source": "phantom",
        "key": id,
        "modality": "CFP",
        "image_plain": tuple(image),
        "image_sha256": tuple(sha256(name.encode()).hexdigest() for name in image),
        "split": "train",
        "group": id,
        "language": "en",
        "choices": ("GLAUCOMA", "NON-GLAUCOMA"),
    }
    messages = (Message("user", (*places, Part("text", text))),)
    return Record(id=id, image=tuple(image), messages=messages, answer=answer, **defaults | fields)


def write_curated(folder: Path, records: Sequence[Record], side: int = 16) -> Path:
    """Write a curated folder: manifest, a noise picture for each image name, and records by task with their SHA-256."""
    write_json(folder / "manifest.json", {"schema_version": SCHEMA_VERSION})
    noise = np.random.default_rng(0)
    for name in sorted({name for r in records for name in (*r.image, *r.image_plain)}):
        pixels = noise.integers(0, 255, (side, side, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name)
    named = [hashed(folder, r) for r in records]
    for task in {r.task for r in records}:
        write_records(folder / "records" / f"{task}.parquet", [r for r in named if r.task == task])
    return folder


def hashed(folder: Path, record: Record) -> Record:
    """Return a record with the SHA-256 of its images below `folder`."""
    digests = tuple(sha256((folder / name).read_bytes()).hexdigest() for name in record.image)
    return replace(record, image_sha256=digests)


def trainer(folder: Path, **options) -> Trainer:
    """A quiet Trainer on one CPU, set as the command line sets it."""
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "num_sanity_val_steps": 0}
    place = {"accelerator": "cpu", "devices": 1, "use_distributed_sampler": False, "default_root_dir": folder}
    return Trainer(**{**quiet, **place, "enable_checkpointing": False} | options)
