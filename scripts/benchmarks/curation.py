"""Speed of `curate` relative to the time that Pillow alone needs for the same images, and growth of memory.

    python scripts/benchmarks/curation.py --work build/curation

The limit only decodes each photograph, resizes it and encodes it as a plain and as a marked JPEG with the same
settings, in the same number of spawned processes, without masks, hashes or files. The second limit also writes the two
files. All are timed with the start of their processes, in alternating order; results are medians over the rounds.
Memory is that of all processes, with shared pages counted once (Linux).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.core.types import MaskFile, Sample
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.workers import local_crew, run
from lmod_train.data.sources.base import Source
from lmod_train.phantom.fundus import cup_mask, disc_mask, draw_eye, render
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.glaucoma import Glaucoma

SIDE, QUALITY = 1024, 95
SIZES = {"2124x2056": (2124, 2056), "384x384": (384, 384), "224x224": (224, 224)}
LEAST = {"2124x2056": 0.85, "384x384": 0.5, "224x224": 0.4}
"""Smallest ratios of the limit to curation, by processor time."""
DRAWN = 12


class Photographs(Source):
    """Source of photographs with disc and cup masks in the format of REFUGE."""

    name, modality, licence, redistributable, reference = "photographs", "CFP", "CC0", True, "https://example.org"

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the folder holds images and masks."""
        return (folder / "images").is_dir() and (folder / "masks").is_dir()

    def verify(self) -> None:
        """Do nothing, as this program wrote the folder."""

    def samples(self) -> Iterator[Sample]:
        """Yield every photograph."""
        coding = {"background": (255,), "optic disc": (0, 128), "optic cup": (0,)}
        for image in sorted((self.root / "images").iterdir()):
            mask = MaskFile(self.root / "masks" / f"{image.stem}.bmp", (coding,))
            labels = {"glaucoma": "yes" if int(image.stem) % 2 else "no"}
            yield Sample(self.name, image.stem, "CFP", image, image.stem, "CC0", labels, masks=(mask,))


