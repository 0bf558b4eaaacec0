"""Train the language model of the small base on the features of its tower, and save the base in Hugging Face layout.

The tower is frozen and its features are computed once. The language model is trained from scratch: it reads the
benchmark's prompts and the clinical vocabulary as plain text, repeats answers, so that every word occurs in training,
and describes images. No image is ever shown with a question of a task.
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from description import Turn
from marked import GRID, INPUT, MEAN, STD, load
from texts import answers, echoes, prompts, vocabulary
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, distributed, multiprocessing
from torch.nn import functional
from tower import NUMBERED, average, chances_of, normalise
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
from turns import boxes_turn_of, turns_of

from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.sequences import IGNORED, pack

LR = 2e-3
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}USER: {% elif message['role'] == 'assistant' %} ASSISTANT: {% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% elif message['role'] == 'system' %} {% endif %}"
    "{% endfor %}{% if add_generation_prompt %} ASSISTANT: {% endif %}"
)
"""Chat template of LLaVA-1.5, with the end token after the answer, which the published template lacks."""


def tokenizer_of(
    texts: list[str], boxes: npt.NDArray[np.float32], held: npt.NDArray[np.int8], size: int = 2048, rows: int = 4000
) -> PreTrainedTokenizerFast:
    """Return a byte-level tokenizer trained on prompts, words, answers and descriptions; it can encode any text."""
    rng = np.random.default_rng(1)
    asked = [turn for row in range(min(rows, len(boxes))) for turn in turns_of(row, boxes[row])]
    asked += [turn for row in range(min(rows, len(boxes))) if (turn := boxes_turn_of(row, held[row], rng))]
    described = [text for turn in asked for text in (turn.question, turn.answer)]
    texts = [*texts * 8, *answers(np.random.default_rng(0), 4000), *described]
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
    """Return the model with the trained tower and an untrained language model."""
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
    """Return the processor, which pads images to a square and does not crop."""
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
        patch_size=INPUT // GRID,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )


class Teaching:
    """Training data of one step: some images with one turn each, and some plain text."""

    def __init__(
        self,
        processor: LlavaProcessor,
        boxes: npt.NDArray[np.float32],
        held: npt.NDArray[np.int8],
        texts: list[str],
        boxed: float,
    ) -> None:
        self._tokenizer: Any = processor.tokenizer
        self._boxes, self._held, self._texts, self._boxed = boxes, held, texts, boxed
        self._asides = vocabulary()
        self._image = "<image>" * GRID**2

    def of_pictures(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[list[list[int]], list[list[int]]]:
        """Return prompt and answer ids of one turn per image.

        A share of the images with boxes gets a question about their content; half of the others one about the complete
        description, the rest one about a single finding.
        """
        prompts, answers = [], []
        for row in rows.tolist():
            asked = boxes_turn_of(row, self._held[row], rng) if rng.random() < self._boxed else None
            turn = asked or self._described(row, rng)
            prompts.append(self._ids(f"<s>USER: {self._image}\n{turn.question} ASSISTANT: "))
            answers.append(self._ids(f"{turn.answer}</s>"))
        return prompts, answers

    def _described(self, row: int, rng: np.random.Generator) -> Turn:
        summary, *findings = turns_of(row, self._boxes[row])
        turn = summary if rng.random() < 0.5 else findings[rng.integers(len(findings))]
        if turn is summary and rng.random() < 0.3:  # the description is the default answer to other questions
            return Turn(str(rng.choice(self._asides)), summary.answer)
        return turn

    def of_text(self, count: int, rng: np.random.Generator) -> tuple[list[list[int]], list[list[int]]]:
        """Return prompt and answer ids of plain texts (one third) and of answers to repeat (two thirds)."""
        chosen = [self._texts[i] for i in rng.integers(0, len(self._texts), count - count * 2 // 3)]
        repeated = echoes(rng, count * 2 // 3)
        prompts = [self._ids("<s>") for _ in chosen] + [self._ids(f"<s>USER: {q} ASSISTANT: ") for q, _ in repeated]
        return prompts, [self._ids(f"{t}</s>")[:160] for t in (*chosen, *(a for _, a in repeated))]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False).input_ids
        return ids


def loss_of(model: Any, features: Tensor | None, prompts: list[list[int]], answers: list[list[int]]) -> Tensor:
    """Return the mean negative log-likelihood of the answers' tokens."""
    sequences = pack([[i] for i in range(len(prompts))], prompts, answers, [()] * len(prompts), pad=0)
    labels, mask = sequences.labels[:, 1:], (sequences.segment >= 0).long()
    with torch.autocast("cpu", torch.bfloat16, enabled=torch.is_grad_enabled()):
        encoded = {}
        if features is not None:
            projected = model.model.multi_modal_projector(features)
            encoded = {"image": BaseModelOutputWithPooling(pooler_output=list(projected))}  # type: ignore[arg-type]
        made = model.model(input_ids=sequences.input_ids, attention_mask=mask, mm_encoder_outputs=encoded)
        hidden = made.last_hidden_state[:, :-1]
        learnt = labels != IGNORED
        scores = model.lm_head(hidden[learnt])
    return functional.cross_entropy(scores.float(), labels[learnt])


