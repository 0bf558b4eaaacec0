"""Speed of instruction tuning, as ratios within one run of alternating rounds, each side in its own process.

    python scripts/benchmarks/tuning.py --work build/tuning [--trl-python TRL/bin/python]

(a) supervised answers per second against TRL's SFTTrainer (see tuning_trl.py for its environment), with 12 questions
    per image and with one: the same small LLaVA (25 M parameters, 576 image tokens, a vocabulary of 49 k, random
    weights), images, questions, answers and order; float32, frozen tower, all else trained, AdamW, no dropout,
    gradients clipped at 1. Our optimisations are switched on one after another, see tuning_ours.py. The row before the
    last is the default of `fit`; the last reads the tower's features from disk, as after an earlier epoch or run. TRL
    is listed unchanged, and as it would be with a GPU kernel: on a CPU it computes the logits at every token, on a GPU
    only at supervised ones, so that this optimisation gives less there than the first ratio suggests.
(b) our Trainer against a bare loop over tensors prepared and packed in memory: same sequences, network and optimiser.
    Ours also reads and prepares its images. The limit is 1, the target 0.9.
(c) the computed effect of each optimisation at 7B: tuning_arithmetic.py.

The result of a side is the median of its steps after the first, and of this the median over the rounds. `spread` is the
lowest and the highest ratio of one round; `others` is the number of cores kept busy by other processes: results are
only valid if it is near 0. `peak` is the peak memory of the side's process, with libraries. `losses` is the largest
relative difference of any step's loss from the first side's. On a busy machine use --clock processor --threads 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rounds import CLOCKS, Round, Rounds
from tuning_arithmetic import print_table

HERE = Path(__file__).parent
OURS = (
    "ours: one question a sequence, its picture through the tower",
    "+ tower once an image",
    "+ prefix once",
    "+ vocabulary where it is learnt (the default)",
    "+ tower from disk",
)
ALONE = (0, 3, 4)
"""Optimisations that have an effect with one question per image."""

HEAD = "| questions an image | side | answers/s | s a step | {} | spread | losses | peak, MiB | others |"


class Side:
    """A program that trains in its own process and prints its measurements.

    Attributes:
        name: Name in the table.
        printed: JSON object that it printed in each round.
    """

    def __init__(self, name: str, python: str | Path, script: str, *options: str) -> None:
        self.name = name
        self._command = [str(python), str(HERE / script), *options]
        self.printed: list[dict[str, Any]] = []

    def __call__(self) -> float:
        """Run it once, and return the median seconds of a step."""
        self.printed.append(json.loads(ran(self._command).splitlines()[-1]))
        return float(statistics.median(self.printed[-1]["seconds"]))

    @property
    def peak(self) -> float:
        """Peak memory in MiB."""
        return max(float(one["peak"]) for one in self.printed)

    def apart(self, other: Side) -> float:
        """Return the largest relative difference of a step's loss, over all rounds.

        Exits if the sides train different parameters or numbers of steps.
        """
        pairs = [
            (a, b)
            for ours, theirs in zip(self.printed, other.printed, strict=True)
            for a, b in zip(ours["losses"], theirs["losses"], strict=True)
        ]
        if self.printed[0]["trained"] != other.printed[0]["trained"]:
            mine, theirs = (side.printed[0]["trained"] for side in (self, other))
            sys.exit(f"{self.name} trains {mine} parameters, {other.name} {theirs}")
        return max(float(abs(a - b) / abs(b)) for a, b in pairs)


def ran(command: Sequence[str]) -> str:
    """Run a program and return its output; if it fails, exit with the end of its output."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def world(a: argparse.Namespace, folder: Path, batches: int, questions: Sequence[int]) -> None:
    """Write checkpoint, images and records in another process, as this one must stay small (`peak_mebibytes`)."""
    given = {"--work": folder, "--batch": a.batch, "--batches": batches, "--picture": a.picture}
    given |= {"--side": a.side, "--patch": a.patch, "--tower-width": a.tower_width, "--tower-layers": a.tower_layers}
    given |= {"--width": a.width, "--layers": a.layers, "--vocabulary": a.vocabulary}
    options = [str(part) for pair in given.items() for part in pair]
    print(
        ran(
            [sys.executable, str(HERE / "tuning_world.py"), *options, "--questions", *map(str, questions)]
        ).splitlines()[-1]
    )


def options(a: argparse.Namespace, folder: Path, questions: int) -> list[str]:
    """Return the options that every side gets."""
    made = ["--work", str(folder / f"questions-{questions}"), "--checkpoint", str(folder / "checkpoint")]
    return [*made, "--batch", str(a.batch), "--threads", str(a.threads), "--clock", a.clock]


