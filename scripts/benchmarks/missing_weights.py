"""Processor time until a command says that the weights of its model are missing; at most 3 s.

    python scripts/benchmarks/missing_weights.py [--limit 3]

User and system time of the process count, not the time on the clock, so that other programs do not matter. The status
is 1 if a command takes longer, or ends with another error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

COMMANDS = (
    "validate --config zero_shot --model llava_1_5_7b",
    "validate --config zero_shot --model small_base --model.backend.checkpoint gone",
    "fit --config llava_med_ft",
    "fit --config retfound_glaucoma",
    "fit --config cnn_glaucoma --model timm",
)


def seconds_of(command: str, folder: Path) -> tuple[float, str]:
    """Return the processor time of a command in seconds, and the first line of its error."""
    typed = [sys.executable, "-m", "lmod_train", *command.split(), "--data.curated", "curated"]
    with (folder / "stderr").open("w+", encoding="utf-8") as stderr:
        process = subprocess.Popen(typed, stdout=subprocess.DEVNULL, stderr=stderr, cwd=folder)
        _, _, used = os.wait4(process.pid, 0)
        stderr.seek(0)
        return used.ru_utime + used.ru_stime, stderr.readline().strip()


def main() -> int:
    """Print a row for each command, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=3.0, help="Maximum processor time of a command in seconds.")
    limit, failed = parser.parse_args().limit, 0
    print("| command | processor s | error |\n|---|--:|---|")
    with TemporaryDirectory() as place:
        (Path(place) / "curated").mkdir()
        (Path(place) / "curated" / "manifest.json").write_text('{"schema_version": 3}', encoding="utf-8")
        for command in COMMANDS:
            seconds, error = seconds_of(command, Path(place))
            failed += seconds > limit or not error.startswith(("error: checkpoint=", "error: weights="))
            print(f"| {command} | {seconds:.2f} | {error[:60]} |")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
