"""The dialect of classifiers that look at regions: crops, and the class of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image

from lmod_train.errors import BadArgument
from lmod_train.models.crop_table import Crop, CropTable, Pixels, Resampling, crop_table, crops_of, cut
from lmod_train.models.pixels import open_rgb
from lmod_train.models.wording import wordings
from lmod_train.types import Batch, Record


@dataclass(frozen=True)
class Crops:
    """One square crop a region, or the whole padded picture where a record has no regions.

    Crops are cut from the plain picture, without drawn frames, and stretched to the square; whole pictures are padded.
    Classes are read from the reference reply, which is in the prompt's own words: what stands last in each line.

    Attributes:
        choices: Words a reply may use, in the order of the classes.
        side: Of the square crop in pixels.
        resampling: How crops are resized.
        table: Crops that have been cut before; any other is cut when it is asked for.
    """

    choices: tuple[str, ...]
    side: int = 128
    resampling: Resampling = "bilinear"
    table: CropTable | None = None

    def prepared(self, records: Sequence[Record], root: Path, place: Literal["disk", "memory"]) -> Crops:
        """Return this dialect with the crops of all these records cut, on disk or in memory.

        Raises:
            ArtifactError: A curated picture is missing or damaged.
            BadArgument: A record has no image, or the curated folder cannot be written to.
        """
        crops = (crop for record in records for crop in crops_of(record))
        return replace(self, table=crop_table(crops, root, self.side, self.resampling, place))

    def __call__(self, records: Sequence[Record], root: Path) -> Batch:
        """Collate.

        Args:
            records: Each with an image.
            root: The curated folder.

        Returns:
            A batch of `crops` (crops, 3, side, side), uint8 with the channels last in memory; `targets` (crops), and
            `owners`, for each crop its record's place. No records: no crops.

        Raises:
            BadArgument: A record has no image, or its reference reply does not name one of the choices a region.
            ArtifactError: A curated picture is missing or damaged.
        """
        wanted: list[Crop] = []
        targets: list[int] = []
        owners: list[int] = []
        for row, record in enumerate(records):
            crops = crops_of(record)
            wanted += crops
            targets += self.targets(record, len(crops))
            owners += [row] * len(crops)
        stacked = torch.from_numpy(self.pixels(wanted, root)).permute(0, 3, 1, 2)
        tensors: dict[str, Any] = {"crops": stacked, "targets": torch.tensor(targets, dtype=torch.long)}
        return Batch(records, [-1] * len(records), tensors | {"owners": owners})

    def pixels(self, crops: Sequence[Crop], root: Path) -> Pixels:
        """Return crops (crops, side, side, 3) out of the table where they all are in it, else out of the pictures."""
        if self.table is not None and all(crop in self.table for crop in crops):
            return self.table.take(crops)
        pixels = np.empty((len(crops), self.side, self.side, 3), np.uint8)
        opened: dict[str, Image.Image] = {}
        for row, crop in enumerate(crops):
            if crop.image not in opened:
                opened[crop.image] = open_rgb(root / crop.image)
            pixels[row] = cut(opened[crop.image], crop.box, self.side, self.resampling)
        return pixels

    def targets(self, record: Record, wanted: int) -> list[int]:
        """Return the classes of a record, one a line of its reference reply.

        Raises:
            BadArgument: It has not `wanted` lines, or one ends in none of the choices.
        """
        lines = wordings(record, self.choices)
        if len(lines) != wanted:
            raise BadArgument(
                "data.tasks",
                record.answer,
                f"{wanted} line(s), each ending in one of the task's choices {list(self.choices)}",
                f"curate again with the task's present options (record {record.id})",
            )
        return [line.target for line in lines]