@torch.no_grad()
def tower_features(tower: Any, pictures: Path, file: Path, rank: int, workers: int) -> Any:
    """Return the tower's features (N, patches, width) as float16 on disk; each process computes its share once."""
    images = load(pictures)["image"]
    shape = (len(images), GRID**2, tower.config.hidden_size)
    if rank == 0:
        np.lib.format.open_memmap(file, "w+", np.float16, shape)
    distributed.barrier()
    features = np.load(file, mmap_mode="r+")
    mine = np.array_split(np.arange(len(images)), workers)[rank]
    for part in tqdm(np.array_split(mine, max(1, len(mine) // 64)), desc="features", disable=rank > 0, mininterval=10):
        pixels = torch.from_numpy(images[part]).permute(0, 3, 1, 2)
        with torch.autocast("cpu", torch.bfloat16):
            seen = tower(normalise(pixels), output_hidden_states=True).hidden_states[-1][:, 1:]
        features[part] = seen.half().numpy()
    features.flush()
    distributed.barrier()
    return features


def train(
    rank: int,
    workers: int,
    pictures: Path,
    tower_folder: Path,
    start: Path | None,
    out: Path,
    work: Path,
    steps: int,
    batch: int,
    boxed: float,
) -> None:
    """Train in one of several processes; the first saves model and processor. See `tower.train`."""
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{work.resolve()}/meeting", rank=rank, world_size=workers
    )
    boxes, held = (np.array(load(pictures)[name]) for name in ("boxes", "held"))
    texts = [*prompts(), *vocabulary()]
    processor = LlavaProcessor.from_pretrained(start) if start else processor_of(tokenizer_of(texts, boxes, held))
    tower = CLIPVisionModel.from_pretrained(tower_folder).eval()
    features = tower_features(tower, pictures, work / "features.npy", rank, workers)
    torch.manual_seed(0)
    model: Any = model_of(tower, processor.tokenizer)
    if start is not None:  # all weights but the tower's
        own = {name: value for name, value in model.state_dict().items() if ".vision_tower." in name}
        model.load_state_dict(checkpoint.load(start).float().state_dict() | own)
    model.model.vision_tower.requires_grad_(False)
    model.set_attn_implementation("eager")  # as in the tower: the fused attention's backward pass is slow on a CPU
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=LR, weight_decay=0.02, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LR, steps, pct_start=0.06)
    teaching, rng = Teaching(processor, boxes, held, texts, boxed), np.random.default_rng(rank)
    held_out = len(boxes) - 1000
    chances = chances_of(held_out, NUMBERED)
    for step in tqdm(range(steps), desc="language", disable=rank > 0, mininterval=10):
        rows = rng.choice(held_out, batch // workers, p=chances)
        loss = loss_of(model, torch.from_numpy(features[rows]).float(), *teaching.of_pictures(rows, rng))
        spoken = loss_of(model, None, *teaching.of_text(batch // workers // 2, rng))
        optimiser.zero_grad(set_to_none=False)
        (loss + 0.4 * spoken).backward()
        average([p.grad for p in trained if p.grad is not None], workers)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        schedule.step()
        if rank == 0 and step % 25 == 24:
            tqdm.write(f"step {step + 1} seen {loss.item():.3f} text {spoken.item():.3f}")
        if rank == 0 and (step % 250 == 249 or step + 1 == steps):
            kept = np.arange(held_out, len(boxes), 5)
            with torch.no_grad():
                seen = torch.from_numpy(features[kept]).float()
                tqdm.write(f"held-out loss {loss_of(model, seen, *teaching.of_pictures(kept, rng)).item():.4f}")
    if rank == 0:  # only at the end, as an existing folder counts as finished
        save(model, processor, out)
        show(out, pictures, np.arange(held_out, held_out + 24))


def save(model: Any, processor: LlavaProcessor, out: Path) -> None:
    """Save in half precision, which halves the file and makes no difference for training."""
    stored = copy.deepcopy(model).half()
    stored.config.vision_config._name_or_path = ""  # the tower's folder on the machine that built it
    stored.generation_config = GenerationConfig(
        bos_token_id=processor.tokenizer.bos_token_id,
        eos_token_id=processor.tokenizer.eos_token_id,
        pad_token_id=processor.tokenizer.pad_token_id,
    )
    stored.save_pretrained(out)
    processor.save_pretrained(out)


@torch.no_grad()
def show(out: Path, pictures: Path, rows: np.ndarray) -> None:
    """Print the saved base's descriptions of held-out images beside the truth."""
    arrays, rng = load(pictures), np.random.default_rng(2)
    held = np.array(arrays["held"])
    model: Any = checkpoint.load(out).eval()
    tokenizer: Any = LlavaProcessor.from_pretrained(out).tokenizer
    for row in rows.tolist():
        turn = boxes_turn_of(row, held[row], rng) if row % 2 else None
        turn = turn or turns_of(row, arrays["boxes"][row])[0]
        image = torch.from_numpy(arrays["image"][row][None]).permute(0, 3, 1, 2)
        asked = f"<s>USER: {'<image>' * GRID**2}\n{turn.question} ASSISTANT: "
        ids = tokenizer(asked, add_special_tokens=False, return_tensors="pt")
        made = model.generate(**ids, pixel_values=normalise(image), max_new_tokens=150, do_sample=False)
        reply = tokenizer.decode(made[0, ids.input_ids.shape[1] :], skip_special_tokens=True)
        tqdm.write(f"  truth: {turn.answer}\n  reply: {reply}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--tower", type=Path, required=True)
    parser.add_argument(
        "--start", type=Path, default=None, help="folder of an earlier round, all of which but the tower is used"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for temporary files")
    parser.add_argument(
        "--boxed", type=float, default=0.5, help="share of images with boxes that get a question about them"
    )
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=48, help="over all processes")
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    (a.work / "meeting").unlink(missing_ok=True)
    multiprocessing.spawn(  # type: ignore[attr-defined,no-untyped-call]
        train, (a.workers, a.pictures, a.tower, a.start, a.out, a.work, a.steps, a.batch, a.boxed), a.workers
    )
