"""Measure the parser of single-choice replies against labelled replies, and read mutated ones.

    python scripts/benchmarks/options.py [--mutations 100000] [--seed 0]

The replies and their labels (tests/tasks/parsing/options.jsonl) were written before the parser's rules; the rules were
made on the half `develop`. For each half: how many replies have an answer, how many are read, and how many of these are
right (precision), with 95 % intervals (Wilson). Then labelled replies with pieces left out, doubled, moved or replaced
are read as options and as confidences: no parser may raise, an answer must be one of the options, a confidence lies
within 0 and 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from scipy.stats import binomtest
from tqdm import tqdm

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.confidence import parse_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.tasks.parsing.options import OPTIONS, Labelled, labelled
from tests.tasks.parsing.test_option import measured
from tests.tasks.parsing.test_reading import mutated


def share(count: int, of: int) -> str:
    """Return a share with its 95 % interval."""
    interval = binomtest(count, of).proportion_ci(method="wilson")
    return f"{count}/{of} = {count / of:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def outcome(row: Labelled, text: str) -> str:
    """Return what becomes of a text as a reply: ``answered``, or a reason.

    Raises:
        ValueError: The answer is no option, or the confidence is not within 0 and 1.
    """
    answer = read(Reply("a", text), parse_option, OPTIONS[row.asked])
    stated = parse_confidence(text, "How confident are you?")
    if stated is not None and not 0 <= stated <= 1:
        raise ValueError(f"{text!r}: confidence {stated}")
    if isinstance(answer, Unparsed):
        return answer.reason
    if answer not in OPTIONS[row.asked]:
        raise ValueError(f"{text!r}: {answer!r} is no option")
    return "answered"


def main() -> None:
    """Print the figures of both halves, and the outcomes of the mutations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=100_000, help="number of mutated replies (default 100000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations (default 0)")
    asked = parser.parse_args()
    for half in ("develop", "held_out"):
        wrong, answers, found, right = measured(half)
        print(f"{half}: precision {share(right, found)}; read {share(right, answers)}")
        for reply, wanted, got in wrong:
            print(f"  {reply!r}: {got} instead of {wanted}")
    rows, chance, began = labelled(), random.Random(asked.seed), time.perf_counter()
    outcomes: Counter[str] = Counter()
    for _ in tqdm(range(asked.mutations), disable=None):
        row = chance.choice(rows)
        outcomes[outcome(row, mutated(row.reply, chance))] += 1
    seconds = time.perf_counter() - began
    print(f"{asked.mutations} mutations in {seconds:.0f} s: {dict(outcomes.most_common())}")


if __name__ == "__main__":
    main()
