"""The dialect of a checkpoint: how records are rendered and tokenised, and how their images are preprocessed.

A dialect needs the configuration, tokenizer and processor only, not the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.pixels import too_thin
from lmod_train.core.types import Record
from lmod_train.models.chat.base_files import processor_files
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.checkpoint import config_of, prepare, processor_of
from lmod_train.models.chat.encoding import Images, verify_tokens
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.rendering import Rendering


class Dialect:
    """Collates records into a `ChatBatch`, by the chat template, tokenizer and image processor of a checkpoint.

    Args:
        folder: A checkpoint in transformers layout; its weights are not read.
        prompting: Template, system text, stop words and thinking.
        pictures: Shape, pixel limits and number of tiles.

    Raises:
        WeightsMismatch: Its processor cannot be read or belongs to another class, or it has no chat template, or one
            that raises an error, or whose prompt is no prefix of the training text.
        BadArgument: Its family is unknown, or an option does not apply to it.

    Attributes:
        pictures: Options of pictures, with what is done by default.
        end: Text that ends an answer: the special token that the template writes there, else the tokenizer's.
        end_id: Id of its token, at which generation stops.
    """

    def __init__(self, folder: Path, prompting: Prompting = Prompting(), pictures: Pictures = Pictures()) -> None:
        self.config: Any = config_of(folder)
        self.family = family_of(self.config)
        self.processor: Any = processor_of(folder)
        prepare(self.family, self.processor, folder)
        self.pictures = pictures.resolved(self.processor, known=True)
        self.pictures.apply(self.processor)
        self.family.fit = self.pictures.fit or "pad"
        self.prompting, self.tokenizer = prompting, self.processor.tokenizer
        self._folder, self._changed = folder, bool(prompting.template or pictures.settings())
        self._rendering = Rendering(self.processor, prompting, folder)
        self.end, self.end_id = self._rendering.ending()

    def files(self) -> dict[str, bytes]:
        """Return name -> content of the files of tokenizer, processor and template, as the options change them."""
        files = processor_files(self._folder)
        if not self._changed:
            return files
        files.pop("preprocessor_config.json", None)  # the older form of a part of processor_config.json
        with TemporaryDirectory() as folder:
            self.processor.save_pretrained(folder)
            return files | processor_files(Path(folder))

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
        places = [self._rendering.ids(text).count(self.family.image_token_id) for text in expansions]
        return Images(items, places), expansions

    def verify(self, config: Any) -> None:
        """Check that a network of this configuration makes as many embeddings of a picture as there are image tokens.

        Raises:
            WeightsMismatch: The numbers differ.
        """
        verify_tokens(config, self.images([Image.new("RGB", (120, 90))]))

    def render(self, record: Record) -> tuple[str, str]:
        """Return the prompt as sent, with one marker per image, and the text that follows it in training.

        The second text is empty for a record without an answer, which can be used for inference only. See `Rendering`.

        Raises:
            WeightsMismatch: The template renders the prompt differently before an answer.
            BadArgument: The template does not render the record's system message as such.
        """
        return self._rendering.render(record, self.end)

    def plain_prompt(self, record: Record, root: Path | Curated) -> list[int]:
        """Return the ids that transformers alone makes of the rendered prompt, in one call on our pictures.

        These are the ids that the tuned model gets when it is used with transformers without this package.
        """
        curated = Curated.of(root)
        pictures = [self.shaped(curated.rgb(name)) for name in record.image]
        turns, options = self._rendering.turns(record.messages, pictures), {"return_dict": True, "return_tensors": "pt"}
        made = self._rendering.apply(turns, tokenize=True, add_generation_prompt=True, **options)
        return list(map(int, made["input_ids"][0]))

    def encode(self, prompt: str, answer: str, expansions: Sequence[str] = ()) -> tuple[list[int], list[int]]:
        """Return the token ids of the prompt, its image markers expanded, and of the text that follows it.

        Args:
            prompt: As `render` returns it.
            answer: As `render` returns it.
            expansions: The text that replaces the marker of each image, in order; further markers are kept.
        """
        marker, left = self.processor.image_token, iter(expansions)
        prompt = re.sub(re.escape(marker), lambda _: next(left, marker), prompt)
        return self._rendering.continued(prompt, answer)

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> ChatBatch:
        """Return records as a batch: each distinct image once, prompt and answer ids for each record.

        A record whose words contain the model's image token or a control token such as ``</s>``, or whose image no
        model can be shown, has no prompt; one whose answer contains it has no answer. Both are named in
        `ChatBatch.refused`.

        Raises:
            BadArgument: A record's messages or prompt have another number of image places than it has images.
        """
        rendered = [self.render(r) for r in records]
        shown = [self._shown(r) for r in records]
        curated = Curated.of(root)
        pictures = {name: curated.rgb(name) for name in dict.fromkeys(name for r in records for name in r.image)}
        refused = {i: why for i, record in enumerate(records) if (why := self._refusal(record, pictures))}
        for i, (record, (prompt, _)) in enumerate(zip(records, rendered, strict=True)):
            if i not in refused:
                self._rendering.check_markers(record, prompt)
        used = dict.fromkeys(image for i, own in enumerate(shown) if i not in refused for image in own)
        rows = {image: row for row, image in enumerate(used)}
        images, expansions = self._prepared((pictures[path], beside) for path, beside in rows)
        images_of = [() if i in refused else tuple(rows[image] for image in own) for i, own in enumerate(shown)]
        encoded: list[tuple[list[int], list[int]]] = []
        for i, (record, (prompt, answer), own) in enumerate(zip(records, rendered, images_of, strict=True)):
            if i in refused:
                encoded.append(([], []))
                continue
            ids = self.encode(prompt, answer, [expansions[row] for row in own])
            places, token = sum((images.tokens or [])[row] for row in own), self.family.image_token_id
            if ids[0].count(token) != places:  # the token in another spelling than the marker
                refused[i], images_of[i], ids = self._rendering.image_token_in("words"), (), ([], [])
            elif why := self._rendering.refused_answer(record.taught):
                refused[i], ids = why, (ids[0], [])
            elif token in ids[1]:
                refused[i], ids = self._rendering.image_token_in("answer"), (ids[0], [])
            encoded.append(ids)
        batch = ChatBatch(
            records,
            prompt_ids=[prompt for prompt, _ in encoded],
            answer_ids=[answer for _, answer in encoded],
            rendered=[prompt for prompt, _ in rendered],
            images=images,
            images_of=images_of,
        )
        batch.refused = refused
        batch.leads = [self._lead(record, ids) for record, (_, ids) in zip(records, encoded, strict=True)]
        return batch

    def _lead(self, record: Record, target: Sequence[int]) -> int:
        """Return how many tokens of a target are those of the answer that it begins with; 0 for an answer alone."""
        if not (record.target and target):
            return 0
        _, alone = self.encode(*self.render(replace(record, target="")))
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(alone, target, strict=False)))

    def _refusal(self, record: Record, pictures: Mapping[str, Image.Image]) -> str:
        """Return why a record cannot be asked; empty if it can."""
        thin = next((f"{path}: {why}" for path in record.image if (why := too_thin(pictures[path]))), "")
        return thin or self._rendering.refusal(record)

    def _shown(self, record: Record) -> list[tuple[str, bool]]:
        """Return a record's images, each with whether the family prepares it as one of several images of a prompt."""
        beside = self.family.differs_beside and len(record.image) > 1
        return [(path, beside) for path in record.image]
