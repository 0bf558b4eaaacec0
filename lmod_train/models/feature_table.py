"""Features of crops out of a frozen transformer: computed once, kept on disk, and collated instead of pixels."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import timm
import torch
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

from lmod_train.errors import BadArgument, WeightsNotFound
from lmod_train.models.crop_table import Crop, crops_of, table_key
from lmod_train.models.crops import Crops
from lmod_train.models.retfound import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    SIZES,
    Family,
    Pooling,
    published_pooling,
    vision_transformer,
)
from lmod_train.models.retfound_weights import initialise
from lmod_train.types import Batch, Record

VERSION = 1
"""Of the way pixels become features; counted up, all are computed anew."""

AT_ONCE = 32  # crops through the transformer; more is no faster on a CPU

Features = npt.NDArray[np.float32]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Encoder:
    """A vision transformer without a head, never trained here.

    Attributes:
        weights: Pre-trained file, or ``random`` for none: drawn from seed 0, a floor to compare with.
        size: ``large`` is RETFound; ``small`` and ``tiny`` are siblings for CPUs and tests.
        image_size: Side of the input in pixels.
        family: Whose layout: ``mae`` or ``dinov2``.
        pooling: ``mean`` or ``cls``; null for what the family was published with.
    """

    weights: str
    size: Literal["large", "small", "tiny"] = "large"
    image_size: int = 224
    family: Family = "mae"
    pooling: Pooling | None = None

    @property
    def width(self) -> int:
        """Numbers a feature has."""
        return SIZES[self.size].width

    def key(self) -> str:
        """Return a hash of the weights file's bytes and of the shape they are put into, read once for this object.

        Without a file the versions of torch and timm count, which draw the weights. A `pooling` that says what null
        means for the family has the key of null.

        Raises:
            WeightsNotFound: There is no such file.
        """
        return self._key

    @cached_property
    def _key(self) -> str:
        """The key; a file may have gigabytes, and every checkpoint asks."""
        digest, drawn_by = self.weights, [torch.__version__, timm.__version__] if self.weights == "random" else []
        if digest != "random":
            if not Path(digest).is_file():
                cure = (
                    "name a pre-trained file (configs/model/retfound_faithful.yaml says where to get one) or `random`"
                )
                raise WeightsNotFound("weights", digest, "no such file", cure)
            with Path(digest).open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        pooling = None if self.pooling == published_pooling(self.family) else self.pooling
        shape = [VERSION, digest, self.size, self.image_size, self.family, pooling, IMAGENET_MEAN, IMAGENET_STD]
        return hashlib.sha256(json.dumps(shape + drawn_by).encode()).hexdigest()[:20]

    def build(self) -> tuple[VisionTransformer, str]:
        """Return the network, ready to encode, and what became of the weights file.

        Raises:
            WeightsNotFound: There is no such file.
            WeightsMismatch: It does not fit.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = vision_transformer(
                self.size, 0, image_size=self.image_size, drop_path=0.0, pooling=self.pooling, family=self.family
            )
        report = initialise(network, self.weights)
        return network.requires_grad_(False).eval(), str(report)


@dataclass(frozen=True)
class FeatureTable:
    """Features that have been computed, by the name of their crop.

    Attributes:
        rows: Crop -> row of `features`.
        features: (crops, width), float32 on the CPU.
    """

    rows: dict[Crop, int]
    features: Tensor

    def take(self, crops: Sequence[Crop]) -> Tensor:
        """Return the features of crops (crops, width).

        Raises:
            KeyError: One of them is not in the table.
        """
        return self.features[[self.rows[crop] for crop in crops]]


