"""Features of crops from a frozen transformer, computed once, stored on disk, and collated instead of pixels.

A run on a share of the training split, on some sources or on one fold's records then uses the features of the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import timm
import torch
from torch import nn

from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.cache import Array, Cache, mapped
from lmod_train.core.curated import Curated
from lmod_train.core.files import remembered_sha256
from lmod_train.core.types import Record
from lmod_train.models.vision.backbone import Backbone, Colour
from lmod_train.models.vision.crop_table import Crop, Square, crops_of, cut_all, row_keys, table_key
from lmod_train.models.vision.crops import labelled
from lmod_train.models.vision.picture_batch import FeatureBatch
from lmod_train.models.vision.published_weights import Family, Pooling, published_pooling
from lmod_train.models.vision.table import Name, Rows, Table, cache_at, table

AT_ONCE = 32  # crops per forward pass; more is no faster on a CPU
PIECE = 8 * AT_ONCE  # crops per file of the table, which an interrupted run has to repeat

Features = npt.NDArray[np.float32]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Encoder:
    """A frozen vision network without a head.

    Attributes:
        weights: Pre-trained file; ``package:NAME/PATH`` for a file of an installed package; or ``random`` for random
            weights of seed 0, as a baseline.
        size: ``large`` is RETFound; ``small`` and ``tiny`` are smaller networks for CPUs and tests.
        image_size: Side of the input in pixels. Position embeddings of another size are resized.
        family: Architecture of RETFound, ``mae`` or ``dinov2``.
        pooling: ``mean`` or ``cls``; null for that of the published weights, or of the architecture.
        architecture: Name of the network in timm, with its tag if needed (``vit_base_patch16_224.mae``); it replaces
            `size` and `family`. Empty for RETFound's vision transformer.
        mean: Mean of the colours that is subtracted, three numbers in [0, 1]; null for the architecture's card.
        std: Standard deviation of the colours, three numbers; null for the architecture's card.
        square: How a whole image is made square: ``pad`` adds black margins, so that no part of the retina is cut off;
            ``crop`` takes the centre, as fine-tuning with ``augmentation.square: crop`` does in evaluation.
    """

    weights: str
    size: Literal["large", "small", "tiny"] = "large"
    image_size: int = 224
    family: Family = "mae"
    pooling: Pooling | None = None
    architecture: str = ""
    mean: Colour | None = None
    std: Colour | None = None
    square: Square = "pad"

    @cached_property
    def backbone(self) -> Backbone:
        """The network and its input.

        Raises:
            BadArgument: `architecture` is unknown, or a value of `std` is not positive.
        """
        values = (self.architecture, self.size, self.family, self.image_size, self.pooling, self.mean, self.std)
        return Backbone(*values)

    @property
    def width(self) -> int:
        """Length of a feature vector."""
        return self.backbone.width

    def key(self) -> str:
        """Return a hash of the weights file and of the network's options; the file is read once for this object.

        Without a file, the versions of torch and timm count, as they determine the random weights. A `pooling` equal to
        the family's published one has the same key as null.

        Raises:
            WeightsNotFound: The file does not exist.
        """
        return self._key

    @cached_property
    def _key(self) -> str:
        """The key, cached, as the file may be large and every checkpoint needs it."""
        digest, drawn_by = self.weights, [torch.__version__, timm.__version__] if self.weights == "random" else []
        if digest != "random":
            digest = remembered_sha256(self.backbone.present(self.weights))
        mean, std = self.backbone.normalisation
        if self.architecture:
            network: list[object] = [self.architecture, self.image_size, self.pooling, timm.__version__]
        else:
            pooling = None if self.pooling == published_pooling(self.family) else self.pooling
            network = [self.size, self.image_size, self.family, pooling]
        shape = [SCHEMA_VERSION, digest, *network, mean, std, self.square]
        return hashlib.sha256(json.dumps(shape + drawn_by).encode()).hexdigest()[:20]

    def build(self) -> tuple[nn.Module, str]:
        """Return the network in evaluation mode, and the report of loading its weights.

        Raises:
            WeightsNotFound: The file does not exist.
            WeightsMismatch: The file does not fit the network.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = self.backbone.build(0)
        report = self.backbone.load(network, self.weights)
        return network.requires_grad_(False).eval(), str(report)


