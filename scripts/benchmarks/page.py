"""Measure a report of 24 models x 1,250 predictions and of one model x 30,120, and its page in Chromium.

    python scripts/benchmarks/page.py OUT [--modules FOLDER]

Writes synthetic runs to OUT and draws their reports, a second time after one run has changed. Prints processor seconds
and peak memory of `report`, the ratio to reading the Parquet files alone, and, with a folder of node modules that has
puppeteer-core (`npm install puppeteer-core`), the milliseconds that the page needs in Chromium to open, filter and
search. Both sizes together take minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from PIL import Image, ImageDraw

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Box, Message, Part, Patient, Record, Region, Reply
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of

SIZES = {"models": (24, 1_250), "records": (1, 30_120)}
"""Name -> number of models, and of predictions of each."""
IMAGES = 2_000
STRUCTURES = ("optic disc", "optic cup", "fovea", "lens", "iris", "pupil", "sclera", "cornea")
CLASSES = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
PAIR = ("GLAUCOMA", "NON-GLAUCOMA")
PROMPT = "You are an ophthalmologist. Look at the image and answer in the requested format. " * 12
WORDS = "the margin of the disc is blurred near a vessel while cup and rim look pale in this photograph"
BROWSER = Path(__file__).with_suffix(".mjs")


def curate(folder: Path) -> Path:
    """Write a curated folder of small drawn images."""
    (folder / "images" / "drawn").mkdir(parents=True)
    for i in range(IMAGES):
        image = Image.new("RGB", (512, 384), (150, 60, i % 256))
        ImageDraw.Draw(image).ellipse((100, 50, 400, 350), outline="white", width=4)
        image.save(folder / "images" / "drawn" / f"{i}.jpg", quality=80)
    sources = {"drawn": {"licence": "CC0", "redistributable": True}}
    write_json(folder / "manifest.json", {"schema_version": 3, "sources": sources})
    return folder


def records(n: int) -> Iterator[Record]:
    """Yield `n` records, of three tasks in turn."""
    tasks: tuple[Task, ...] = (FourWay(), Glaucoma(), Anatomy())
    for i in range(n):
        task, shown = tasks[i % 3], f"images/drawn/{i // 3 % IMAGES}.jpg"
        regions = tuple(
            Region(s, Box(20 * k, 20 * k, 20 * k + 90, 20 * k + 60), k + 1) for k, s in enumerate(STRUCTURES)
        )
        types = "\n".join(f"Region ID: {r.id}; Type: {r.structure}" for r in regions)
        answers = (f"DISEASE: {CLASSES[i // 3 % 4]}", PAIR[i // 3 % 2], types)
        yield Record(
            id=f"{task.name}/drawn/test/{i:06d}",
            task=task.name,
            task_class=f"{type(task).__module__}.{type(task).__qualname__}",
            task_version=type(task).version,
            source="drawn",
            key=f"test/{i:06d}",
            modality=("CFP", "OCT", "SLO")[i % 3],
            image=(shown,),
            image_plain=(shown,),
            image_sha256=(f"{i // 3 % IMAGES:064d}",),
            split="test",
            group=f"p{i // 4}",
            language="en",
            messages=(Message("user", (Part("image"), Part("text", f"{PROMPT} {task.name}"))),),
            choices=(CLASSES, PAIR, STRUCTURES)[i % 3],
            answer=answers[i % 3],
            regions=regions if i % 3 == 2 else (),
            patient=Patient(age=20 + i % 60, sex=("F", "M")[i % 2]),
            licence="CC0",
        )


def reply_to(record: Record, others: Sequence[Record], rng: random.Random) -> Reply:
    """Return the right reply in seven of ten cases, with an explanation of about 400 characters."""
    stated = record.answer if rng.random() < 0.7 else rng.choice(others).answer
    words = f"{stated}; Explanation: {' '.join(rng.choices(WORDS.split(), k=80))}"
    return Reply(
        record.id, words, rendered=f"<image>{PROMPT} {record.task}", seconds=0.4, tokens_in=900, tokens_out=120
    )


def make(folder: Path, models: int, each: int) -> list[Path]:
    """Write run folders with predictions and scores; return them."""
    curated, asked = curate(folder / "curated"), list(records(each))
    write_records(curated / "records" / "all.parquet", asked)
    tasks: list[Task] = [FourWay(), Glaucoma(), Anatomy()]
    of = {task.name: [r for r in asked if r.task == task.name] for task in tasks}
    runs = [folder / f"model_{i:02d}" for i in range(models)]
    for number, run in enumerate(runs):
        rng = random.Random(number)
        replies = {r.id: reply_to(r, of[r.task], rng) for r in asked}
        found = [p for task in tasks for p in parse_replies(task, asked, replies)]
        run.mkdir()
        write_predictions(run / "predictions.parquet", found)
        write_scores(run / "scores.csv", run.name, run.name, scores_of(tasks, found))
        (run / "config.yaml").write_text(yaml.safe_dump({"data": {"curated": str(curated)}}))
    return runs


def processor(command: Sequence[str]) -> tuple[float, float]:
    """Return the processor seconds of a command and its processes, and the peak memory of the largest one in MiB."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def measure(name: str, folder: Path, modules: Path | None) -> None:
    """Print what one size takes."""
    models, each = SIZES[name]
    runs = make(folder, models, each)
    begin = time.process_time()
    for run in runs:
        read_predictions(run / "predictions.parquet")
    reading = time.process_time() - begin
    command = [sys.executable, "-m", "lmod_train", "report", *map(str, runs), "--out", str(folder / "report")]
    for named in ("report", "again, one run changed"):
        took, peak = processor(command)
        ratio = f"{took / reading:.1f} x reading the Parquet files ({reading:.1f} s)"
        print(f"{models} x {each:,}: {named} {took:.1f} s of processor, peak {peak:.0f} MiB, {ratio}", flush=True)
        changed = read_predictions(runs[-1] / "predictions.parquet")
        write_predictions(runs[-1] / "predictions.parquet", changed[:-1])
    if modules is not None:
        environment = {**os.environ, "NODE_PATH": str(modules)}
        subprocess.run(["node", str(BROWSER), str(folder / "report" / "index.html")], check=True, env=environment)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="new folder")
    parser.add_argument("--modules", type=Path, help="folder `node_modules` with puppeteer-core")
    parser.add_argument("--size", choices=SIZES, help="only one of the sizes; default: both")
    given = parser.parse_args(arguments)
    for name in [given.size] if given.size else SIZES:
        (given.out / name).mkdir(parents=True)
        measure(name, given.out / name, given.modules)


if __name__ == "__main__":
    main()
