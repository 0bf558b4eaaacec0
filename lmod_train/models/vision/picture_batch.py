"""Batches of classifiers: crops, whole images or features, and the class of each."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lmod_train.core.types import Batch, Record


class CropBatch(Batch):
    """Crops of records, one for each region or one for the whole image.

    Attributes:
        records: One per question.
        crops: (crops, 3, side, side), uint8, 0 to 255, channels last in memory.
        targets: Class of each crop (crops), an index into the choices.
        owners: For each crop the index of its record in `records`.
    """

    def __init__(self, records: Sequence[Record], crops: Tensor, targets: Tensor, owners: Sequence[int]) -> None:
        super().__init__(records)
        self.crops, self.targets, self.owners = crops, targets, list(owners)


class FeatureBatch(Batch):
    """Features of the crops of records, computed by a frozen encoder.

    Attributes:
        records: One per question.
        features: (crops, width), float32.
        targets: Class of each crop (crops), an index into the choices.
        owners: For each crop the index of its record in `records`.
    """

    def __init__(self, records: Sequence[Record], features: Tensor, targets: Tensor, owners: Sequence[int]) -> None:
        super().__init__(records)
        self.features, self.targets, self.owners = features, targets, list(owners)


class PictureBatch(Batch):
    """Whole images; in evaluation each occurs once, however many records ask about it.

    Attributes:
        records: One per question.
        images: (images, 3, size, size), normalised.
        targets: Class of each record (records), an index into the choices.
        image_of: For each record the row of its image in `images`.
    """

    def __init__(self, records: Sequence[Record], images: Tensor, targets: Tensor, image_of: Sequence[int]) -> None:
        super().__init__(records)
        self.images, self.targets, self.image_of = images, targets, list(image_of)
