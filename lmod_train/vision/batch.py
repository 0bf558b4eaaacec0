"""Records as classifiers take them: crops, whole pictures or features, and the class of each."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lmod_train.types import Batch, Record


class CropBatch(Batch):
    """Crops of records, one for each region or one for the whole picture.

    Attributes:
        records: One per question.
        crops: (crops, 3, side, side), uint8, 0 to 255, channels last in memory.
        targets: Class of each crop (crops), an index into the choices.
        owners: For each crop the place of its record in `records`.
    """

    def __init__(self, records: Sequence[Record], crops: Tensor, targets: Tensor, owners: Sequence[int]) -> None:
        super().__init__(records)
        self.crops, self.targets, self.owners = crops, targets, list(owners)


class FeatureBatch(Batch):
    """Features of the crops of records, as a frozen encoder computed them.

    Attributes:
        records: One per question.
        features: (crops, width), float32.
        targets: Class of each crop (crops), an index into the choices.
        owners: For each crop the place of its record in `records`.
    """

    def __init__(self, records: Sequence[Record], features: Tensor, targets: Tensor, owners: Sequence[int]) -> None:
        super().__init__(records)
        self.features, self.targets, self.owners = features, targets, list(owners)


class PictureBatch(Batch):
    """Whole pictures, each once however many records ask about it in evaluation.

    Attributes:
        records: One per question.
        images: (pictures, 3, size, size), normalised.
        targets: Class of each record (records), an index into the choices.
        image_of: For each record the row of `images` that it shows.
    """

    def __init__(self, records: Sequence[Record], images: Tensor, targets: Tensor, image_of: Sequence[int]) -> None:
        super().__init__(records)
        self.images, self.targets, self.image_of = images, targets, list(image_of)
