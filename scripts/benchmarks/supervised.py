"""Speed of the supervised baselines, as ratios within one run of alternating rounds; medians of medians are compared.

    python scripts/benchmarks/supervised.py --work build/supervised [--original PATH --original-python PYTHON]

(a) an epoch of the CNN through our Trainer against a plain PyTorch loop that opens the JPEG file and cuts the crop for
    every item of every epoch, as the papers' programs do, with the layers of LMOD figure 7. The limit is the ratio that
    a loader without any cost would give.
(b) the CNN and the small transformer through our Trainer against a bare loop on tensors already in memory: the same
    network, batch and optimiser. The limit is 1.
(c) a step of the small transformer through our Trainer against the original RETFound program, in a process of its own.
    The limit is the ratio of the original's step to its computation, as a loader without any cost would give. Listed
    separately: ours in bf16-mixed, and ours in float32 with decoded images in memory. The latter is the upper bound of
    a cache of decoded images with the same crops; the package has no such cache.

In every round each side runs a warm-up epoch and EPOCHS epochs, whose median is used. `spread` is the lowest and the
highest ratio of one round. `others` is the number of cores kept busy by other processes: results are only valid if it
is near 0 and the spread is narrow, as two threads that wait for each other are slowed down disproportionately. A row
beyond its limit was disturbed. On a busy machine use --clock processor --threads 1: the processor time of one thread
depends little on other processes.

Images are noise of --picture pixels per side, so that decoding takes as long as for photographs of this size.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning import Callback, LightningDataModule, LightningModule, Trainer
from PIL import Image
from rounds import CLOCKS, Round, Rounds
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.curated import Curated
from lmod_train.core.pixels import open_rgb
from lmod_train.core.types import Box, Message, Part, Record, Region
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.models.vision.augmentation import seeded
from lmod_train.models.vision.cnn import FeasibilityCNN
from lmod_train.models.vision.crops import Crops
from lmod_train.models.vision.retfound import vision_transformer
from lmod_train.models.vision.whole_image import WholeImages
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma

ANATOMY = Anatomy(options={"CFP": ["optic disc", "optic cup"]})
EPOCHS = 2
"""Number of epochs measured per round and side, after a warm-up epoch; the median counts."""


def record(i: int, task: Any, **fields: Any) -> Record:
    """Return a training record about picture `i`."""
    given: dict[str, Any] = {"id": f"{task.name}/drawn/{i}", "key": str(i), "group": str(i), "choices": task.choices}
    place = {"image": (f"{i}.jpg",), "image_plain": (f"{i}.jpg",), "image_sha256": (f"{i:064}",)}
    messages = (Message("user", (Part("image"), Part("text", "?"))),)
    kind = f"{type(task).__module__}.{type(task).__qualname__}"
    fixed = {"task": task.name, "task_class": kind, "task_version": 1, "source": "drawn", "modality": "CFP"}
    return Record(split="train", language="en", messages=messages, **{**given, **place, **fixed, **fields})


def curated(folder: Path, count: int, side: int) -> tuple[list[Record], list[Record]]:
    """Draw images, and return records about their regions and about the complete images."""
    regions, wholes = [], []
    draw = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for i in range(count):
        coarse = draw.integers(0, 255, (side // 8, side // 8, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC).save(folder / f"{i}.jpg", quality=92)
        edge, x, y = side // 4, *(int(v) for v in draw.integers(0, side // 2, 2))
        boxes = (Box(x, y, x + edge, y + edge), Box(x + edge // 4, y + edge // 4, x + edge // 2, y + edge // 2))
        named = tuple(Region(n, b, k) for k, (n, b) in enumerate(zip(ANATOMY.choices, boxes, strict=True), 1))
        answer = "\n".join(f"Region ID: {r.id}; Type: {r.structure}" for r in named)
        regions.append(record(i, ANATOMY, answer=answer, regions=named))
        wholes.append(record(i, Glaucoma(), answer=Glaucoma.choices[i % 2]))
    write_json(folder / "manifest.json", {"schema_version": SCHEMA_VERSION})
    write_records(folder / "records" / "anatomy.parquet", regions)
    write_records(folder / "records" / "glaucoma.parquet", wholes)
    return regions, wholes


class CutEachTime(Dataset[tuple[Tensor, int]]):
    """Plain PyTorch dataset of crops that opens and decodes the file for every item."""

    def __init__(self, root: Path, records: Sequence[Record]) -> None:
        self._root = root
        self._items = [(r.image_plain[0], region) for r in records for region in r.regions]

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        name, region = self._items[i]
        box = region.box
        picture = Image.open(self._root / name).convert("RGB").crop((box.x0, box.y0, box.x1, box.y1))
        pixels = np.array(picture.resize((128, 128), Image.Resampling.BILINEAR))
        return torch.from_numpy(pixels).permute(2, 0, 1).float() / 255, ANATOMY.choices.index(region.structure)


def figure() -> nn.Module:
    """Return the network of LMOD figure 7."""
    pool, relu = nn.MaxPool2d(2), nn.ReLU()
    convolutions = (nn.Conv2d(3, 32, 3, padding=1), relu, pool, nn.Conv2d(32, 64, 3, padding=1), relu, pool)
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(64 * 32 * 32, 128), relu, nn.Linear(128, 2))


def loop(
    network: nn.Module, optimiser: torch.optim.Optimizer, batches: Callable[[], Any], clock: str, smoothing: float = 0.0
) -> Round:
    """Return a bare training loop over `batches`, with a warm-up epoch per round."""
    now = CLOCKS[clock]

    def epoch() -> float:
        began = now()
        for images, targets in batches():
            optimiser.zero_grad()
            functional.cross_entropy(network(images), targets, label_smoothing=smoothing).backward()
            optimiser.step()
        return now() - began

    return lambda: statistics.median([epoch() for _ in range(1 + EPOCHS)][1:])


class Ours:
    """A module in our Trainer, fitted again in every round, so that rounds can alternate with others."""

    def __init__(
        self, module: LightningModule, data: LightningDataModule, work: Path, clock: str, precision: Any = "32-true"
    ) -> None:
        self._module, self._data, self._work = module, data, work
        self._clock, self._precision = clock, precision

    def __call__(self) -> float:
        """Fit, and return the median seconds of the epochs after the warm-up epoch."""
        clock = Clock(CLOCKS[self._clock])
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
        options: Any = {**quiet, "enable_checkpointing": False, "use_distributed_sampler": False, "callbacks": [clock]}
        Trainer(max_epochs=1 + EPOCHS, accelerator="cpu", devices=1, limit_val_batches=0, default_root_dir=self._work,
                precision=self._precision, **options).fit(self._module, datamodule=self._data)  # fmt: skip
        return statistics.median(clock.seconds[1:])


class Clock(Callback):
    """Seconds of every epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.seconds: list[float] = []

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start."""
        self._began = self._now()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop."""
        self.seconds.append(self._now() - self._began)


