"""Planted explainers, and labelled explanations: what the section on explanations says of them.

    python scripts/benchmarks/explanations.py --draws 300 --patients 60    coverage and verdicts of planted explainers
    python scripts/benchmarks/explanations.py --labelled tests/extensions/reason/explanations.csv    claims

Labels were made before the claims were read, by somebody who had not seen the reader.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lmod_train.extensions.reason.claims import Claim  # noqa: E402
from lmod_train.extensions.reason.reading import claims_of  # noqa: E402
from lmod_train.extensions.reason.scores import explanations, held_against_facts  # noqa: E402
from tests.extensions.reason import explainers  # noqa: E402

PLANTED = ("truthful", "textbook", "random", "other_eye", "one_in_five")


def planted(draws: int, patients: int) -> None:
    """Print coverage of the specific share and the verdicts of each explainer."""
    print(f"{patients} patients of each answer, {draws} draws")
    print("explainer    planted        coverage (at least 93 %)   of this eye   of any such eye   cannot be told")
    for name in PLANTED:
        own = getattr(explainers, name)
        large = explainers.replies(own, 1500, 1 << 20)
        truth = [one.specific.value or 0.0 for one in explanations(large, held_against_facts(large))]
        verdicts, held, total = Counter[str](), 0, 0
        for seed in range(draws):
            several = explainers.replies(own, patients, seed)
            for one, value in zip(explanations(several, held_against_facts(several)), truth, strict=True):
                low, high = one.specific.low, one.specific.high
                held += low is not None and high is not None and low - 1e-9 <= value <= high + 1e-9
                verdicts[one.verdict] += 1
                total += 1
        shares = [verdicts[v] / total for v in ("of this eye", "of any such eye", "cannot be told")]
        shown = "   ".join(f"{share:12.1%}" for share in shares)
        print(f"{name:12} {truth[0]:+.3f} {truth[1]:+.3f}   {held / total:.3f}   {shown}")


def labelled(file: Path) -> None:
    """Print precision and recall of the claims, of all and by kind, and each that differs."""
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    began, counts = time.perf_counter(), Counter[tuple[str, str]]()
    for row in rows:
        expected = {Claim(*one).content for one in json.loads(row["claims"])}
        found = {claim.content for claim in claims_of(row["text"])}
        kinds = ("all", "hostile" if row["hostile"] == "yes" else "ordinary", row["language"], row["answer"])
        flipped = {(*one[:-1], not one[-1]) for one in expected} & found
        for kind in kinds:
            counts[kind, "found"] += len(found)
            counts[kind, "right"] += len(found & expected)
            counts[kind, "expected"] += len(expected)
            counts[kind, "reversed"] += len(flipped)
        for title, odd in (("wrong ", found - expected), ("missed", expected - found)):
            for one in sorted(odd, key=str):
                print(f"{title} {row['id']}: {one}   {row['text'][:160]!r}")
    print(f"{1000 * (time.perf_counter() - began) / max(1, len(rows)):.2f} ms a reply")
    for kind in dict.fromkeys(kind for kind, _ in counts):
        read, right, stated = (counts[kind, name] for name in ("found", "right", "expected"))
        least = 0.95 if kind == "hostile" else 0.97
        precision, recall = right / max(1, read), right / max(1, stated)
        print(
            f"{kind:20} precision {precision:.3f} ({right} of {read}; at least {least}), "
            f"recall {recall:.3f} ({right} of {stated}; at least 0.85), reversed {counts[kind, 'reversed']} (none)"
        )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--patients", type=int, default=60)
    parser.add_argument("--labelled", type=Path, help="CSV with id, language, answer, hostile, text and claims (JSON).")
    given = parser.parse_args()
    if given.draws:
        planted(given.draws, given.patients)
    if given.labelled:
        labelled(given.labelled)


if __name__ == "__main__":
    main()
