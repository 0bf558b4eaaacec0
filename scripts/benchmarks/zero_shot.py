"""Speed of zero-shot evaluation, as ratios within one run of alternating rounds, each side in its own process.

    python scripts/benchmarks/zero_shot.py --work build/zero_shot [--lmms-python LMMS/bin/python]

The same small LLaVA (25 M parameters, 576 image tokens, a vocabulary of 49 k, random weights), the same exported
records, replies of 16 tokens, float32, on

- lmms-eval 0.7.3, one question at a time, as its model for LLaVA has it (zero_shot_lmms_eval.py describes its
  environment);
- the bare loop of transformers: processor and `generate`, one question at a time;
- ours, as `validate` does it, for 12 questions an image, one question an image, and one question at a time (`alone`);
- the network's linear maps alone, as ours computes them: what no program around them can save.

Wanted, times lmms-eval: 8 with 12 questions an image, 1.5 with one, 1.0 alone; and the same texts. A ratio below that,
in the median of the rounds, is marked.

Seconds are those of answering: images, processor and generation, without start-up and loading. The result of a side is
the median over the rounds; `times` is the median of the ratios of one round, `spread` their lowest and highest. `first
reply` is from the start of the process, imports and loading included; `peak` its peak memory, with libraries; `same
texts` counts replies that equal those of the first side. `others` is the number of cores kept busy by other processes:
results are only valid if it is near 0. On a busy machine use --clock processor --threads 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rounds import CLOCKS, Round, Rounds
from tuning import Side, ran

HERE = Path(__file__).parent
HEAD = "| case | side | questions/s | times | spread | first reply, s | peak, MiB | same texts | others |"
CASES = {"12 questions an image": (12, 60), "1 question an image": (1, 12), "alone": (1, 1)}
"""Questions about an image, and questions of a batch of ours, by case."""

WANTED = {"12 questions an image": 8.0, "1 question an image": 1.5, "alone": 1.0}
"""Least ratio of ours to lmms-eval, by case."""


def world(a: argparse.Namespace) -> None:
    """Write checkpoint and records, and export the records for lmms-eval."""
    sizes = {"--side": a.side, "--tower-width": a.width, "--width": a.width, "--layers": a.layers}
    chosen = [part for name, value in sizes.items() if value for part in (name, str(value))]
    for questions, images in ((12, a.images), (1, a.images_alone)):
        given = ["--work", str(a.work), "--batch", str(questions), "--batches", str(images)]
        script = [
            sys.executable,
            str(HERE / "tuning_world.py"),
            *given,
            "--questions",
            str(questions),
            "--wide",
            *chosen,
        ]
        print(ran(script).splitlines()[-1], flush=True)
        records = a.work / f"questions-{questions}"
        export = ["export", str(records), "--to", "lmms_eval", "--for_own_use", "--out", str(records / "lmms_eval")]
        if not (records / "lmms_eval").exists():
            ran([sys.executable, "-m", "lmod_train", *export])


class Answering(Side):
    """A program that answers the records of a case in its own process."""

    def __call__(self) -> float:
        """Run it once, and return the seconds of answering."""
        self.printed.append(json.loads(ran(self._command).splitlines()[-1]))
        return float(self.printed[-1]["seconds"])


def sides(a: argparse.Namespace, case: str) -> dict[str, Answering]:
    """Return the sides of a case by name, the one that others are compared with first."""
    questions, batch = CASES[case]
    records, common = a.work / f"questions-{questions}", ["--checkpoint", str(a.work / "checkpoint")]
    common += ["--tokens", str(a.tokens), "--threads", str(a.threads), "--clock", a.clock]
    ours = ["--work", str(records), "--batch", str(batch), *common]
    made = {}
    if a.lmms_python is not None:
        export = ["--export", str(records / "lmms_eval")]
        made["lmms-eval"] = Answering("lmms-eval", a.lmms_python, "zero_shot_lmms_eval.py", *export, *common)
    named = {"bare generate": "generate", "ours": "validate", "linear maps alone": "products"}
    return made | {
        name: Answering(name, sys.executable, "zero_shot_ours.py", side, *ours) for name, side in named.items()
    }


def measured(a: argparse.Namespace, case: str) -> None:
    """Run the sides of a case alternately and print a row for each."""
    chosen = sides(a, case)
    runs: dict[str, Round] = {f"side_{i}": side for i, side in enumerate(chosen.values())}
    took = Rounds(a.rounds, False, **runs)
    first = next(iter(chosen.values()))
    for key, side in zip(runs, chosen.values(), strict=True):
        ratios = [b / c for b, c in zip(took.seconds["side_0"], took.seconds[key], strict=True)]
        count = len(first.printed[0]["texts"])
        low = (side.name, first.name) == ("ours", "lmms-eval") and statistics.median(ratios) < WANTED[case]
        print(
            f"| {case} | {side.name} | {count / took.median(key):.2f} | {statistics.median(ratios):.2f} "
            f"| {took.spread(key, 'side_0')} | {latency(side)} | {side.peak:,.0f} | {same(side, first)} of {count} "
            f"| {took.others:.2f} |{'  BELOW THE LIMIT' if low else ''}",
            flush=True,
        )


def latency(side: Answering) -> str:
    """Return the median seconds from the start of the process to the first reply; empty for a limit."""
    found: list[Any] = [one["first"] for one in side.printed if "first" in one]
    return f"{statistics.median(found):.1f}" if found else ""


def same(side: Answering, first: Answering) -> int | str:
    """Return how many texts equal those of the first side in the first round; a dash for a side without texts."""
    ours, theirs = side.printed[0]["texts"], first.printed[0]["texts"]
    return sum(a.strip() == b.strip() for a, b in zip(ours, theirs, strict=True)) if ours else "-"


def installed(python: Path | None) -> bool:
    """Return whether an environment has lmms-eval."""
    command = [str(python), "-c", "import lmms_eval"]
    return python is not None and not subprocess.run(command, capture_output=True, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the records, run the rounds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own")
    parser.add_argument("--lmms-python", type=Path, help="Python of an environment with lmms-eval")
    parser.add_argument("--cases", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=10, help="images with 12 questions each")
    parser.add_argument("--images-alone", type=int, default=24, help="images with one question each")
    parser.add_argument("--tokens", type=int, default=16, help="tokens of a reply")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--side", type=int, default=0, help="side that the tower takes; 0 for 336")
    parser.add_argument("--width", type=int, default=0, help="width of tower and language model; 0 for 192 and 288")
    parser.add_argument("--layers", type=int, default=0, help="layers of the language model; 0 for 8")
    a = parser.parse_args(arguments)
    a.work = a.work.resolve()
    if not installed(a.lmms_python):
        print("lmms-eval: not measured; name --lmms-python PYTHON. Ratios are to the bare loop of transformers.")
        a.lmms_python = None
    world(a)
    print("\n" + HEAD + "\n" + "|---" * 9 + "|", flush=True)
    for case in a.cases:
        measured(a, case)


if __name__ == "__main__":
    main()