def cnn(work: Path, records: Sequence[Record], a: argparse.Namespace) -> None:
    """Measure (a), and (b) of the CNN."""
    torch.manual_seed(0)
    data = RecordsDataModule(work, [ANATOMY], batch_size=a.batch)
    ours = Ours(Classifier(ANATOMY.choices), data, work, a.clock)
    drawn, network = figure(), FeasibilityCNN(2)
    plain = DataLoader(CutEachTime(work, records), 2 * a.batch, shuffle=True)
    batch = Crops(ANATOMY.choices)(records, work)
    images, targets = (batch.crops.float() / 255 * 2 - 1), batch.targets

    def memory() -> Iterator[tuple[Tensor, Tensor]]:
        for rows in torch.randperm(len(targets)).split(2 * a.batch):
            yield images[rows], targets[rows]

    took = Rounds(
        a.rounds,
        ours=ours,
        plain=loop(drawn, torch.optim.Adam(drawn.parameters(), lr=1e-3), lambda: iter(plain), a.clock),
        memory=loop(network, torch.optim.Adam(network.parameters(), lr=1e-3, fused=True), memory, a.clock),
    )
    limit = f"{took.median('plain') / took.median('memory'):.2f}"
    took.print_row("(a) CNN, plain loop from JPEG", "ours", "plain", "5", limit)
    took.print_row("(b) CNN, tensors in memory", "ours", "memory", "0.9", "1")


def transformer(work: Path, records: Sequence[Record], a: argparse.Namespace) -> None:
    """Measure (b) for the transformer: the same tensors through our Trainer and through a bare loop."""
    torch.manual_seed(0)
    module = FineTuning("random", Glaucoma.choices, size="small", drop_path=0.0)
    stored = module.dialect(records, work)
    images, targets = stored.images, stored.targets
    network = vision_transformer("small", 2, drop_path=0.0)

    class InMemory(type(module.dialect)):  # type: ignore[misc]  # our way without its decoding, as the other has none
        def training(self, seed: int, epoch: int) -> Any:
            return self

        def _pixels(self, one: Record, root: Path) -> Tensor:
            pixels: Tensor = images[int(one.key)]
            return pixels

    module.dialect = module.collate = InMemory(module.choices)
    ours = Ours(module, RecordsDataModule(work, [Glaucoma()], batch_size=a.vit_batch), work, a.clock)

    def memory() -> Iterator[tuple[Tensor, Tensor]]:
        for rows in torch.randperm(len(targets)).split(a.vit_batch):
            yield images[rows], targets[rows]

    bare = loop(network, torch.optim.AdamW(network.parameters(), lr=1e-4), memory, a.clock, smoothing=0.1)
    took = Rounds(a.rounds, ours=ours, memory=bare)
    took.print_row("(b) small transformer, tensors in memory", "ours", "memory", "0.9", "1")


