"""The LLaVA dialect: how a record is written, padded and tokenised for a `LlavaForConditionalGeneration`.

Built from the processor alone, before any network exists. One rendering serves training and inference: the training
text is the inference prompt, the answer, and the end token, so that what is asked later is a prefix of what was learnt,
and the model is taught to stop. (The chat template shipped with llava-hf checkpoints writes no end token after an
answer; a model tuned with it as it stands never learns to stop.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoProcessor

from lmod_train.errors import BadArgument, WeightsMismatch
from lmod_train.models.pixels import open_rgb, pad_square
from lmod_train.types import Batch, Record


class LlavaDialect:
    """Chat template, image token, padding to a square, and the split of a sequence into prompt and answer.

    Args:
        folder: A checkpoint in transformers layout; only its tokenizer and processor files are read.

    Raises:
        WeightsMismatch: There is no chat template among them.
    """

    def __init__(self, folder: Path) -> None:
        self.processor: Any = AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        self.tokenizer: Any = self.processor.tokenizer
        if not self.processor.chat_template:
            raise WeightsMismatch(
                str(folder),
                ["chat_template"],
                [],
                "add the chat_template.jinja that was published with these weights; their prompt is unknown without it",
            )
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.unk_token or self.tokenizer.eos_token
        images = self.processor.image_processor
        self._fill = tuple(round(255 * m) for m in images.image_mean)
        size = images.crop_size if getattr(images, "do_center_crop", False) else images.size
        self.side = int(size["height"] if "height" in size else size["shortest_edge"])
        self.tokens_per_image = self._tokens_per_image()

    def _tokens_per_image(self) -> int:
        """Patches, plus what the tower adds, less the class token that LLaVA drops.

        The count in `num_additional_image_tokens` is 0 in some published processors of CLIP towers, which then come out
        one short (575 of 576); a CLIP tower adds exactly one.
        """
        patches = (self.side // int(self.processor.patch_size)) ** 2
        return patches if self.processor.vision_feature_select_strategy == "default" else patches + 1

    def verify(self, tokens: int) -> None:
        """Check that the network makes as many embeddings of an image as the prompt holds places.

        Raises:
            WeightsMismatch: It does not.
        """
        if tokens != self.tokens_per_image:
            raise WeightsMismatch(
                "processor_config.json",
                [f"{tokens} image tokens (network)"],
                [f"{self.tokens_per_image} image tokens (processor)"],
                "use the processor files that were published with these weights",
            )

    def render(self, record: Record) -> tuple[str, str]:
        """Return the prompt as sent (one image marker an image) and what follows it when the answer is right.

        The words of the record stand unchanged inside.
        """
        turns = [
            {
                "role": m.role,
                "content": [
                    {"type": "image"} if p.type == "image" else {"type": "text", "text": p.text} for p in m.parts
                ],
            }
            for m in record.messages
        ]
        prompt: str = self.processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        answered = [*turns, {"role": "assistant", "content": [{"type": "text", "text": record.answer}]}]
        whole: str = self.processor.apply_chat_template(answered, tokenize=False)
        if not whole.startswith(prompt) or record.answer not in whole[len(prompt) :]:
            raise WeightsMismatch(
                "chat_template",
                ["a generation prompt that is a prefix of the rendered answer"],
                [],
                "give the checkpoint a chat template in which add_generation_prompt=True renders a prefix of the "
                "conversation with its answer; otherwise training and inference use different prompts",
            )
        end = whole.index(record.answer, len(prompt)) + len(record.answer)
        return prompt, whole[len(prompt) : end] + self.tokenizer.eos_token

    def encode(self, prompt: str, answer: str) -> tuple[list[int], list[int]]:
        """Return the token ids of the prompt, image tokens expanded, and of what follows it.

        The answer's ids are those it has in place; only where its first characters would melt into the prompt's last
        token is it tokenised alone, as the prompt must be the same with and without an answer.
        """
        token = self.processor.image_token
        prompt = prompt.replace(token, token * self.tokens_per_image)
        begins = self.tokenizer.bos_token is not None and prompt.startswith(self.tokenizer.bos_token)
        ids: list[int] = self.tokenizer(prompt, add_special_tokens=not begins).input_ids
        whole: list[int] = self.tokenizer(prompt + answer, add_special_tokens=not begins).input_ids
        if whole[: len(ids)] == ids:
            return ids, whole[len(ids) :]
        return ids, self.tokenizer(answer, add_special_tokens=False).input_ids

    def pixels(self, paths: Sequence[Path]) -> torch.Tensor:
        """Return images (N, 3, side, side), padded to squares with the tower's mean colour, resized, normalised."""
        squares = [pad_square(open_rgb(p), self._fill) for p in paths]
        made: torch.Tensor = self.processor.image_processor(squares, return_tensors="pt")["pixel_values"]
        return made

    def __call__(self, records: Sequence[Record], root: Path) -> Batch:
        """Collate: each image once, prompt and answer ids for each record.

        Raises:
            BadArgument: A record shows several images, or its prompt has another number of image places than images.
        """
        paths = list(dict.fromkeys(image for r in records for image in r.image))
        rendered = [self.render(r) for r in records]
        for record, (prompt, _) in zip(records, rendered, strict=True):
            places = prompt.count(self.processor.image_token)
            if places != len(record.image) or places > 1:
                raise BadArgument(
                    f"messages of {record.id}",
                    prompt,
                    f"one {self.processor.image_token} and one image, or neither; it has {len(record.image)} image(s)",
                    "leave the task out of data.tasks, or curate it again",
                )
        encoded = [self.encode(*r) for r in rendered]
        tensors: dict[str, Any] = {
            "rendered": [prompt for prompt, _ in rendered],
            "prompt_ids": [prompt for prompt, _ in encoded],
            "answer_ids": [answer for _, answer in encoded],
        }
        if paths:
            tensors["images"] = self.pixels([root / p for p in paths])
        return Batch(records, [paths.index(r.image[0]) if r.image else -1 for r in records], tensors)
