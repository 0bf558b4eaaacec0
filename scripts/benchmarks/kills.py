"""Kill `curate`, `validate` and `fit` with SIGKILL at random moments, start them again, and compare with a quiet run.

Nothing may be lost, nothing done twice, and the result must be the same: bytes of the curated folder, one reply a
record, equal scores, equal trained tensors.

    python scripts/benchmarks/kills.py --work build/kills --n 48
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lmod_train.artifacts import read_scores

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def lmod(*arguments: str | Path) -> list[str]:
    """Return one command of the package."""
    return [sys.executable, "-m", "lmod_train", *(str(a) for a in arguments)]


def quiet(command: Sequence[str]) -> float:
    """Run a command to its end and return its seconds; its output is shown only when it fails."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return time.perf_counter() - began


def kill(command: Sequence[str], after: float) -> bool:
    """Start a command, kill it and all its children after some seconds; return whether it was still running."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return True
    return False


def digest(folder: Path) -> str:
    """Return one hash over the names and bytes of all files."""
    whole = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        whole.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def figures(run: Path) -> list[object]:
    """Return the scores of a run without its name."""
    return [score for _, _, score in read_scores(run / "scores.csv")]


def asked_twice(run: Path) -> int:
    """Return how many replies were written for a record that had one already, of the same weights."""
    lines = [line for f in (run / "replies").glob("*.jsonl") for line in f.read_text(encoding="utf-8").splitlines()]
    keys = Counter((row["id"], row["step"]) for row in map(json.loads, lines))
    return sum(keys.values()) - len(keys)


def tensors(run: Path) -> dict[str, object]:
    """Return the trained tensors of a run's last checkpoint as bytes."""
    import torch

    state = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    return {k: v.numpy().tobytes() for k, v in state.items()}


def survive(name: str, commands: Sequence[list[str]], kills: int, rng: random.Random) -> None:
    """Run the first command undisturbed; kill the second at random moments within that time, then let it finish."""
    command, spoiled = commands
    seconds = quiet(command)
    moments = sorted(rng.uniform(0.05, 0.95) * seconds for _ in range(kills))
    hit = [kill(spoiled, moment) for moment in moments]
    quiet(spoiled)
    told = ", ".join(f"{m:.1f}" + ("" if h else " (over)") for m, h in zip(moments, hit, strict=True))
    print(f"{name}: {seconds:.1f} s undisturbed; killed after {told} s")


def check(name: str, same: bool) -> bool:
    """Print one verdict and return it."""
    print(f"  {'same' if same else 'DIFFERENT'}: {name}", flush=True)
    return same


def main() -> None:
    """Kill all three stages and exit with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=48, help="phantoms a source")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    work, rng = a.work.resolve(), random.Random(a.seed)
    quiet(lmod("phantom", "--out", work / "raw", "--n", a.n, "--seed", a.seed))
    held = all([curating(work, a.kills, rng), validating(work, a.kills, rng), fitting(work, a.kills, rng)])
    sys.exit(0 if held else 1)


def _curate(out: Path, work: Path) -> list[str]:
    return lmod("curate", "--raw", work / "raw", "--out", out, "--config", CONFIGS / "curate" / "quickstart.yaml")


def curating(work: Path, kills: int, rng: random.Random) -> bool:
    """Kill `curate`."""
    folders = work / "quiet" / "curated", work / "killed" / "curated"
    survive("curate", [_curate(folder, work) for folder in folders], kills, rng)
    texts = [(f / "manifest.json").read_text(encoding="utf-8").replace(str(f), "") for f in folders]
    for folder in folders:  # the command line, and so the folder's own name, stands in the manifest
        (folder / "manifest.json").rename(folder.parent / "manifest.json")
    same = check("every image, record and drop", digest(folders[0]) == digest(folders[1]))
    for folder in folders:
        (folder.parent / "manifest.json").rename(folder / "manifest.json")
    return check("manifest", texts[0] == texts[1]) and same


def validating(work: Path, kills: int, rng: random.Random) -> bool:
    """Kill a zero-shot `validate`."""
    runs = work / "quiet" / "untuned", work / "killed" / "untuned"
    options = ("--data.curated", work / "quiet" / "curated", "--data.eval_batch_size", "4", "--data.split", "all")
    commands = [lmod("validate", "--config", CONFIGS / "zero_shot.yaml", *options, "--run", run) for run in runs]
    survive("validate", commands, kills, rng)
    return all(
        [
            check("every score", figures(runs[0]) == figures(runs[1])),
            check("no record asked twice", asked_twice(runs[1]) == 0),
        ]
    )


def fitting(work: Path, kills: int, rng: random.Random) -> bool:
    """Kill a `fit`, then ask both tuned models the same records."""
    runs = work / "quiet" / "fit", work / "killed" / "fit"
    shared = ("--config", CONFIGS / "quickstart.yaml", "--data.curated", work / "quiet" / "curated")
    options = ("--data.batch_size", "8", "--checkpoint.every_n_train_steps", "2")
    survive("fit", [lmod("fit", *shared, *options, "--run", run) for run in runs], kills, rng)
    tuned = [run.parent / "tuned" for run in runs]
    for run, answers in zip(runs, tuned, strict=True):
        weights = run / "checkpoints" / "last.ckpt"
        quiet(lmod("validate", *shared, "--run", answers, "--ckpt_path", weights))
    return all(
        [
            check("every trained tensor, to the bit", tensors(runs[0]) == tensors(runs[1])),
            check("every score of the tuned model", figures(tuned[0]) == figures(tuned[1])),
        ]
    )


if __name__ == "__main__":
    main()