def feature_table(
    records: Sequence[Record],
    root: Path | Curated,
    encoder: Encoder,
    device: torch.device,
    place: str,
    log: Log,
    share: tuple[int, int] = (0, 1),
) -> Table[Crop]:
    """Return the features of all crops of these records, rows of (width), from ``CURATED/cache`` or computed now.

    The folder is named by a hash of weights, preprocessing and everything that determines the crops. A complete table
    that has all of them and more, e.g. of a run on a larger share of the training split, is used instead.
    `lmod_train.models.vision.table.table` describes how several processes share the work and how an interrupted one
    continues.

    Args:
        records: Records, each with one image; their crops are stretched to the square as for the CNN, with bicubic
            resizing, and whole images are padded or cropped, see `Encoder`.
        root: The curated folder.
        encoder: Encoder of the features; it is only built if features are missing.
        device: Device of the computation.
        place: ``disk``, or ``memory`` for this process only.
        log: Called with a message when features are computed.
        share: (index of this process, number of processes) that compute the table together.

    Raises:
        ArtifactError: A curated image is missing or damaged.
        BadArgument: A record has no image or several, or the table cannot be written.
        WeightsNotFound, WeightsMismatch: See `Encoder.build`.
    """
    order = sorted({crop for record in records for crop in crops_of(record)})
    own, like = f"features-{encoder.key()}", np.empty((0, encoder.width), np.float32)

    @cache
    def network() -> nn.Module:
        built, report = encoder.build()
        log(f"weights: {report}; computing the features of {len(order)} crops, once")
        return built.to(device)

    def compute(crops: Sequence[Crop]) -> Features:
        return _computed(crops, root, encoder, network(), device)

    if place != "disk" or not order:
        return table(order, like, compute, None, PIECE, share)
    keys, folders = row_keys(order, root), sorted((Curated.of(root).root / "cache").glob(f"{own}-*"))
    if (larger := larger_table(folders, order, keys, like)) is not None:
        return larger
    folder = Curated.of(root).root / "cache" / f"{own}-{table_key(order, root, encoder.image_size, 'bicubic')}"
    stored = table(order, like, compute, folder, PIECE, share)
    keep_keys(cache_at(folder), keys)
    return stored


@torch.inference_mode()
def _computed(
    order: Sequence[Crop], root: Path | Curated, encoder: Encoder, network: nn.Module, device: torch.device
) -> Features:
    mean, std = (torch.tensor(v, device=device).view(3, 1, 1) * 255 for v in encoder.backbone.normalisation)
    features = np.empty((len(order), encoder.width), np.float32)
    for start in range(0, len(order), AT_ONCE):
        crops = order[start : start + AT_ONCE]
        cuts = cut_all(crops, root, encoder.image_size, "bicubic", encoder.square)
        pixels = torch.from_numpy(cuts).to(device).permute(0, 3, 1, 2)
        features[start : start + len(crops)] = network((pixels - mean) / std).float().cpu().numpy()
    return features


@dataclass(frozen=True)
class FeatureDialect:
    """Collates the features of crops instead of their pixels.

    Attributes:
        choices: Words a reply may use, in the order of the classes.
        table: Features of all crops; None until `FrozenFeatures.setup` has computed them.
    """

    choices: tuple[str, ...]
    table: Table[Crop] | None = None

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> FeatureBatch:
        """Collate.

        Raises:
            RuntimeError: No features have been computed.
            BadArgument: A record has no image or several, or its reference reply does not name a choice per region.
        """
        if self.table is None:
            raise RuntimeError("features are computed by setup(); run the module through a Trainer with a datamodule")
        crops, targets, owners = labelled(records, self.choices)
        return FeatureBatch(records, torch.from_numpy(self.table.take(crops)), targets, owners)


KEYS = "rows"
"""Name of the array of keys beside the pieces of a complete table."""


def keep_keys(cache: Cache, keys: Sequence[str]) -> None:
    """Write the keys of the rows of a complete table, in their order, beside its pieces.

    Raises:
        BadArgument: The folder cannot be written to, or the disk is full.
    """
    cache.keep(KEYS, np.array(keys, dtype=np.bytes_))


def larger_table(folders: Sequence[Path], names: Sequence[Name], keys: Sequence[str], like: Rows) -> Table[Name] | None:
    """Return the rows of the first complete table that has them all; None if there is none.

    Args:
        folders: Folders of tables.
        names: Names of the rows, in their order.
        keys: Key of each row, which names everything that determines it.
        like: No row (0, ...) of the shape and type that rows have.
    """
    for folder in folders:
        kept = mapped(folder / f"{KEYS}.npy")
        places = {} if kept is None else {key.decode(): i for i, key in enumerate(kept.tolist())}
        if places and all(key in places for key in keys):
            files = sorted(folder.glob("*-of-*.npy"))
            pieces = [piece for file in files if (piece := mapped(file)) is not None and _alike(piece, like)]
            if sum(map(len, pieces)) == len(places):
                return Table(names, pieces, files, [places[key] for key in keys])
    return None


def _alike(piece: Array, like: Rows) -> bool:
    return piece.shape[1:] == like.shape[1:] and piece.dtype == like.dtype
