"""Time and peak memory of every stage of the quick start, and the share of each that is spent in the model.

    python scripts/benchmarks/stages.py --work build/stages --n 600

The share is the time that a faster program around the model could not save: for `validate` the seconds of its replies,
for `fit` the seconds inside training batches. Peak memory is that of the largest single process.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lmod_train.core.artifacts.replies import read_replies

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


@dataclass(frozen=True)
class Stage:
    """Time and memory of one command.

    Attributes:
        name: Name of the stage.
        seconds: Wall-clock time, with start-up.
        mebibytes: Peak resident memory of the largest single process.
        model: Seconds inside the model; None without a model.
    """

    name: str
    seconds: float
    mebibytes: float
    model: float | None = None

    def __str__(self) -> str:
        share = "" if self.model is None else f"{100 * self.model / self.seconds:.0f} %"
        return f"| {self.name} | {self.seconds:.1f} | {self.mebibytes:.0f} | {share} |"


def run(name: str, *arguments: str | Path) -> Stage:
    """Run one command and measure it.

    Raises:
        SystemExit: It failed.
    """
    began = time.perf_counter()
    command = [sys.executable, "-m", "lmod_train", *(str(a) for a in arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed: run it alone to see why")
    return Stage(name, time.perf_counter() - began, used.ru_maxrss / 1024)


def asked(name: str, folder: Path, *arguments: str | Path) -> Stage:
    """Run a `validate` and add the seconds of its replies."""
    stage = run(name, "validate", *arguments, "--run", folder)
    seconds = sum(reply.seconds for reply in read_replies(folder / "replies").values())
    return Stage(stage.name, stage.seconds, stage.mebibytes, seconds)


def fitted(name: str, folder: Path, *arguments: str | Path) -> Stage:
    """Run a `fit` under Lightning's profiler and add the seconds inside training batches."""
    profiler = "lightning.pytorch.profilers.SimpleProfiler"
    options = (
        f"--trainer.profiler={profiler}",
        f"--trainer.profiler.dirpath={folder}",
        "--trainer.profiler.filename=p",
    )
    stage = run(name, "fit", *arguments, "--run", folder, *options)
    text = next(folder.glob("*p.txt")).read_text(encoding="utf-8")
    found = re.search(r"run_training_batch\s*\|[^|]*\|[^|]*\|\s*([\d.]+)", text)
    return Stage(stage.name, stage.seconds, stage.mebibytes, float(found[1]) if found else None)


def main() -> None:
    """Run the stages of the quick start and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=600, help="phantoms a source")
    a = parser.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    work, cut = a.work.resolve(), CONFIGS / "curate" / "quickstart.yaml"
    data = ("--data.curated", work / "curated")
    print("| stage | s | MiB | in the model |\n|---|---|---|---|", flush=True)
    print(run("phantom", "phantom", "--out", work / "raw", "--n", str(a.n)), flush=True)
    print(run("curate", "curate", "--raw", work / "raw", "--out", work / "curated", "--config", cut), flush=True)
    print(
        asked("validate untuned", work / "runs" / "untuned", "--config", CONFIGS / "zero_shot.yaml", *data), flush=True
    )
    for name in ("cnn_anatomy", "cnn_glaucoma", "cnn_four_way", "quickstart"):
        shared = ("--config", CONFIGS / f"{name}.yaml", *data)
        fit = work / "fits" / name
        print(fitted(f"fit {name}", fit, *shared), flush=True)
        weights = ("--ckpt_path", fit / "checkpoints" / "last.ckpt")
        print(asked(f"validate {name}", work / "runs" / name, *shared, *weights), flush=True)
    print(run("report", "report", *sorted((work / "runs").iterdir()), "--out", work / "report"))


if __name__ == "__main__":
    main()
