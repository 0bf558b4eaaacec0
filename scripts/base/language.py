"""Teach the small base to say what its tower sees, and save it in Hugging Face layout.

The tower is frozen and its features are computed once. The language model starts from nothing: it reads the benchmark's
prompts and the clinical vocabulary as plain text, so that every word has been met, and learns to describe pictures. No
picture is ever shown with a task's question.
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from marked import INPUT, load, regions_of
from pictures import eye_of
from texts import prompts, vocabulary
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from torch.nn import functional
from tower import MEAN, STD, normalise
from tqdm import tqdm
from transformers import (
    CLIPVisionModel,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.models.llava.image_processing_llava import LlavaImageProcessor

from lmod_train.models import checkpoint
from lmod_train.models.sequences import IGNORED, training_sequences
from lmod_train.phantom.description import describe

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}USER: {% else %} ASSISTANT: {% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %} ASSISTANT: {% endif %}"
)
"""LLaVA-1.5's turns, with the end token after the answer that its published template leaves out."""


def tokenizer_of(texts: list[str], size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level tokenizer: no text is unknown to it, in English, Chinese or anything else."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<pad>", "<s>", "</s>", "<image>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
        padding_side="left",
    )


def model_of(tower: CLIPVisionModel, tokenizer: PreTrainedTokenizerFast) -> LlavaForConditionalGeneration:
    """Return the untaught model around the taught tower."""
    text = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=tower.config,
        text_config=text,
        image_token_index=cast(int, tokenizer.convert_tokens_to_ids("<image>")),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    model.model.vision_tower.load_state_dict(tower.state_dict())
    return model


def processor_of(tokenizer: PreTrainedTokenizerFast) -> LlavaProcessor:
    """Return the processor: pad to a square, never crop."""
    images = LlavaImageProcessor(
        do_pad=True,
        do_center_crop=False,
        size={"height": INPUT, "width": INPUT},
        crop_size={"height": INPUT, "width": INPUT},
        image_mean=list(MEAN),
        image_std=list(STD),
    )
    return LlavaProcessor(
        images,
        tokenizer,
        patch_size=12,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )


def turns_of(row: int) -> list[tuple[str, str]]:
    """Return (question, answer) pairs of one taught picture; three in four are English."""
    index, variant = divmod(row, 3)
    rng = np.random.default_rng([7, row])
    language = "en" if rng.random() < 0.75 else "zh"
    return [(t.question, t.answer) for t in describe(eye_of(index), regions_of(index, variant), language)]


class Teaching:
    """What one step is taught: some pictures with one turn each, and some plain text."""

    def __init__(self, processor: LlavaProcessor, turns: list[list[tuple[str, str]]], texts: list[str]) -> None:
        self._tokenizer: Any = processor.tokenizer
        self._turns, self._texts = turns, texts
        self._asides = vocabulary()
        self._image = "<image>" * 100

    def of_pictures(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[list[list[int]], list[list[int]]]:
        """Return prompt and answer ids, the whole description for half of the pictures and one finding for the rest."""
        prompts, answers = [], []
        for row in rows:
            turns = self._turns[row]
            question, answer = turns[0 if rng.random() < 0.5 else rng.integers(1, len(turns))]
            if (
                rng.random() < 0.3 and (question, answer) == turns[0]
            ):  # describing is what it does unless asked a finding
                question = str(rng.choice(self._asides))
            prompts.append(self._ids(f"<s>USER: {self._image}\n{question} ASSISTANT: "))
            answers.append(self._ids(f"{answer}</s>"))
        return prompts, answers

    def of_text(self, count: int, rng: np.random.Generator) -> tuple[list[list[int]], list[list[int]]]:
        """Return plain texts to go on with from their first token."""
        chosen = [self._texts[i] for i in rng.integers(0, len(self._texts), count)]
        return [self._ids("<s>") for _ in chosen], [self._ids(f"{t}</s>")[:160] for t in chosen]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False).input_ids
        return ids


