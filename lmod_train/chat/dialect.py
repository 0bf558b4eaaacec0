"""The dialect of a checkpoint: how records are rendered and tokenised, and how their images are preprocessed.

A dialect needs the configuration, tokenizer and processor only, not the network. Training and inference use the same
rendering: the training text is the inference prompt, the answer and the end token, so that the inference prompt is a
prefix of the training text and the model learns to stop. (The chat template of the llava-hf checkpoints writes no end
token after an answer; a model tuned with it unchanged never learns to stop.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from transformers import AutoConfig, AutoProcessor

from lmod_train.chat.batch import ChatBatch
from lmod_train.chat.encoding import Images, verify_tokens
from lmod_train.chat.family import family_of
from lmod_train.chat.system_message import check_system_message
from lmod_train.errors import BadArgument, WeightsMismatch
from lmod_train.pixels import open_rgb
from lmod_train.types import Part, Record

_PREFIX = "a generation prompt that is a prefix of the rendered answer"


class Dialect:
    """Collates records into a `ChatBatch`, by the chat template, tokenizer and image processor of a checkpoint.

    Args:
        folder: A checkpoint in transformers layout; its weights are not read.

    Raises:
        WeightsMismatch: It has no chat template, or one whose prompt is no prefix of the training text.
        BadArgument: Its family is unknown.

    Attributes:
        end: Text that ends an answer: the special token that the template writes there, else the tokenizer's.
        end_id: Id of its token, at which generation stops.
    """

    def __init__(self, folder: Path) -> None:
        self.config: Any = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        self.family = family_of(self.config)
        self.processor: Any = AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        self.family.prepare(self.processor)
        self.tokenizer: Any = self.processor.tokenizer
        if not self.processor.chat_template:
            raise WeightsMismatch(
                str(folder),
                ["chat_template"],
                [],
                "add the chat_template.jinja that was published with these weights; without it the prompt is unknown",
            )
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.unk_token or self.tokenizer.eos_token
        self.end, self.end_id = self._ending()

    def shaped(self, picture: Image.Image) -> Image.Image:
        """Return a picture padded to the shape that the family was trained on."""
        return self.family.shaped(picture, self.processor)

    def images(self, pictures: Sequence[Image.Image]) -> Images:
        """Return RGB pictures as input of the network, with the number of image tokens of each in a prompt."""
        return self._prepared([(picture, False) for picture in pictures])[0]

    def _prepared(self, pictures: Iterable[tuple[Image.Image, bool]]) -> tuple[Images, list[str]]:
        """Return the images, and for each the text that replaces its marker in a prompt.

        Args:
            pictures: RGB pictures, each with whether it is prepared as one of several images of a prompt.
        """
        items, expansions = [], []
        for picture, beside in pictures:
            made = self.family.processed(picture, self.processor, beside)
            items.append(self.family.item(made))
            expansions.append(str(self.processor.replace_image_token(made, 0)))
        places = [self._ids(text).count(self.family.image_token_id) for text in expansions]
        return Images(items, places), expansions

    def verify(self, config: Any) -> None:
        """Check that a network of this configuration makes as many embeddings of a picture as there are image tokens.

        Raises:
            WeightsMismatch: The numbers differ.
        """
        verify_tokens(config, self.images([Image.new("RGB", (120, 90))]))

    def render(self, record: Record) -> tuple[str, str]:
        """Return the prompt as sent, with one marker per image, and the text that follows it in training.

        The words of the record are not changed, but a template may trim the spaces around them (Gemma's does), and
        white space at the ends of the answer is removed, as in replies. The second text is empty for a record without
        an answer, which can be used for inference only.

        Raises:
            WeightsMismatch: The template renders the prompt differently before an answer.
            BadArgument: The template does not render the record's system message as such.
        """
        turns, answer = _turns(record), record.answer.strip()
        check_system_message(self._apply, turns, self.tokenizer.name_or_path)
        if not answer:
            return self._apply(turns, add_generation_prompt=True), ""
        prompt, lead, _ = self._written(turns, answer)
        return prompt, lead + answer + self.end

    def plain_prompt(self, record: Record, root: Path) -> list[int]:
        """Return the prompt's token ids as transformers alone computes them, in one call on our pictures.

        These are the ids that the tuned model gets when it is used with transformers without this package.
        """
        pictures = [self.shaped(open_rgb(root / image)) for image in record.image]
        made = self._apply(
            _turns(record, pictures), tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        )
        return list(map(int, made["input_ids"][0]))

    def _written(self, turns: list[dict[str, Any]], answer: str) -> tuple[str, str, str]:
        """Return the prompt, the white space between it and the answer, and the text after the answer.

        White space at the end of the prompt may differ before an answer (LLaVA-OneVision's template writes a space
        between `assistant` and the line break, but not in its generation prompt). Training then uses that of inference.
        """
        answered = [*turns, {"role": "assistant", "content": [{"type": "text", "text": answer}]}]
        prompt, whole = self._apply(turns, add_generation_prompt=True), self._apply(answered)
        begun = prompt if whole.startswith(prompt) else prompt.rstrip()
        lead, found, tail = whole[len(begun) :].partition(answer)
        if not whole.startswith(begun) or not found or lead.strip():
            raise WeightsMismatch(
                "chat_template",
                [_PREFIX],
                [],
                "give the checkpoint a chat template in which add_generation_prompt=True renders a prefix of the "
                "conversation with its answer; otherwise training and inference use different prompts (a template "
                "that opens a thinking block belongs to a reasoning model: use the instruct variant)",
            )
        return prompt, lead if begun == prompt else "", tail

    def _apply(self, turns: list[dict[str, Any]], *, tokenize: bool = False, **options: Any) -> Any:
        if "enable_thinking" in self.processor.chat_template:
            options["enable_thinking"] = False
        return self.processor.apply_chat_template(turns, tokenize=tokenize, **options)

    def _ending(self) -> tuple[str, int]:
        turns = [{"role": "user", "content": [{"type": "text", "text": "question"}]}]
        _, _, tail = self._written(turns, "answer")
        special = {str(token): i for i, token in self.tokenizer.added_tokens_decoder.items() if token.special}
        for token, i in special.items():
            if tail.lstrip().startswith(token):
                return tail[: tail.index(token) + len(token)], int(i)
        return self.tokenizer.eos_token, int(self.tokenizer.eos_token_id)

    def encode(self, prompt: str, answer: str, expansions: Sequence[str] = ()) -> tuple[list[int], list[int]]:
        """Return the token ids of the prompt, its image markers expanded, and of the text that follows it.

        Prompt and answer are tokenised together. Where that would merge the first characters of the answer into the
        last token of the prompt, the answer is tokenised alone, as the prompt must be the same without it.

        Args:
            prompt: As `render` returns it.
            answer: As `render` returns it.
            expansions: The text that replaces the marker of each image, in order; further markers are kept.
        """
        marker, left = self.processor.image_token, iter(expansions)
        prompt = re.sub(re.escape(marker), lambda _: next(left, marker), prompt)
        ids, whole = self._ids(prompt), self._ids(prompt + answer)
        if whole[: len(ids)] == ids:
            return ids, whole[len(ids) :]
        return ids, list(self.tokenizer(answer, add_special_tokens=False).input_ids)

    def _ids(self, text: str) -> list[int]:
        begins = self.tokenizer.bos_token is not None and text.startswith(self.tokenizer.bos_token)
        return list(self.tokenizer(text, add_special_tokens=not begins).input_ids)

    def __call__(self, records: Sequence[Record], root: Path) -> ChatBatch:
        """Return records as a batch: each distinct image once, prompt and answer ids for each record.

        Raises:
            BadArgument: A record's messages or prompt have another number of image places than it has images.
        """
        rendered = [self.render(r) for r in records]
        for record, (prompt, _) in zip(records, rendered, strict=True):
            self._check_markers(record, prompt)
        shown = [self._shown(r) for r in records]
        rows = {image: row for row, image in enumerate(dict.fromkeys(image for own in shown for image in own))}
        images, expansions = self._prepared((open_rgb(root / path), beside) for path, beside in rows)
        images_of = [tuple(rows[image] for image in own) for own in shown]
        encoded = []
        for record, (prompt, answer), own in zip(records, rendered, images_of, strict=True):
            ids = self.encode(prompt, answer, [expansions[row] for row in own])
            self._check_places(record, ids[0] + ids[1], sum((images.tokens or [])[row] for row in own))
            encoded.append(ids)
        return ChatBatch(
            records,
            prompt_ids=[prompt for prompt, _ in encoded],
            answer_ids=[answer for _, answer in encoded],
            rendered=[prompt for prompt, _ in rendered],
            images=images,
            images_of=images_of,
        )

    def _shown(self, record: Record) -> list[tuple[str, bool]]:
        """Return a record's images, each with whether the family prepares it as one of several images of a prompt."""
        beside = self.family.differs_beside and len(record.image) > 1
        return [(path, beside) for path in record.image]

    def _check_markers(self, record: Record, prompt: str) -> None:
        places = sum(part.type == "image" for message in record.messages for part in message.parts)
        marker, wanted = self.processor.image_token, len(record.image)
        if places != wanted:
            raise BadArgument(
                f"messages of {record.id}",
                f"{places} image part(s)",
                f"{wanted}, one for each image of the record",
                "leave the task out of data.tasks, or curate it again",
            )
        if prompt.count(marker) != wanted:
            raise BadArgument(
                f"prompt of {record.id}",
                prompt,
                f"{marker} {wanted} time(s): once for each image of the record, and not in its words",
                "use the chat template published with the weights, or leave the task out of data.tasks",
            )

    def _check_places(self, record: Record, ids: Sequence[int], places: int) -> None:
        found = ids.count(self.family.image_token_id)
        if found != places:
            raise BadArgument(
                f"messages and answer of {record.id}",
                f"{found} image tokens",
                f"{places}, all from its images; its words must not contain the model's image token",
                "leave the task out of data.tasks, or curate it again",
            )


def _turns(record: Record, pictures: Sequence[Image.Image] = ()) -> list[dict[str, Any]]:
    """Return a record's messages in the format of chat templates; with pictures, each at its place."""
    left = iter(pictures)

    def content(part: Part) -> dict[str, Any]:
        if part.type == "text":
            return {"type": "text", "text": part.text}
        return {"type": "image", "image": next(left)} if pictures else {"type": "image"}

    return [{"role": m.role, "content": [content(p) for p in m.parts]} for m in record.messages]
