"""Measure the time of the doctor's checks on this machine, and extrapolate it to a large model.

    python scripts/benchmarks/doctor.py [--records 200] [--gigabytes 0.5]

Each part is timed separately: per record, per image, per gigabyte of weights, per trained gigabyte, and the rate of a
forward pass in bfloat16. The time for a model of 7 billion parameters is computed from these; it is not measured.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from lmod_train.core.curated import Curated
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.data.sources.discovery import discover
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.phantom.folders import refuge
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.doctor import data, weights
from lmod_train.training.doctor import recipe as training
from lmod_train.training.doctor.examine import CHECKS
from lmod_train.training.doctor.subject import Subject

PARAMETERS, TRAINED = 7.06e9, 0.34e9
"""Number of parameters of LLaVA-1.5 7B, and of its adapters of rank 128 with the projector."""
TOKENS = 650
"""Number of tokens of a record: 576 of the image, and its text."""
FORWARDS = 4
"""Number of forward passes over a record: 2 in `vision.sensitivity`; the questions of `weights.vocabulary`, twice and
without images, and the sentences of `weights.entropy` have as many tokens as 2."""
BLOCKS = 24 + 32
"""Number of blocks of tower and language model, of which `weights.spectra` measures matrices."""
RECORDS, SIDE = 30_000, 1024


@contextmanager
def timed(name: str, found: dict[str, float]) -> Iterator[None]:
    """Store the seconds that the block takes in `found`."""
    began = time.perf_counter()
    yield
    found[name] = time.perf_counter() - began


def curated(folder: Path, n: int) -> Path:
    """Draw and curate glaucoma records."""
    refuge.write(folder / "raw", n, 0)
    curate(discover(folder / "raw").sources, [Glaucoma()], folder / "curated", protocol="benchmark", progress=False)
    return folder / "curated"


def checks(folder: Path, n: int) -> tuple[dict[str, float], int]:
    """Return the seconds of every check on the small base, and the number of training records."""
    given = RecordsDataModule(curated(folder, n), [Glaucoma()])
    given.setup("fit")
    module = VisionLanguageModel("small_base", Lora(8, 16))
    config = {"model": {"init_args": {"checkpoint": "small_base"}}, "trainer": {"gradient_clip_val": 1.0}}
    subject = Subject(config, module, given)
    subject.records(), subject.asked()
    found: dict[str, float] = {}
    checked: dict[str, Callable[[Subject], Any]] = {
        f"{name} (network)" if "network" in needs else name: check for name, check, needs in CHECKS
    }
    for name, check in checked.items():
        with timed(name, found):
            list(check(subject))
    return found, len(subject.records())


def an_image(folder: Path) -> float:
    """Return the seconds to decode one curated photograph."""
    noise = np.random.default_rng(0).integers(0, 255, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    names = [f"{i}.jpg" for i in range(40)]
    for name in names:
        picture.save(folder / name, quality=90)
    began = time.perf_counter()
    data.looked_at(Curated(folder), names)
    return (time.perf_counter() - began) / len(names)


def a_gigabyte(folder: Path, gigabytes: float) -> float:
    """Return the seconds to read 10^9 bytes of weights into memory, from a file in the page cache."""
    rows = max(int(gigabytes * 1e9 / 2 / 4096 / 16), 1)
    save_file({str(i): torch.zeros(rows, 4096, dtype=torch.bfloat16) for i in range(16)}, folder / "w.safetensors")
    began = time.perf_counter()
    held = load_file(folder / "w.safetensors")
    sum(t.clone()[0, 0] for t in held.values())
    return (time.perf_counter() - began) / (rows * 4096 * 16 * 2 / 1e9)


def a_trained_gigabyte(gigabytes: float) -> float:
    """Return the seconds to save and load 10^9 bytes of trained tensors, as in `training.round_trip`."""
    layer: Any = torch.nn.Linear(4096, max(int(gigabytes * 1e9 / 4 / 4096), 1), bias=False)
    began = time.perf_counter()
    training._lost(layer, dict(layer.named_parameters()))
    seconds = time.perf_counter() - began
    return seconds / (int(layer.weight.numel()) * 4 / 1e9)


def a_block() -> float:
    """Return the seconds to measure the matrices of a block of width 4096, as in `weights.spectra`."""
    matrix = torch.randn(4096, 4096, dtype=torch.bfloat16)
    began = time.perf_counter()
    weights.over_the_edge(matrix)
    return weights.IN_BLOCK * (time.perf_counter() - began)


def forward_rate() -> float:
    """Return the FLOP/s of a linear map in bfloat16 over the tokens of a record."""
    layer = torch.nn.Linear(4096, 11008, bias=False, dtype=torch.bfloat16)
    tokens = torch.randn(TOKENS, 4096, dtype=torch.bfloat16)
    with torch.no_grad():
        layer(tokens)
        began = time.perf_counter()
        for _ in range(3):
            layer(tokens)
    return 3 * 2 * TOKENS * 4096 * 11008 / (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--gigabytes", type=float, default=0.5)
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        seconds, n = checks(folder, given.records)
        image, gigabyte = an_image(folder), a_gigabyte(folder, given.gigabytes)
        trained, rate = a_trained_gigabyte(given.gigabytes), forward_rate()
    print(f"cores {os.cpu_count()}, torch threads {torch.get_num_threads()}, {n} training records, small base")
    for check, taken in seconds.items():
        print(f"  {check:<24}{taken:8.2f} s  {1000 * taken / n:8.2f} ms a record")
    print(f"  image of {SIDE} x {SIDE}{image:17.3f} s\n  gigabyte of weights   {gigabyte:10.2f} s")
    print(f"  trained gigabyte      {trained:10.2f} s\n  forward pass          {rate / 1e9:10.0f} GFLOP/s")
    of_records = (
        "balance", "answers", "references", "separation", "splits", "language", "replies (network)", "labels (network)",
    )  # fmt: skip
    parts = {
        f"records, {RECORDS:,}": RECORDS / n * sum(seconds[c] for c in of_records),
        f"images, {RECORDS:,}": RECORDS * image,
        f"matrices of {BLOCKS} blocks": BLOCKS * a_block(),
        "weights read": PARAMETERS * 2 / 1e9 * gigabyte,
        f"forward passes, {FORWARDS}": FORWARDS * 2 * PARAMETERS * TOKENS / rate,
        "adapters saved and loaded": TRAINED * 4 / 1e9 * trained,
        "the rest, as on the small base": sum(seconds.values()) - sum(seconds[c] for c in of_records),
    }
    print(f"computed for 7 billion parameters on these cores: {sum(parts.values()) / 60:.1f} minutes")
    for part, taken in parts.items():
        print(f"  {part:<32}{taken:8.1f} s")


if __name__ == "__main__":
    main()
