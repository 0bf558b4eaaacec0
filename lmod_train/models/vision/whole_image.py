"""Dialect (collate function) of classifiers of whole images: pixels, classes, and augmentation in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import wordings
from lmod_train.core.types import Record
from lmod_train.models.vision.augmentation import (
    FAITHFUL,
    Augmentation,
    Transform,
    eval_transform,
    seeded,
    train_transform,
)
from lmod_train.models.vision.one_picture import one_picture
from lmod_train.models.vision.picture_batch import PictureBatch
from lmod_train.models.vision.published_weights import IMAGENET_MEAN, IMAGENET_STD


@dataclass(frozen=True)
class WholeImages:
    """Collates the plain images of records, without drawn boxes.

    The dialect itself prepares images for evaluation, each once however many records ask about it. `training` returns
    the dialect of one epoch, in which the image of each record is augmented with the seed (seed, epoch, record id).

    Attributes:
        choices: Words a reply may use, in the order of the classes.
        size: Side of the input in pixels.
        augmentation: Settings of the transforms.
        epoch: (seed, epoch) of the training dialect; None in evaluation.
        mean: Mean of the channels that is subtracted, for values in [0, 1].
        std: Standard deviation of the channels, likewise.
    """

    choices: tuple[str, ...]
    size: int = 224
    augmentation: Augmentation = FAITHFUL
    epoch: tuple[int, int] | None = None
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD

    def training(self, seed: int, epoch: int) -> WholeImages:
        """Return the dialect of one epoch of training."""
        return replace(self, epoch=(seed, epoch))

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> PictureBatch:
        """Collate.

        Args:
            records: Records, each with one line in its reference reply.
            root: The curated folder.

        Returns:
            The distinct images and the class of each record; empty without records.

        Raises:
            BadArgument: A record has no image or several, or its reference reply is not exactly one choice.
            ArtifactError: An image is missing or damaged.
        """
        rows: dict[str, int] = {}
        images = []
        for record in records:
            if self._key(record) not in rows:
                rows[self._key(record)] = len(rows)
                images.append(self._pixels(record, Curated.of(root)))
        stacked = torch.stack(images) if images else torch.zeros(0, 3, self.size, self.size)
        targets = torch.tensor([self.target(r) for r in records], dtype=torch.long)
        return PictureBatch(records, stacked, targets, [rows[self._key(r)] for r in records])

    def target(self, record: Record) -> int:
        """Return the class of a record, read from its reference reply.

        Raises:
            BadArgument: The reply is not one of the choices, or has several lines.
        """
        lines = wordings(record, self.choices)
        if len(lines) != 1:
            expected = f"a task with one answer per image ({record.id} has {len(lines)})"
            cure = "train the CNN on it (configs/model/cnn.yaml), which classifies regions"
            raise BadArgument("data.tasks", record.task, expected, cure)
        return lines[0].target

    def _key(self, record: Record) -> str:
        """Return the key of shared pixels: the image in evaluation, the record in training."""
        picture = one_picture(record)
        return picture if self.epoch is None else record.id

    def _pixels(self, record: Record, images: Curated) -> torch.Tensor:
        picture = images.rgb(one_picture(record))
        if self.epoch is None:
            return self._transform(picture)
        with seeded(*self.epoch, record.id):
            return self._transform(picture)

    @cached_property
    def _transform(self) -> Transform:
        make = eval_transform if self.epoch is None else train_transform
        return make(self.augmentation, self.size, self.mean, self.std)
