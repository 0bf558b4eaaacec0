"""The supervised baseline of LMOD figure 7, answering in the prompt's own words.

It passes through the same parser, scores and files as a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from lmod_train.errors import BadArgument
from lmod_train.models.cnn import FeasibilityCNN
from lmod_train.models.pixels import open_rgb, pad_square
from lmod_train.modules.base import LmodModule
from lmod_train.types import Batch, Record, Region, Reply


@dataclass(frozen=True)
class Crops:
    """The CNN's dialect: one square crop a region, or the whole padded picture where a record has no regions.

    Crops are cut from the plain picture, without drawn frames, and stretched to the square; whole pictures are padded.
    Classes are read from the reference reply, which is in the prompt's own words: what stands last in each line.

    Attributes:
        choices: Words a reply may use, in the order of the classes.
        side: Of the square crop in pixels.
    """

    choices: tuple[str, ...]
    side: int = 128

    def __call__(self, records: Sequence[Record], root: Path) -> Batch:
        """Collate: `crops` (crops, 3, side, side) in [0, 1], `targets` (crops), and for each crop its record."""
        crops: list[Tensor] = []
        targets: list[int] = []
        owners: list[int] = []
        opened: dict[str, Image.Image] = {}
        for row, record in enumerate(records):
            if not record.image_plain:
                raise BadArgument("data.tasks", record.task, f"an image ({record.id} has none)", "leave the task out")
            name = record.image_plain[0]
            if name not in opened:
                opened[name] = open_rgb(root / name)
            regions = record.regions or (None,)
            crops += [self._crop(opened[name], region, record.scale) for region in regions]
            targets += self._targets(record, len(regions))
            owners += [row] * len(regions)
        stacked = torch.stack(crops) if crops else torch.zeros(0, 3, self.side, self.side)
        tensors: dict[str, Any] = {"crops": stacked, "targets": torch.tensor(targets), "owners": owners}
        return Batch(records, [-1] * len(records), tensors)

    def _crop(self, image: Image.Image, region: Region | None, scale: float) -> Tensor:
        if region is None:
            image = pad_square(image, (0, 0, 0))
        else:
            box = region.box
            x0, y0, x1, y1 = (round(edge * scale) for edge in (box.x0, box.y0, box.x1, box.y1))
            image = image.crop((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)))
        image = image.resize((self.side, self.side), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255

    def _targets(self, record: Record, wanted: int) -> list[int]:
        """Return the classes of a record, one a line of its reference reply."""
        words = [line.rpartition(": ")[2] for line in record.answer.splitlines()]
        if len(words) != wanted or not set(words) <= set(self.choices):
            raise BadArgument(
                "data.tasks",
                record.answer,
                f"{wanted} line(s), each ending in one of the task's choices {list(self.choices)}",
                f"curate again with the task's present options (record {record.id})",
            )
        return [self.choices.index(word) for word in words]


class Classifier(LmodModule):
    """The feasibility CNN on one task: region crops for anatomy, whole pictures otherwise.

    Args:
        choices: Classes, linked from the datamodule's one task.
        lr: Of Adam; the paper's is 0.001 (it does not name the optimiser).
        side: Of the square input in pixels; the paper's is 128.

    Raises:
        BadArgument: There are no choices, because the datamodule has several tasks.
    """

    def __init__(self, choices: tuple[str, ...] = (), lr: float = 1e-3, side: int = 128) -> None:
        super().__init__()
        if not choices:
            raise BadArgument(
                "data.tasks", "several tasks", "exactly one task for a classifier", "give data.tasks one item"
            )
        self.choices, self._lr, self._side = tuple(choices), lr, side
        self.collate = Crops(self.choices, side)
        self.model: FeasibilityCNN | None = None

    def configure_model(self) -> None:
        """Build the network."""
        if self.model is None:
            self.model = FeasibilityCNN(len(self.choices), self._side)

    def forward(self, images: Tensor) -> Tensor:
        """Map crops (B, 3, side, side) in [0, 1] to logits (B, choices)."""
        if self.model is None:
            raise RuntimeError("call configure_model() first")
        logits: Tensor = self.model(images.to(self.dtype) * 2 - 1)
        return logits

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the mean cross-entropy over crops, in nats."""
        loss = functional.cross_entropy(self(batch.tensors["crops"]).float(), batch.tensors["targets"])
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return loss

    def respond(self, batch: Batch) -> list[Reply]:
        """Reply with the likeliest choice; for regions one line each, in the requested format."""
        scores = functional.log_softmax(self(batch.tensors["crops"]).float(), dim=1).cpu()
        rows: list[list[Tensor]] = [[] for _ in batch.records]
        for owner, score in zip(batch.tensors["owners"], scores, strict=True):
            rows[owner].append(score)
        return [self._reply(record, row) for record, row in zip(batch.records, rows, strict=True)]

    def _reply(self, record: Record, scores: list[Tensor]) -> Reply:
        words = [self.choices[int(s.argmax())] for s in scores]
        likelihoods: dict[str, float] = {}
        if record.regions:
            text = "\n".join(f"Region ID: {r.id}; Type: {w}" for r, w in zip(record.regions, words, strict=True))
        else:
            text = words[0]
            likelihoods = {c: round(v.item(), 6) for c, v in zip(self.choices, scores[0], strict=True)}
        return Reply(
            record.id, text, rendered=f"<{self._side} px crops>", step=self.step, model="cnn", likelihoods=likelihoods
        )

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=self._lr)