def original(work: Path, records: Sequence[Record], a: argparse.Namespace) -> None:
    """Measure (c): seconds per step on the same JPEG files, alternating ours and the original's."""
    if not (a.original and a.original_python):
        print(
            "(c) RETFound small against the original: not measured; name --original PATH and --original-python PYTHON."
        )
        return
    folder = work / "classes"
    for one in records:
        place = folder / "train" / one.answer / one.image_plain[0]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(work / one.image_plain[0], place)
    given: list[dict[str, float]] = []
    sides = own_sides(work, records, a) | {"original": lambda: theirs(folder, a, given)}
    took = Rounds(a.rounds, **sides)
    load, compute = shares(given[1:])
    what = "(c) RETFound small, s a step, original from JPEG"
    took.print_row(f"{what}; ours from JPEG", "ours", "original", "1.0", f"{1 / compute:.2f}")
    took.print_row(f"{what}; ours in bf16-mixed", "bf16", "original", "-", "-")
    took.print_row(f"{what}; ours decoded before", "decoded", "original", "-", f"{1 / compute:.2f}")
    print(f"(c) of the original's step, by the wall: load {load:.0%}, compute {compute:.0%}, each measured alone")
    print(f"(c) of our step: decoding {1 - took.median('decoded') / took.median('ours'):.0%}")


def own_sides(work: Path, records: Sequence[Record], a: argparse.Namespace) -> dict[str, Round]:
    """Return our three variants of (c), each a function that returns seconds per step."""
    held = {r.image_plain[0]: open_rgb(work / r.image_plain[0]) for r in records}

    class Decoded(WholeImages):
        """Augments images that are decoded in memory."""

        def _pixels(self, record: Record, images: Curated) -> Tensor:
            with seeded(*(self.epoch or ()), record.id):
                return self._transform(held[record.image_plain[0]])

    def side(dialect: type[WholeImages], precision: Any) -> Round:
        module = FineTuning("random", Glaucoma.choices, size="small")
        module.dialect = module.collate = dialect(module.choices)
        data = RecordsDataModule(work, [Glaucoma()], batch_size=a.vit_batch)
        ours, steps = Ours(module, data, work, a.clock, precision), len(records) // a.vit_batch
        return lambda: ours() / steps

    return {
        "ours": side(WholeImages, "32-true"),
        "bf16": side(WholeImages, "bf16-mixed"),
        "decoded": side(Decoded, "32-true"),
    }


def theirs(folder: Path, a: argparse.Namespace, given: list[dict[str, float]]) -> float:
    """Run the original program, add its output to `given`, and return its seconds per step."""
    script = Path(__file__).with_name("retfound_original.py")
    command = [a.original_python, script, "--original", a.original, "--data", folder, "--batch", a.vit_batch]
    command += ["--threads", a.threads, "--epochs", EPOCHS]
    command += ["--extra", a.original_extra] if a.original_extra else []
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the original's program failed: {done.stderr[-2000:]}")
    given.append(json.loads(done.stdout.splitlines()[-1]))
    return given[-1]["epoch" if a.clock == "wall" else "epoch_processor"]


def shares(given: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """Return the shares of loading and of computing in the original's step, medians over the rounds.

    Args:
        given: Output of the original program in each round, without the warm-up.
    """
    load, compute = (statistics.median(one[part] / one["epoch"] for one in given) for part in ("load", "compute"))
    return load, compute


def main() -> None:
    """Draw the pictures, measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=64, help="pictures; a multiple of both batches")
    parser.add_argument("--picture", type=int, default=1024, help="their side in pixels")
    parser.add_argument("--batch", type=int, default=32, help="pictures in a batch of the CNN, two crops each")
    parser.add_argument("--vit-batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor needs --threads 1")
    parser.add_argument("--only", choices=("cnn", "transformer", "original"), help="one part alone")
    parser.add_argument("--original", type=Path, help="the original's repository at commit f5ab012")
    parser.add_argument("--original-python", type=Path, help="a Python that it runs in")
    parser.add_argument("--original-extra", type=Path, help="see retfound_original.py --extra")
    a = parser.parse_args()
    if a.clock == "processor" and a.threads != 1:
        parser.error("--clock processor counts the time that threads wait for each other; add --threads 1")
    torch.set_num_threads(a.threads)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    shutil.rmtree(a.work, ignore_errors=True)
    regions, wholes = curated(a.work, a.n, a.picture)
    print(f"{a.n} pictures of {a.picture} px, {a.threads} threads, medians of {a.rounds} rounds, {a.clock} seconds")
    print("| what | ours | other | other / ours | spread | wanted | limit | others |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, part, records in (
        ("cnn", cnn, regions), ("transformer", transformer, wholes), ("original", original, wholes),
    ):  # fmt: skip
        if a.only in (None, name):
            part(a.work, records, a)


if __name__ == "__main__":
    main()