def feature_table(
    records: Sequence[Record], root: Path, encoder: Encoder, device: torch.device, place: str, say: Say
) -> FeatureTable:
    """Return the features of all crops of these records, computed now or found below ``CURATED/cache``.

    The folder is named by a hash of the weights, the preprocessing and everything that crops follow from. A file
    of the wrong size or header is computed again; changed numbers inside it are not noticed. A file appears whole.

    Args:
        records: Each with an image; their crops are stretched to the square as the CNN's, with bicubic resizing, and
            whole pictures are padded: nothing of the retina is cut off.
        root: The curated folder.
        encoder: What computes.
        device: Where it computes.
        place: ``disk``, or ``memory`` for this process alone.
        say: Told what is done, where it takes time.

    Raises:
        ArtifactError: A curated picture is missing or damaged.
        BadArgument: A record has no image, or the table cannot be written.
        WeightsNotFound, WeightsMismatch: See `Encoder.build`.
    """
    order = sorted({crop for record in records for crop in crops_of(record)})
    rows, shape = {crop: i for i, crop in enumerate(order)}, (len(order), encoder.width)
    name = f"features-{encoder.key()}-{table_key(order, root, encoder.image_size, 'bicubic')}"
    file = root / "cache" / name / "features.npy"
    found = _opened(file, shape) if place == "disk" else None
    if found is None:
        found = _computed(order, root, encoder, device, say)
        if place == "disk" and order:
            _write(file, found)
    return FeatureTable(rows, torch.from_numpy(found))


@torch.inference_mode()
def _computed(order: Sequence[Crop], root: Path, encoder: Encoder, device: torch.device, say: Say) -> Features:
    network, report = encoder.build()
    say(f"weights: {report}; computing the features of {len(order)} crops, once")
    network.to(device)
    mean, std = (torch.tensor(v, device=device).view(3, 1, 1) * 255 for v in (IMAGENET_MEAN, IMAGENET_STD))
    dialect, features = Crops((), encoder.image_size, "bicubic"), np.empty((len(order), encoder.width), np.float32)
    for start in range(0, len(order), AT_ONCE):
        crops = order[start : start + AT_ONCE]
        pixels = torch.from_numpy(dialect.pixels(crops, root)).to(device).permute(0, 3, 1, 2)
        features[start : start + len(crops)] = network((pixels - mean) / std).float().cpu().numpy()
    return features


def _opened(file: Path, shape: tuple[int, int]) -> Features | None:
    """Read a file, or return None where there is none that fits."""
    try:
        features: Features = np.load(file)
    except (OSError, ValueError, EOFError):
        return None
    return features if features.shape == shape and features.dtype == np.float32 else None


def _write(file: Path, features: Features) -> None:
    beside = file.with_name(f".{uuid.uuid4().hex}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as stream:
            np.save(stream, features)
        beside.replace(file)
    except OSError as error:
        raise BadArgument(
            "model.init_args.cache",
            "disk",
            f"a curated folder that can be written to; {file.parent}: {error.strerror or error}",
            "set model.init_args.cache to memory",
        ) from error
    finally:
        if beside.parent.is_dir():
            beside.unlink(missing_ok=True)


@dataclass(frozen=True)
class FeatureDialect:
    """Collates features in the place of crops: `features` (crops, width), `targets` (crops) and `owners`.

    Attributes:
        choices: Words a reply may use, in the order of the classes.
        table: Features of all crops that may be asked about; None until `FrozenFeatures.setup` has computed them.
    """

    choices: tuple[str, ...]
    table: FeatureTable | None = None

    def __call__(self, records: Sequence[Record], root: Path) -> Batch:
        """Collate.

        Raises:
            RuntimeError: No features have been computed.
            BadArgument: A record has no image, or its reference reply does not name one of the choices a region.
        """
        if self.table is None:
            raise RuntimeError("features are computed by setup(); run the module through a Trainer with a datamodule")
        wanted: list[Crop] = []
        targets: list[int] = []
        owners: list[int] = []
        words = Crops(self.choices)
        for row, record in enumerate(records):
            crops = crops_of(record)
            wanted += crops
            targets += words.targets(record, len(crops))
            owners += [row] * len(crops)
        tensors: dict[str, Any] = {"features": self.table.take(wanted), "owners": owners}
        return Batch(records, [-1] * len(records), tensors | {"targets": torch.tensor(targets, dtype=torch.long)})
