"""Dialect (collate function) of classifiers of regions: crops, and the class of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import wordings
from lmod_train.core.types import Record
from lmod_train.models.vision.crop_table import Crop, Pixels, Resampling, crop_table, crops_of, cut_all
from lmod_train.models.vision.picture_batch import CropBatch
from lmod_train.models.vision.table import Table


@dataclass(frozen=True)
class Crops:
    """Collates one square crop per region, or the padded image of a record without regions.

    Crops are cut from the plain image, without drawn boxes, and stretched to the square; whole images are padded. The
    class is the choice at the end of each line of the reference reply.

    Attributes:
        choices: Words a reply may use, in the order of the classes.
        side: Side of the square crop in pixels.
        resampling: Interpolation of the resizing.
        table: Crops that are cut already; others are cut when they are collated.
    """

    choices: tuple[str, ...]
    side: int = 128
    resampling: Resampling = "bilinear"
    table: Table[Crop] | None = None

    def prepared(
        self,
        records: Sequence[Record],
        root: Path | Curated,
        place: Literal["disk", "memory"],
        share: tuple[int, int] = (0, 1),
    ) -> Crops:
        """Return this dialect with a table of the crops of all these records, see `crop_table`.

        Raises:
            ArtifactError: A curated image is missing or damaged.
            BadArgument: A record has no image or several, or the curated folder cannot be written to.
        """
        crops = (crop for record in records for crop in crops_of(record))
        return replace(self, table=crop_table(crops, root, self.side, self.resampling, place, share))

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> CropBatch:
        """Collate.

        Args:
            records: Records, each with one image.
            root: The curated folder.

        Returns:
            The crops, with the class and the record of each; empty without records.

        Raises:
            BadArgument: A record has no image or several, or its reference reply does not name a choice per region.
            ArtifactError: A curated image is missing or damaged.
        """
        crops, targets, owners = labelled(records, self.choices)
        stacked = torch.from_numpy(self.pixels(crops, root)).permute(0, 3, 1, 2)
        return CropBatch(records, stacked, targets, owners)

    def pixels(self, crops: Sequence[Crop], root: Path | Curated) -> Pixels:
        """Return crops (crops, side, side, 3), from the table if it contains all of them, else from the images."""
        if self.table is not None and all(crop in self.table for crop in crops):
            return self.table.take(crops)
        return cut_all(crops, root, self.side, self.resampling, threads=1)  # loaders have several processes


def labelled(records: Sequence[Record], choices: Sequence[str]) -> tuple[list[Crop], Tensor, list[int]]:
    """Return the crops of records, the class of each (crops), and for each the index of its record.

    Raises:
        BadArgument: A record has no image or several, or its reference reply does not name a choice per region.
    """
    crops: list[Crop] = []
    targets: list[int] = []
    owners: list[int] = []
    for row, record in enumerate(records):
        own = crops_of(record)
        crops += own
        targets += _targets(record, choices, len(own))
        owners += [row] * len(own)
    return crops, torch.tensor(targets, dtype=torch.long), owners


def _targets(record: Record, choices: Sequence[str], wanted: int) -> list[int]:
    """Return the classes of a record, one per line of its reference reply."""
    lines = wordings(record, choices)
    if len(lines) != wanted:
        expected = f"{wanted} line(s), each ending with one of the task's choices {list(choices)}"
        cure = f"curate again with the task's present options (record {record.id})"
        raise BadArgument("data.tasks", record.answer, expected, cure)
    return [line.target for line in lines]
