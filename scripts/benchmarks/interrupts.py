"""Send Ctrl-C to a small `fit` at random moments of its life, and let the same command go on.

    python scripts/benchmarks/interrupts.py --curated CURATED --work build/interrupts --n 100

A moment lies between the start of the process and its end: imports, reading, training, validation, saving. Most trials
are forks of a process that has imported torch already; every `--anew`-th is a new interpreter. Every fifth presses
twice within a tenth of a second. Each process must end within ten seconds with status 130 and a line that says what is
kept, or with 0 if it was done; the last trial is a whole run, with the weights of an undisturbed one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import torch

from tests import forks

LIMIT = 10.0
"""Seconds after Ctrl-C within which a command ends."""


def command(curated: Path, run: Path) -> list[str]:
    """Return the arguments of a small `fit` with a checkpoint every four steps, and a validation in each epoch."""
    small = ["--model.init_args.side", "16", "--data.batch_size", "2", "--trainer.logger", "false"]
    steps = ["--trainer.max_epochs", "2", "--checkpoint.every_n_train_steps", "4"]
    plain = ["--trainer.enable_progress_bar", "false", "--run", str(run), "--data.split", "val"]
    start = ["-m", "lmod_train", "fit", "--config", "cnn_glaucoma", "--data.curated", str(curated)]
    return [*start, *small, *steps, *plain]


def pressed(arguments: list[str], after: float, presses: int, anew: bool) -> tuple[int, float, str]:
    """Return status, seconds from Ctrl-C to the end, and what a command printed; -9 where it had to be killed."""
    child: subprocess.Popen[str] | forks.Started
    if anew:
        whole = [sys.executable, *arguments]
        child = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        pid = child.pid
    else:
        child = forks.start(arguments, Path.cwd())
        pid = child.process.pid or 0
    time.sleep(after)
    begun = time.monotonic()
    for _ in range(presses):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
        time.sleep(0.05)
    try:
        status, text = _ended(child)
    except (subprocess.TimeoutExpired, TimeoutError):
        os.kill(pid, signal.SIGKILL)
        status, text = -signal.SIGKILL, ""
    return status, time.monotonic() - begun, text


def _ended(child: subprocess.Popen[str] | forks.Started) -> tuple[int, str]:
    if isinstance(child, forks.Started):
        done = child.ended(30 * LIMIT)
        return done.returncode, done.stdout + done.stderr
    text = child.communicate(timeout=30 * LIMIT)[0]
    return child.returncode, text


def main() -> int:
    """Run the trials and print the counts; return 0 if each ended in time and said so."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curated", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder to write, emptied first")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--anew", type=int, default=6, help="every how many trials a new interpreter starts")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    shutil.rmtree(given.work, ignore_errors=True)
    os.environ.setdefault("WANDB_MODE", "offline")
    draw, statuses, longest, wrong = random.Random(given.seed), Counter[int](), 0.0, []
    whole = {}
    for anew in (False, False, True):  # the first starts the server of forks
        shutil.rmtree(given.work / "whole", ignore_errors=True)
        status, whole[anew], text = pressed(command(given.curated, given.work / "whole"), 0, 0, anew)
        if status:
            sys.exit(text)
    for trial in range(given.n):
        anew = trial % given.anew == given.anew - 1
        moment, presses = draw.uniform(0.1, whole[anew]), 1 + (trial % 5 == 4)
        status, seconds, text = pressed(command(given.curated, given.work / "pressed"), moment, presses, anew)
        print(f"{trial}: {moment:.1f} of {whole[anew]:.1f} s, status {status} after {seconds:.1f} s", flush=True)
        statuses[status] += 1
        longest = max(longest, seconds)
        said = "interrupted" in text and "Traceback" not in text and "Exception ignored" not in text
        if seconds > LIMIT or status not in (0, 130) or (status == 130 and not said):
            wrong.append(f"trial {trial}: status {status}, {seconds:.1f} s, {text[-400:]!r}")
        if status == 0:  # complete: the next one starts again
            shutil.rmtree(given.work / "pressed", ignore_errors=True)
    pressed(command(given.curated, given.work / "pressed"), 0, 0, anew=True)
    states = [torch.load(given.work / run / "checkpoints" / "last.ckpt") for run in ("whole", "pressed")]
    same = all(torch.equal(states[1]["state_dict"][name], tensor) for name, tensor in states[0]["state_dict"].items())
    left = [path for path in (given.work / "pressed").rglob("*") if path.name.endswith((".part", ".partial"))]
    print(
        f"{given.n} trials of {whole[False]:.1f} s ({whole[True]:.1f} s if new), statuses {dict(statuses)}, "
        f"longest end {longest:.1f} s"
    )
    print(f"weights equal to an undisturbed run: {same}; unfinished files left: {len(left)}; wrong: {len(wrong)}")
    print("\n".join(wrong))
    return int(bool(wrong or left or not same))


if __name__ == "__main__":
    sys.exit(main())