def write_one(numbers: Sequence[int], root: Path, size: tuple[int, int]) -> None:
    """Write photographs and masks: a few drawn phantoms, and copies of them with another brightness."""
    width, height = size
    for number in numbers:
        eye = draw_eye(number % DRAWN, "glaucoma" if number % 2 else "normal")
        picture = root.parent / f"{width}-{number % DRAWN}.png"
        if not picture.exists():
            render(eye, height).save(picture.with_suffix(f".{number}.png"), compress_level=1)
            picture.with_suffix(f".{number}.png").replace(picture)
        shift = (number // DRAWN) % 16
        photograph = Image.new("RGB", size)
        with Image.open(picture) as drawn:
            place = ((width - height) // 2 + (number // DRAWN) // 16 % 7, 0)
            photograph.paste(drawn.point([min(255, round(v * (1 + shift / 64))) for v in range(256)] * 3), place)
        codes = np.full((height, height), 255, dtype=np.uint8)
        codes[disc_mask(eye, height)], codes[cup_mask(eye, height)] = 128, 0
        mask = Image.new("L", size, 255)
        mask.paste(Image.fromarray(codes), place)
        photograph.save(root / "images" / f"{number:05}.jpg", quality=92)
        mask.save(root / "masks" / f"{number:05}.bmp")


def written(work: Path, size: tuple[int, int], n: int) -> Photographs:
    """Return a source of n photographs of one size."""
    root = work / "raw" / f"{size[0]}-{n}"
    for name in ("images", "masks"):
        (root / name).mkdir(parents=True)
    with local_crew(2) as crew:
        for _ in run(partial(write_one, root=root, size=size), range(n), crew):
            pass
    return Photographs(root)


def pillow_alone(files: Sequence[Path], out: Path | None) -> None:
    """Decode, resize and encode each photograph twice; write both if a folder is given."""
    for file in files:
        with Image.open(file) as opened:
            opened.load()
            longer = max(opened.size)
            width, height = (round(side * SIDE / longer) for side in opened.size)
            small = opened.resize((width, height), Image.Resampling.LANCZOS) if longer > SIDE else opened
            for name in ("plain", "marked"):
                buffer = io.BytesIO()
                small.save(buffer, "JPEG", quality=QUALITY, subsampling=0)
                if out is not None:
                    (out / f"{file.stem}.{name}.jpg").write_bytes(buffer.getbuffer())


def limit(source: Photographs, workers: int, out: Path | None) -> None:
    """Run `pillow_alone` in several processes."""
    if out is not None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
    files = sorted((source.root / "images").iterdir())
    with local_crew(workers) as crew:
        for _ in run(partial(pillow_alone, out=out), files, crew):
            pass


def curated(source: Photographs, workers: int, out: Path) -> None:
    """Curate into an empty folder."""
    tasks: list[Task] = [Anatomy(options={"CFP": ["optic disc", "optic cup"]}), Glaucoma()]
    curate([source], tasks, out, longest_side=SIDE, workers=workers, progress=False)


def seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Return wall-clock time and processor time of one call, in seconds, with its child processes."""
    began, before = time.perf_counter(), sum(os.times()[:4])
    work()
    return time.perf_counter() - began, sum(os.times()[:4]) - before


def speeds(source: Photographs, work: Path, workers: int, rounds: int) -> list[dict[str, float]]:
    """Return median seconds of curation and of both limits, run alternately, and the ratios of limit to curation.

    The first result is wall-clock time, the second processor time; only the latter is reliable on a shared machine.
    """
    out = work / "out"
    tried: dict[str, Callable[[], None]] = {
        "curate": lambda: curated(source, workers, out / "curated"),
        "limit": lambda: limit(source, workers, None),
        "limit with files": lambda: limit(source, workers, out / "files"),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in tried}
    for turn in range(rounds):
        for name in list(tried)[:: 1 if turn % 2 else -1]:
            shutil.rmtree(out, ignore_errors=True)
            taken[name].append(seconds(tried[name]))
    medians = []
    for clock in (0, 1):
        own = {name: [both[clock] for both in several] for name, several in taken.items()}
        ratios = {f"{name} / curate": [a / b for a, b in zip(t, own["curate"], strict=True)] for name, t in own.items()}
        medians.append({name: statistics.median(t) for name, t in (own | ratios).items()})
    return medians


def peak(work: Callable[[], None]) -> float:
    """Return the largest memory of this process and its children during a call, in MiB."""
    seen, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            seen.append(sum(map(resident, family(os.getpid()))) / 1024)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        work()
    finally:
        over.set()
        watching.join()
    return max(seen)


def family(process: int) -> list[int]:
    """Return a process and all that descend from it."""
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # the process has ended
                found += map(int, task.read_text().split())
    return found


def resident(process: int) -> int:
    """Return the proportional set size of a process in KiB; 0 if it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def main() -> None:
    """Measure all sizes and both numbers, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=120, help="large photographs; eight times as many small ones")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--numbers", type=int, nargs="*", default=[200, 2000], help="small photographs for the memory")
    a = parser.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}\n")
    print(
        "| photographs | n | clock | curate, images/s | limit | limit / curate (goal) | limit with files | / curate |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for (name, size), n in zip(SIZES.items(), (a.n, 8 * a.n, 8 * a.n), strict=True):
        source = written(a.work, size, n)
        for clock, s in zip(("wall", "processor"), speeds(source, a.work, a.workers, a.rounds), strict=True):
            row = [f"{n / s[k]:.1f}" for k in ("curate", "limit", "limit with files")]
            shares = [f"{s[f'{k} / curate']:.2f}" for k in ("limit", "limit with files")]
            shown = [name, n, clock, row[0], row[1], f"{shares[0]} ({LEAST[name]})", row[2], shares[1]]
            print(f"| {' | '.join(map(str, shown))} |", flush=True)
    print("\n| photographs of 384x384 | peak memory of all processes, MiB |\n|---|---|", flush=True)
    for n in a.numbers:
        source = written(a.work / f"memory-{n}", SIZES["384x384"], n)
        print(f"| {n} | {peak(lambda s=source, n=n: curated(s, a.workers, a.work / f'peak-{n}')):.0f} |", flush=True)  # type: ignore[misc]


if __name__ == "__main__":
    main()
