"""Processor time before anything happens, of all processes and threads, beside the import of Lightning alone.

    python scripts/benchmarks/first_step.py --work build/first_step

- `fit`: the quick start's tuning from the start of the process to the gradients of step 10: imports, options, checks,
  the probe before training, and ten batches
- `validate`: the untuned small base asked 12 records a task, to the printed scores
- `curate`: the quick start's curation of its phantoms, or of fewer with --n

`import lightning` is the baseline, in a process of its own: no program on Lightning starts with less. Sides alternate;
a row is the median of the rounds, `times` the median of the ratios to the baseline in one round, `spread` their lowest
and highest. Install no extras for it: peft imports bitsandbytes wherever it is installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from curation import family
from lightning import Callback
from rounds import Rounds

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
LIMITS = {"fit": 3.1, "validate": 1.3, "curate": 1.7}
"""Largest ratios to the import of Lightning."""


class Clock(Callback):
    """Prints the processor seconds of this process and its children when ten steps have their gradients, and ends."""

    def on_before_optimizer_step(self, trainer: Any, *args: Any) -> None:
        """Print and end after ten."""
        if trainer.global_step == 9:
            print(f"\nprocessor {sum(map(used, family(os.getpid())))}", flush=True)
            os._exit(0)


def used(process: int) -> float:
    """Return the processor seconds of a process and of its children that ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def processor(*command: str | Path) -> float:
    """Run a command and return its processor seconds: those that it printed, or those of its whole life."""
    before = os.times()
    whole = [sys.executable, *map(str, command)]
    done = subprocess.run(whole, cwd=Path(__file__).parent, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(whole)} failed:\n{done.stderr[-2000:]}")
    after = os.times()
    printed = done.stdout.rpartition("\nprocessor ")[2].split()
    whole_life = after.children_user + after.children_system - before.children_user - before.children_system
    return float(printed[0]) if "\nprocessor " in done.stdout else whole_life


def asked(work: Path, *arguments: str | Path) -> float:
    """Run one of our commands, into a folder that no other run has used."""
    command, *rest = arguments
    folder = Path(tempfile.mkdtemp(dir=work)) / "made"
    return processor("-m", "lmod_train", command, *rest, "--out" if command == "curate" else "--run", folder)


def main() -> None:
    """Draw the phantoms, run the rounds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=600, help="phantoms a source")
    parser.add_argument("--rounds", type=int, default=3)
    a = parser.parse_args()
    work = a.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    processor("-m", "lmod_train", "phantom", "--out", work / "raw", "--n", str(a.n))
    cut = ("curate", "--raw", work / "raw", "--config", CONFIGS / "curate" / "quickstart.yaml")
    processor("-m", "lmod_train", *cut, "--out", work / "curated")
    data = ("--data.curated", work / "curated")
    clock = ("--trainer.callbacks+=first_step.Clock", "--trust", "first_step")
    took = Rounds(
        a.rounds,
        lightning=partial(processor, "-c", "import lightning"),
        fit=partial(asked, work, "fit", "--config", CONFIGS / "quickstart.yaml", *data, *clock),
        validate=partial(asked, work, "validate", "--config", CONFIGS / "zero_shot.yaml", *data, "--data.limit", "12"),
        curate=partial(asked, work, *cut),
    )
    print("| command | processor s | times | spread | at most |\n|---|---|---|---|---|")
    print(f"| import lightning | {took.median('lightning'):.1f} | 1 | | |")
    for name, most in LIMITS.items():
        ratios = [b / a for a, b in zip(took.seconds["lightning"], took.seconds[name], strict=True)]
        ratio, spread = statistics.median(ratios), took.spread("lightning", name)
        print(f"| {name} | {took.median(name):.1f} | {ratio:.2f} | {spread} | {most} |", end="")
        print("" if ratio <= most else "  ABOVE THE LIMIT", flush=True)


if __name__ == "__main__":
    main()
