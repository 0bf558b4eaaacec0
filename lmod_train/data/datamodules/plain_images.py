"""Batches for a LightningModule without a dialect of its own: an image and a class for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor
from torchvision.transforms.functional import pil_to_tensor

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import wordings
from lmod_train.core.types import Batch, Record

_NO_CLASS = -100


class PlainBatch(Batch):
    """Images and classes.

    Attributes:
        records: One per question.
        images: (questions, 3, side, side), 0 to 1, in the data type of the module that is trained.
    """

    def __init__(self, records: Sequence[Record], images: Tensor, targets: Tensor) -> None:
        super().__init__(records)
        self.images, self._targets = images, targets
        self._strange = next((r for r, t in zip(self.records, targets.tolist(), strict=True) if t == _NO_CLASS), None)

    @property
    def targets(self) -> Tensor:
        """Class of each question (questions), int64, an index into the choices of its task.

        Raises:
            BadArgument: An answer is not one class: it is free, has several lines, or is none of the choices.
        """
        if self._strange is not None:
            task, answer = self._strange.task, self._strange.answer[:80]
            cure = "leave the task out, state its classes in `PlainImages.choices`, or set `data.collate`"
            raise BadArgument("data.tasks", task, f"one class an answer, not {answer!r}", cure)
        return self._targets


@dataclass(frozen=True)
class PlainImages:
    """Collates the images of records, resized to squares as they are shown in the question, drawn boxes included.

    Attributes:
        side: Side of the images in pixels.
        choices: Task -> its classes in their order; a task that is absent has the choices of each record.
    """

    side: int = 224
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> PlainBatch:
        """Collate.

        Args:
            records: Records with one image; may be empty.
            root: The curated folder.

        Raises:
            BadArgument: A record has no image, or several.
            ArtifactError: An image is missing or damaged.
        """
        names = [_only_image(record) for record in records]
        images = {name: self._pixels(name, Curated.of(root)) for name in dict.fromkeys(names)}
        stacked = [images[name] for name in names]
        targets = torch.tensor([self._target(record) for record in records], dtype=torch.long)
        return PlainBatch(
            records, torch.stack(stacked) if stacked else torch.zeros(0, 3, self.side, self.side), targets
        )

    def _pixels(self, name: str, images: Curated) -> Tensor:
        square = images.rgb(name).resize((self.side, self.side), Image.Resampling.BICUBIC)
        pixels: Tensor = pil_to_tensor(square)
        return pixels.float() / 255

    def _target(self, record: Record) -> int:
        try:
            lines = wordings(record, self.choices.get(record.task, record.choices))
        except BadArgument:  # a free answer, or the letter of an option
            return _NO_CLASS
        return lines[0].target if len(lines) == 1 else _NO_CLASS


def _only_image(record: Record) -> str:
    if len(record.image) != 1:
        expected = f"one image per record ({record.id} has {len(record.image) or 'none'})"
        cure = "leave the task out, or set `data.collate` to a function that takes such records"
        raise BadArgument("data.tasks", record.task, expected, cure)
    return record.image[0]
