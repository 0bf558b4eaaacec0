"""Zero-shot classification: the choice whose words are most similar to the image, by an image and a text tower."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image
from torch import Tensor
from torch.nn import functional

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Batch, Identity, Record, Reply, class_path
from lmod_train.extensions.clip.prompts import Classes, Prompts
from lmod_train.extensions.clip.towers import Towers
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.vision.one_picture import one_picture
from lmod_train.models.vision.picture_batch import PictureBatch


@dataclass(frozen=True)
class WholePictures:
    """Collates the plain images of records, each once however many records ask about it.

    Attributes:
        transform: The towers' preprocessing.
    """

    transform: Callable[[Image], Tensor]

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> PictureBatch:
        """Return the batch; its classes are not set, as they differ from record to record."""
        rows = {picture: row for row, picture in enumerate(dict.fromkeys(map(one_picture, records)))}
        pixels = [self.transform(Curated.of(root).rgb(picture)) for picture in rows]
        stacked = torch.stack(pixels) if pixels else torch.zeros(0)
        return PictureBatch(records, stacked, torch.zeros(0), [rows[one_picture(record)] for record in records])


class ZeroShot(LmodModule):
    """Answers closed questions about whole images without training, by the similarity of image and words.

    The embeddings of a choice's prompts are normalised, averaged and normalised again, as in CLIP (Radford et al.
    2021, section 3.1.4). The reply is the most similar choice in the requested format. Its likelihoods are the log
    softmax of the cosine similarities times the model's logit scale; models with a sigmoid loss (SigLIP) were not
    trained with a softmax, so that their likelihoods rank but may be uncalibrated.

    Args:
        towers: The image and the text tower.
        prompts: Words of the choices, and the sentences around them.
        name: Name of the model in replies and reports.
    """

    def __init__(self, towers: Towers, prompts: Prompts = Prompts(), name: str = "clip") -> None:
        super().__init__()
        self.towers, self._prompts, self._name = towers, prompts, name
        self.collate = WholePictures(towers.transform)
        self._embedded: dict[Classes, Tensor] = {}

    def setup(self, stage: str) -> None:
        """Check all records before the first batch.

        Raises:
            BadArgument: A record shows no image or several, asks about regions or has an open answer; or a choice has
                no words.
        """
        data: Any = getattr(self.trainer, "datamodule", None)
        _refuse_others(data.records("all") if data is not None else ())
        for record in data.records("all") if data is not None else ():
            self._prompts.of(record)

    def configure_model(self) -> None:
        """Build the towers and load their weights."""
        self.towers.build()

    def identity(self) -> Identity:
        """Return the files of the towers, and the prompts."""
        kind = {"module": class_path(type(self)), "towers": class_path(type(self.towers)), **self.towers.settings}
        return Identity(self.towers.files, settings={**kind, "prompts": self._prompts.settings()})

    @property
    def weights_origin(self) -> str:
        """The first file of the towers."""
        return str(self.towers.files[0])

    def embedded(self, pixels: Tensor) -> Tensor:
        """Return the unit vectors (images, width) of inputs of the image tower."""
        return functional.normalize(self.towers.images(pixels.to(self.dtype)).float(), dim=1)

    def logits(self, images: Tensor, classes: Classes) -> Tensor:
        """Return the scaled cosine similarities (images, classes) of unit vectors (images, width) and classes."""
        return self.towers.scale * images @ self._directions(classes).T

    @torch.no_grad()
    def _directions(self, classes: Classes) -> Tensor:
        """Return the unit vectors (classes, width) of classes, computed once."""
        if classes not in self._embedded:
            each = [functional.normalize(self.towers.texts(prompts).float(), dim=1).mean(0) for prompts in classes]
            self._embedded[classes] = functional.normalize(torch.stack(each), dim=1)
        return self._embedded[classes].to(self.device)

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the most similar choice as a reply to each record, in the requested format."""
        own = PictureBatch.of(batch)
        if not len(own):
            return []
        images = self.embedded(own.images)
        return [self._reply(record, images[row]) for record, row in zip(own.records, own.image_of, strict=True)]

    def _reply(self, record: Record, image: Tensor) -> Reply:
        classes = self._prompts.of(record)
        scores = functional.log_softmax(self.logits(image[None], classes)[0], dim=0).tolist()
        texts = replies_of(record)
        found = {choice: round(score, 6) for choice, score in zip(record.choices, scores, strict=True)}
        asked = "\n".join(f"{c}: {' | '.join(prompts)}" for c, prompts in zip(record.choices, classes, strict=True))
        rendered = f"<image>\n{asked}"
        return Reply(
            record.id, texts[max(found, key=found.__getitem__)], rendered=rendered, model=self._name, likelihoods=found
        )


def _refuse_others(records: Iterable[Record]) -> None:
    """Refuse records that cannot be answered by comparing one whole image with words.

    Raises:
        BadArgument: There is one; the error names the tasks without.
    """
    refused: dict[str, Record] = {}
    tasks = set()
    for record in records:
        tasks.add(record.task)
        if len(record.image_plain) != 1 or not replies_of(record):
            refused.setdefault(record.task, record)
    if refused:
        left = ",".join(sorted(tasks - refused.keys()))
        first = next(iter(refused.values()))
        expected = (
            f"closed questions about one whole image, as only its words are compared with it ({first.id} is none)"
        )
        cure = f"`--data.tasks {left}`" if left else "ask a model that reads the prompt, e.g. `--model small_base`"
        raise BadArgument("data.tasks", ",".join(sorted(refused)), expected, cure)