def measured(a: argparse.Namespace, questions: int, sides: Sequence[Side], rounds: int) -> None:
    """Run the sides alternately and print a row for each; ratios are to the first."""
    runs: dict[str, Round] = {f"side_{i}": side for i, side in enumerate(sides)}
    took = Rounds(rounds, False, **runs)
    for name, side in zip(runs, sides, strict=True):
        seconds = took.median(name)
        print(
            f"| {questions} | {side.name} | {a.batch / seconds:.3f} | {seconds:.3f} "
            f"| {took.median('side_0') / seconds:.2f} | {took.spread(name, 'side_0')} | {side.apart(sides[0]):.1e} "
            f"| {side.peak:,.0f} | {took.others:.2f} |",
            flush=True,
        )


def peer(a: argparse.Namespace) -> None:
    """Measure (a)."""
    folder = a.work / "peer"
    print("\n(a) against TRL; wanted: 8 times with 12 questions an image, 2 times with one, losses within 1e-2")
    if a.trl_python is None:
        print("TRL: not measured; name --trl-python PYTHON. Ratios are to the first row of ours.")
    world(a, folder, 1 + a.steps, a.questions)
    print("\n" + HEAD.format("times the first row" if a.trl_python is None else "times TRL"))
    print("|---" * 9 + "|", flush=True)
    for questions in a.questions:
        common = options(a, folder, questions)
        sides = []
        if a.trl_python is not None:
            named = {"TRL": [], "TRL, vocabulary where it is learnt, as on a GPU": ["--compact"]}
            sides = [Side(name, a.trl_python, "tuning_trl.py", *common, *more) for name, more in named.items()]
        for levers in ALONE if questions == 1 else range(len(OURS)):
            sides.append(Side(OURS[levers], sys.executable, "tuning_ours.py", *common, "--levers", str(levers)))
        measured(a, questions, sides, a.rounds)


def bare(a: argparse.Namespace) -> None:
    """Measure (b)."""
    folder, questions = a.work / "bare", max(a.questions)
    print("\n(b) against a bare loop; wanted: 0.9")
    world(a, folder, 1 + a.bare_steps, [questions])
    common = options(a, folder, questions)
    sides = [
        Side("bare loop over prepared tensors", sys.executable, "tuning_ours.py", *common, "--bare"),
        Side("ours, the default", sys.executable, "tuning_ours.py", *common, "--levers", "3"),
        Side("ours, tower from disk", sys.executable, "tuning_ours.py", *common, "--levers", "4"),
    ]
    print("\n" + HEAD.format("times the bare loop") + "\n" + "|---" * 9 + "|", flush=True)
    measured(a, questions, sides, a.bare_rounds)


def arguments() -> argparse.Namespace:
    """Return the parsed arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--trl-python", type=Path, help="a Python that has TRL 1.16")
    parser.add_argument("--only", choices=("peer", "bare", "arithmetic"), help="one part alone")
    parser.add_argument(
        "--questions", type=int, nargs="+", default=[12, 1], help="about one image; divisors of --batch"
    )
    parser.add_argument("--batch", type=int, default=12, help="questions a step")
    parser.add_argument("--steps", type=int, default=3, help="measured, after one that warms up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare-steps", type=int, default=10)
    parser.add_argument("--bare-rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor needs --threads 1")
    parser.add_argument("--picture", type=int, default=512, help="side of a picture in pixels")
    parser.add_argument("--side", type=int, default=336, help="side that the tower takes")
    parser.add_argument("--patch", type=int, default=14)
    parser.add_argument("--tower-width", type=int, default=192)
    parser.add_argument("--tower-layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=288, help="of the language model")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=49152)
    a = parser.parse_args()
    if a.clock == "processor" and a.threads != 1:
        parser.error("--clock processor counts the time that threads wait for each other; add --threads 1")
    if any(a.batch % questions for questions in a.questions):
        parser.error(f"--questions {a.questions} must divide --batch {a.batch}")
    return a


def main() -> None:
    """Measure and print."""
    a = arguments()
    shutil.rmtree(a.work, ignore_errors=True)
    print(f"{a.batch} questions a step, {a.threads} threads, {a.rounds} rounds of {a.steps} steps, {a.clock} seconds")
    parts: dict[str, Callable[[], None]] = {"peer": lambda: peer(a), "bare": lambda: bare(a), "arithmetic": print_table}
    for name, part in parts.items():
        if a.only in (None, name):
            part()


if __name__ == "__main__":
    main()
