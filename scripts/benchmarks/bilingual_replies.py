"""Measure the parsers of the questions of OphthalWeChat against labelled replies, and read mutated ones.

    python scripts/benchmarks/bilingual_replies.py [--mutations 100000] [--seed 0]

The replies and their labels (tests/tasks/parsing/bilingual.jsonl) were written before the parsers' rules; the rules
were made on the half `develop`. For each half and kind of question: the replies that are read as labelled, how many of
the read answers are right (precision), and how many of the answers are read (recall), with 95 % intervals (Wilson).
Then labelled replies with pieces left out, doubled, moved or replaced are read: no parser may raise, and an answer must
be one of the choices.
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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.tasks.parsing.bilingual import CHOICES, labelled, measured, outcome, precision_and_recall
from tests.tasks.parsing.test_reading import mutated


def share(count: int, of: int) -> str:
    """Return a share with its 95 % interval; "none" of none."""
    if not of:
        return "none"
    interval = binomtest(count, of).proportion_ci(method="wilson")
    return f"{count}/{of} = {count / of:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def main() -> None:
    """Print the figures of both halves, and the outcomes of the mutations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=100_000, help="number of mutated replies (default 100000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations (default 0)")
    asked = parser.parse_args()
    for half in ("develop", "held_out"):
        wrong, total = measured(half)
        print(f"{half}: read as labelled {share(total - len(wrong), total)}")
        for kind in ("", *CHOICES):
            read, right, answers = precision_and_recall(half, kind)
            print(f"  {kind or 'all'}: precision {share(right, read)}; recall {share(right, answers)}")
        for row, found in wrong:
            print(f"  {row.asked} {row.reply!r}: {found} instead of {row.answer or row.outcome}")
    rows, chance, began = labelled(), random.Random(asked.seed), time.perf_counter()
    outcomes: Counter[str] = Counter()
    for _ in tqdm(range(asked.mutations), disable=None):
        row = chance.choice(rows)
        found = outcome(row.asked, mutated(row.reply, chance))
        outcomes[found if found.startswith("?") else "answered"] += 1
    seconds = time.perf_counter() - began
    print(f"{asked.mutations} mutations in {seconds:.0f} s: {dict(outcomes.most_common())}")


if __name__ == "__main__":
    main()