def loss_of(model: Any, features: Tensor | None, prompts: list[list[int]], answers: list[list[int]]) -> Tensor:
    """Return the mean negative log-likelihood of the answers' tokens."""
    sequences = training_sequences(prompts, answers, pad=0)
    labels = sequences.pop("labels")[:, 1:]
    encoded = {}
    if features is not None:
        projected = model.model.multi_modal_projector(features)
        encoded = {"image": BaseModelOutputWithPooling(pooler_output=list(projected))}  # type: ignore[arg-type]
    hidden = model.model(**sequences, mm_encoder_outputs=encoded).last_hidden_state[:, :-1]
    learnt = labels != IGNORED
    return functional.cross_entropy(model.lm_head(hidden[learnt]), labels[learnt])


@torch.no_grad()
def tower_features(tower: CLIPVisionModel, images: Tensor) -> Tensor:
    """Return features (N, 100, width) in float16, computed once."""
    return torch.cat(
        [
            tower(normalise(part), output_hidden_states=True).hidden_states[-1][:, 1:].half()
            for part in tqdm(images.split(128), desc="features")
        ]
    )


def train(pictures: Path, tower_folder: Path, out: Path, steps: int, batch: int, seed: int) -> None:
    """Teach, and save model and processor."""
    torch.manual_seed(seed)
    texts = [*prompts() * 3, *vocabulary()]
    images, _, _ = load(pictures)
    turns = [turns_of(row) for row in tqdm(range(len(images)), desc="descriptions")]
    tokenizer = tokenizer_of([*texts * 4, *(t for ts in turns[:6000] for q, a in ts for t in (q, a))], 2048)
    processor = processor_of(tokenizer)
    tower = CLIPVisionModel.from_pretrained(tower_folder).eval()
    features = tower_features(tower, images)
    model: Any = model_of(tower, tokenizer)
    model.model.vision_tower.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=2e-3, weight_decay=0.02, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, steps, pct_start=0.06)
    teaching, rng = Teaching(processor, turns, texts), np.random.default_rng(seed)
    held_out = len(images) - len(images) // 20
    bar = tqdm(range(steps), desc="language")
    for step in bar:
        rows = rng.integers(0, held_out, batch)
        loss = loss_of(model, features[torch.from_numpy(rows)].float(), *teaching.of_pictures(rows, rng))
        spoken = loss_of(model, None, *teaching.of_text(batch // 4, rng))
        optimiser.zero_grad(set_to_none=True)
        (loss + 0.3 * spoken).backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        schedule.step()
        if step % 20 == 0:
            bar.set_postfix(seen=f"{loss.item():.3f}", text=f"{spoken.item():.3f}")
        if step % 400 == 399 or step + 1 == steps:
            save(model, processor, out)
            with torch.no_grad():
                kept = np.arange(held_out, held_out + 200)
                seen = features[torch.from_numpy(kept)].float()
                tqdm.write(f"held-out loss {loss_of(model, seen, *teaching.of_pictures(kept, rng)):.4f}")
            show(out, images[held_out : held_out + 6], turns[held_out : held_out + 6])


def save(model: Any, processor: LlavaProcessor, out: Path) -> None:
    """Save in half precision: the file is half as long and the difference is below what training notices."""
    stored = copy.deepcopy(model).half()
    stored.config.vision_config._name_or_path = ""  # the folder the tower lay in on the machine that built it
    stored.generation_config = GenerationConfig(
        bos_token_id=processor.tokenizer.bos_token_id,
        eos_token_id=processor.tokenizer.eos_token_id,
        pad_token_id=processor.tokenizer.pad_token_id,
    )
    stored.save_pretrained(out)
    processor.save_pretrained(out)


def show(out: Path, images: Tensor, turns: list[list[tuple[str, str]]]) -> None:
    """Print what the saved base says of pictures kept apart, beside the truth."""
    model: Any = checkpoint.load(out).eval()
    tokenizer: Any = LlavaProcessor.from_pretrained(out).tokenizer
    for image, (first, *_) in zip(images, turns, strict=True):
        ids = tokenizer(
            f"<s>USER: {'<image>' * 100}\n{first[0]} ASSISTANT: ", add_special_tokens=False, return_tensors="pt"
        )
        made = model.generate(**ids, pixel_values=normalise(image[None]), max_new_tokens=80, do_sample=False)
        said = tokenizer.decode(made[0, ids.input_ids.shape[1] :], skip_special_tokens=True)
        tqdm.write(f"  truth: {first[1]}\n  said:  {said}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--tower", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    train(a.pictures, a.tower, a.out, a.steps, a.batch, a.seed)
