"""Model and data of the benchmark `tuning.py`: a small random LLaVA, images, records and their order.

    python scripts/benchmarks/tuning_world.py --work build/tuning --questions 12 --batches 4

The tokenizer has single bytes; its vocabulary is filled up with entries that no text contains. All answers have the
same number of tokens, so that a mean over tokens (TRL) equals a mean over records (ours). Questions are random letters,
so that they share only the image, the template and at most one letter.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.llava.image_processing_llava import LlavaImageProcessor

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.types import Message, Part, Record
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.tasks.conversation import Conversation

SPECIAL = ("<pad>", "<s>", "</s>", "<image>")
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}USER: {% elif message['role'] == 'assistant' %} ASSISTANT: {% endif %}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% elif message['role'] == 'system' %} {% endif %}"
    "{% endfor %}{% if add_generation_prompt %} ASSISTANT: {% endif %}"
)
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
ANSWER = 7  # letters; the end token comes after them


def tokenizer_of(size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer of bytes whose vocabulary has `size` entries."""
    known = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    known += [f"<|{i}|>" for i in range(size - len(known))]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(known)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    pad, begin, end, image = SPECIAL
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=pad,
        bos_token=begin,
        eos_token=end,
        extra_special_tokens={"image_token": image},
        padding_side="left",
    )


def write_checkpoint(folder: Path, a: argparse.Namespace) -> None:
    """Save the model with its processor, and print how many parameters it has."""
    tokenizer = tokenizer_of(a.vocabulary)
    size = {"height": a.side, "width": a.side}
    pictures = LlavaImageProcessor(do_pad=True, do_center_crop=False, size=size, crop_size=size)
    processor = LlavaProcessor(
        pictures,
        tokenizer,
        patch_size=a.patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    ids: Any = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    tower = CLIPVisionConfig(
        image_size=a.side,
        patch_size=a.patch,
        hidden_size=a.tower_width,
        intermediate_size=4 * a.tower_width,
        num_hidden_layers=a.tower_layers,
        num_attention_heads=max(1, a.tower_width // 32),
    )
    text = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=a.width,
        intermediate_size=-(-8 * a.width // 192) * 64,  # 8/3 of the width as in Llama, a multiple of 64
        num_hidden_layers=a.layers,
        num_attention_heads=max(1, a.width // 32),
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        **ids,
    )
    torch.manual_seed(0)
    network = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=tower,
            text_config=text,
            image_token_index=SPECIAL.index("<image>"),
            image_seq_length=(a.side // a.patch) ** 2,
            tie_word_embeddings=True,
        )
    )
    if a.wide:
        widen(network)
    network.generation_config = GenerationConfig(**ids)
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    parts = {"in all": network, "tower": network.model.vision_tower, "embeddings": network.get_input_embeddings()}
    counts = ", ".join(
        f"{sum(p.numel() for p in part.parameters()) / 1e6:.1f} M {name}" for name, part in parts.items()
    )
    print(f"parameters: {counts}; {network.config.image_seq_length} image tokens, vocabulary {len(tokenizer)}")


def widen(network: torch.nn.Module) -> None:
    """Draw the weights of the linear maps wide enough that replies depend on the image and the question."""
    for name, weight in network.named_parameters():
        if weight.ndim == 2 and "embed" not in name:
            torch.nn.init.normal_(weight, std=weight.shape[1] ** -0.5)


def words(random: np.random.Generator, letters: int) -> str:
    """Return random words with a total number of letters, including blanks."""
    drawn = LETTERS[random.integers(0, len(LETTERS), letters)]
    drawn[6:-2:7] = " "
    return "".join(drawn)


def record(number: int, questions: int, random: np.random.Generator) -> Record:
    """Return question `number`, of which there are `questions` about each picture."""
    picture = f"{number // questions}.jpg"
    text = words(random, int(random.integers(30, 47))) + "?"
    return Record(
        id=f"conversation/drawn/{number:05}",
        task="conversation",
        task_class="lmod_train.tasks.conversation.Conversation",
        task_version=1,
        source="drawn",
        key=str(number),
        modality="CFP",
        image=(picture,),
        image_plain=(picture,),
        image_sha256=("0" * 64,),
        split="train",
        group=picture,
        language="en",
        messages=(Message("user", (Part("image"), Part("text", text))),),
        choices=(),
        answer=words(random, ANSWER),
    )


def write_curated(folder: Path, questions: int, a: argparse.Namespace) -> None:
    """Draw images, write their records, and in ``order.jsonl`` the records in the order of our first epoch."""
    random = np.random.default_rng(0)
    records = [record(i, questions, random) for i in range(a.batch * a.batches)]
    write_json(folder / "manifest.json", {"schema_version": SCHEMA_VERSION})
    write_records(folder / "records" / "conversation.parquet", records)
    for name in dict.fromkeys(r.image[0] for r in records):
        coarse = random.integers(0, 255, (a.picture // 8, a.picture // 8, 3), dtype=np.uint8)
        drawn = Image.fromarray(coarse).resize((a.picture, a.picture), Image.Resampling.BICUBIC)
        drawn.save(folder / name, quality=92)
    lines = [
        {"id": r.id, "image": r.image[0], "question": r.messages[0].parts[1].text, "answer": r.answer}
        for step in ordered(datamodule(folder, a.batch))
        for r in step
    ]
    (folder / "order.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def datamodule(folder: Path, batch: int) -> RecordsDataModule:
    """Return our datamodule of a folder that `write_curated` wrote."""
    return RecordsDataModule(folder, [Conversation()], batch_size=batch)


def ordered(data: RecordsDataModule, collate: Any = lambda records, root: records) -> Sequence[Any]:
    """Return the batches of the first epoch, outside a Trainer; by default their records."""
    data.trainer = SimpleNamespace(  # type: ignore[assignment]
        global_rank=0, world_size=1, lightning_module=SimpleNamespace(collate=collate)
    )
    data.setup("fit")
    return list(data.train_dataloader())


def main() -> None:
    """Write the checkpoint and the folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, nargs="+", default=[12], help="about one picture; a folder for each")
    parser.add_argument("--batch", type=int, default=12, help="questions a step")
    parser.add_argument("--batches", type=int, default=4, help="steps that the records are enough for")
    parser.add_argument("--picture", type=int, default=512, help="side of a picture in pixels")
    parser.add_argument("--side", type=int, default=336, help="side that the tower takes")
    parser.add_argument("--patch", type=int, default=14)
    parser.add_argument("--tower-width", type=int, default=192)
    parser.add_argument("--tower-layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=288)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=49152)
    parser.add_argument("--wide", action="store_true", help="weights with which replies depend on what is asked")
    a = parser.parse_args()
    write_checkpoint(a.work / "checkpoint", a)
    for questions in a.questions:
        write_curated(a.work / f"questions-{questions}", questions, a)


if __name__ == "__main__":
    main()
