"""Rendering of records and their pictures for any class of transformers, by its own processor in one call.

Unlike `lmod_train.models.chat.dialect.Dialect`, it knows nothing about the class: the processor makes all inputs of the
network, at the time of generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.core.pixels import too_thin
from lmod_train.core.types import Batch, Message, Part, Record
from lmod_train.models.chat.checkpoint import config_of, prepare, processor_of
from lmod_train.models.chat.family import family_of, is_known
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.rendering import Rendering


class PlainBatch(Batch):
    """A batch of records with their prompts and decoded pictures.

    Attributes:
        records: One record for each question.
        rendered: Each prompt as text, with one image marker per image.
        pictures: For each record its pictures in the order of its prompt, RGB.
        refused: Index of a record that cannot be asked -> why.
    """

    def __init__(
        self, records: Sequence[Record], rendered: Sequence[str], pictures: Sequence[Sequence[Image.Image]]
    ) -> None:
        super().__init__(records)
        self.rendered, self.pictures = list(rendered), [list(own) for own in pictures]
        self.refused: dict[int, str] = {}


class PlainDialect:
    """Collates records into a `PlainBatch`, and makes the inputs of the network from it.

    Args:
        folder: A checkpoint in transformers layout; its weights are not read.
        prompting: Template, system text, stop words and thinking.
        pictures: Shape, pixel limits and number of tiles.

    Raises:
        WeightsMismatch: It has no processor or no chat template.
        BadArgument: An option does not apply to it.

    Attributes:
        pictures: Options of pictures, with what is done by default.
        end: Text that ends an answer: the special token that the template writes there, else the tokenizer's.
        end_id: Id of its token, at which generation stops.
    """

    def __init__(self, folder: Path, prompting: Prompting = Prompting(), pictures: Pictures = Pictures()) -> None:
        config = config_of(folder)
        self.model_type, self.prompting = config.model_type, prompting
        self.processor: Any = processor_of(folder)
        if not all(hasattr(self.processor, part) for part in ("tokenizer", "image_processor")):
            cure = "add the processor files that were published with these weights"
            raise WeightsMismatch(str(folder), ["processor_config.json"], [], cure)
        self._family = family_of(config) if is_known(self.model_type) else None
        if self._family:
            prepare(self._family, self.processor, folder)
        self.pictures = pictures.resolved(self.processor, known=self._family is not None)
        self.pictures.apply(self.processor)
        if self._family:
            self._family.fit = self.pictures.fit or "pad"
        self.rendering = Rendering(self.processor, prompting, folder)
        self.tokenizer = self.processor.tokenizer
        self.tokenizer.padding_side = "left"
        self.end, self.end_id = self._ending()

    def _ending(self) -> tuple[str, int]:
        try:
            return self.rendering.ending()
        except WeightsMismatch:  # it renders no replies, or a thinking block only in prompts
            return self.tokenizer.eos_token, int(self.tokenizer.eos_token_id)

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> PlainBatch:
        """Return records as a batch; a picture that several records show is decoded once.

        A record whose words contain the model's image token or a control token such as ``</s>``, or whose image no
        model can be shown, is named in `PlainBatch.refused`.

        Raises:
            BadArgument: A record's messages or prompt have another number of image places than it has images.
        """
        files = dict.fromkeys(image for record in records for image in record.image)
        images = Curated.of(root)
        opened = {image: images.rgb(image) for image in files}
        thin = {image: f"{image}: {why}" for image, picture in opened.items() if (why := too_thin(picture))}
        decoded = {image: picture if image in thin else self._shaped(picture) for image, picture in opened.items()}
        rendered = [self.rendering.prompt(record) for record in records]
        batch = PlainBatch(records, rendered, [[decoded[image] for image in record.image] for record in records])
        for i, (record, prompt) in enumerate(zip(records, rendered, strict=True)):
            why = next((thin[image] for image in record.image if image in thin), "") or self.rendering.refusal(record)
            if why:
                batch.refused[i] = why
            else:
                self.rendering.check_markers(record, prompt)
        return batch

    def _shaped(self, picture: Image.Image) -> Image.Image:
        if self._family:
            return self._family.shaped(picture, self.processor)
        return self.pictures.shaped(picture, self.processor)

    def inputs(self, batch: PlainBatch, rows: Sequence[int]) -> Any:
        """Return the processor's result for rows of a batch, padded on the left to the longest.

        Args:
            batch: A batch that this dialect made.
            rows: Rows with the same number of pictures; at least one.

        Raises:
            BadArgument: The processor refuses the rows, e.g. as its class needs a picture or takes only one.
        """
        texts, pictures = [batch.rendered[row] for row in rows], [batch.pictures[row] for row in rows]
        options: dict[str, Any] = {"padding": True} if len(rows) > 1 else {}
        if self.rendering.begins(texts[0]):  # the template has written it already
            options["add_special_tokens"] = False
        try:
            made = self.processor(text=texts, images=pictures if pictures[0] else None, return_tensors="pt", **options)
        except Exception as error:  # processors raise errors of many types
            raise self._refused(batch, rows[0], error) from error
        made.pop("labels", None)  # PaliGemma's processor returns them without being asked
        return made

    def answer_ids(self, batch: PlainBatch, row: int, answer: str, begun: Sequence[int]) -> list[int]:
        """Return the token ids of an answer and its end token, as they continue a prompt.

        Args:
            batch: A batch that this dialect made.
            row: Row of the prompt.
            answer: Words of the answer.
            begun: Token ids of the prompt, as `inputs` makes them.

        Raises:
            WeightsMismatch: The template renders the prompt differently before an answer.
        """
        _, text = self.rendering.render(replace(batch.records[row], answer=answer), self.end)
        whole = PlainBatch(batch.records, [prompt + text for prompt in batch.rendered], batch.pictures)
        ids = self.inputs(whole, [row])["input_ids"][0].tolist()
        if ids[: len(begun)] == list(begun):
            return list(ids[len(begun) :])
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)  # PaliGemma's ends prompts with a line

    def probes(self, questions: Sequence[str], picture: Image.Image) -> PlainBatch:
        """Return a batch of questions about one picture, in turns of the chat template."""
        parts = [(Part("image"), Part("text", question)) for question in questions]
        prompts = [self.rendering.asked(self.rendering.turns([Message("user", own)])) for own in parts]
        return PlainBatch([], prompts, [[self._shaped(picture)]] * len(questions))

    def _refused(self, batch: PlainBatch, row: int, error: Exception) -> BadArgument:
        return BadArgument(
            f"images of {batch.records[row].id if batch.records else 'a trial'}",
            len(batch.pictures[row]),
            f"a number of images that the processor of {self.model_type} takes ({type(error).__name__}: {error})",
            "leave the task out of data.tasks, or evaluate it with another model",
        )
