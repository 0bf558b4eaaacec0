"""Callback that writes saliency maps of a classifier over the first images of an evaluation."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from lightning import Callback, LightningModule, Trainer
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_beside
from lmod_train.core.types import Batch, Record, Reply
from lmod_train.training.callbacks.protocols import Answering, data_of

Floats = NDArray[np.float64]


@runtime_checkable
class Explaining(Answering, Protocol):
    """A module that returns a saliency map of each of its answers."""

    def saliency(self, batch: Batch) -> Tensor:
        """Return maps (maps, height, width) in [0, 1], 1 at the largest contribution to the answer.

        Maps are in the order of the records: for a record with regions one per region, stretched to its box; for any
        other one map of the image padded to a square, with the image in the centre. It must work where gradients are
        off, as in evaluation.
        """


def explaining(module: LightningModule) -> Explaining:
    """Return a module as one with saliency maps.

    Raises:
        BadArgument: It has no method `saliency`.
    """
    if not isinstance(module, Explaining):
        expected = "a module with a method `saliency`, such as lmod_train.models.modules.classifier.Classifier"
        cure = "leave the callback out of trainer.callbacks"
        raise BadArgument("trainer.callbacks", f"Saliency with {type(module).__name__}", expected, cure)
    return module


class Saliency(Callback):
    """Writes ``RUN/saliency/<record>.png`` in `validate`, `test` and the validation in `fit`.

    Each file shows the image, the map over it, the truth, the answer and its probability. In `fit` the files of a
    validation replace those of the previous one. Each rank writes the first records of its own part.

    A map shows which parts of an image affected the answer, not whether they should. Sharded weights (FSDP, DeepSpeed
    stage 3) are not supported: the ranks would wait for each other.

    Args:
        first: Maximum number of records of a rank, from 1.

    Raises:
        BadArgument: `first` is below 1, or the module has no method ``saliency``.
    """

    def __init__(self, first: int = 16) -> None:
        if first < 1:
            raise BadArgument("first", first, "1 or more", "leave the callback out to write no maps")
        self._first = first
        self._written = 0

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse a module without saliency maps."""
        explaining(pl_module)

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Reset the number of written records."""
        self._written = 0

    on_test_epoch_start = on_validation_epoch_start

    def on_validation_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *place: Any
    ) -> None:
        """Write the maps of a batch, up to the maximum number of records."""
        if trainer.sanity_checking or self._written >= self._first or not len(batch):
            return
        replies = {reply.id: reply for reply in outputs}
        module, images = explaining(pl_module), data_of(trainer).images
        left = self._first - self._written
        if len(batch) > left:  # a map can take hundreds of forward passes: compute only those that are drawn
            batch = module.collate(batch.records[:left], images).to(module.device)
        maps = _by_record(batch.records, module.saliency(batch))
        out = Path(trainer.default_root_dir) / "saliency"
        for record, own in zip(batch.records, maps, strict=True):
            picture = images.rgb(record.image_plain[0])
            draw(picture, spread(record, own, picture.size), caption(record, replies[record.id]), out / name_of(record))
            self._written += 1

    on_test_batch_end = on_validation_batch_end  # type: ignore[assignment]


def _by_record(records: Sequence[Record], maps: Tensor) -> list[Floats]:
    """Return the maps of each record, (its maps, height, width).

    Raises:
        RuntimeError: The number of maps is not that of regions and whole images.
    """
    counts = [max(1, len(record.regions)) for record in records]
    if maps.ndim != 3 or len(maps) != sum(counts):
        raise RuntimeError(f"`saliency` must return ({sum(counts)}, height, width), not {tuple(maps.shape)}")
    values = maps.detach().cpu().double().numpy()
    return np.split(values, np.cumsum(counts)[:-1])


def spread(record: Record, maps: Floats, size: tuple[int, int]) -> Floats:
    """Return the maps of a record as one map of its plain image.

    Args:
        record: The record; its regions are in pixels of the original and multiplied by `scale`.
        maps: (maps, height, width), one for each region, or one of the padded square.
        size: Width and height of the image in pixels.

    Returns:
        The map (height, width): 0 outside all regions, the maximum where two overlap.
    """
    width, height = size
    if not record.regions:
        side = max(size)
        square = _resized(maps[0], side, side)
        left, top = (side - width) // 2, (side - height) // 2
        return square[top : top + height, left : left + width]
    spread_out = np.zeros((height, width))
    for region, own in zip(record.regions, maps, strict=True):
        edges = [round(edge * record.scale) for edge in (region.box.x0, region.box.y0, region.box.x1, region.box.y1)]
        x0, y0 = min(max(edges[0], 0), width - 1), min(max(edges[1], 0), height - 1)
        x1, y1 = min(max(edges[2], x0 + 1), width), min(max(edges[3], y0 + 1), height)
        part = spread_out[y0:y1, x0:x1]
        np.maximum(part, _resized(own, x1 - x0, y1 - y0), out=part)
    return spread_out


def _resized(values: Floats, width: int, height: int) -> Floats:
    image = Image.fromarray(values.astype(np.float32))
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), dtype=np.float64)


def caption(record: Record, reply: Reply) -> str:
    """Return the caption: id, truth, answer, and the answer's probability if the reply holds likelihoods."""
    probabilities = {choice: math.exp(value) for choice, value in reply.likelihoods.items()}
    total = sum(probabilities.values())
    sure = f" (probability {max(probabilities.values()) / total:.2f})" if total > 0 else ""
    truth, answer = ("; ".join(text.splitlines()) for text in (record.answer, reply.reply))
    return f"{record.id}\ntruth: {_short(truth)}\nanswer: {_short(answer)}{sure}"


def _short(text: str, most: int = 100) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def name_of(record: Record) -> str:
    """Return the file name of a record: its id, with a hash in place of the end of a long one.

    Example:
        >>> from types import SimpleNamespace
        >>> name_of(SimpleNamespace(id="glaucoma/refuge/test%2F1"))
        'glaucoma_refuge_test%2F1.png'
    """
    name = re.sub(r"[^\w.%-]", "_", record.id)
    if len(name) > 150:
        name = f"{name[:130]}-{hashlib.sha256(record.id.encode()).hexdigest()[:12]}"
    return f"{name}.png"


def draw(picture: Image.Image, values: Floats, text: str, out: Path) -> None:
    """Write a figure of the image and, beside it, the map over its grey version.

    Args:
        picture: RGB image.
        values: Map (height, width) of the image, in [0, 1].
        text: Caption.
        out: File to write.
    """
    import matplotlib as mpl  # imported here, as only runs with maps need it
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 9, "text.parse_math": False}):
        high = 4.0 * min(1.4, picture.height / picture.width) + 1.0
        figure = Figure(figsize=(9.2, high), layout="constrained", dpi=100)
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        left.imshow(np.asarray(picture))
        right.imshow(np.asarray(picture.convert("L")), cmap="gray", vmin=0, vmax=255)
        shown = right.imshow(values, cmap="viridis", vmin=0, vmax=1, alpha=0.15 + 0.6 * np.clip(values, 0, 1))
        for axis in (left, right):
            axis.set_axis_off()
        figure.colorbar(shown, ax=right, shrink=0.8, label="weight for the answer, share of the largest")
        figure.suptitle(text, x=0.01, ha="left", fontsize=9)
        with write_beside(out) as part:
            figure.savefig(part, format="png", metadata={"Software": None})
