"""`scripts/benchmarks/transfer.py`: a model compared with itself, the numbers of questions, and the differences."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.extension import PACKAGE
from tests.opened_script import opened
from tests.scoring.make import item

script = opened("benchmarks.transfer")
HEADLINES = ("accuracy", "exact match", "F1 of regions")


@pytest.mark.slow
def test_a_model_compared_with_itself_has_differences_of_0_over_all_questions(tmp_path):
    words = ["--work", tmp_path, "--small", "--before", "small_base", "--after", "small_base"]
    file = PACKAGE.parent / "scripts" / "benchmarks" / "transfer.py"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started = subprocess.run([sys.executable, file, *words], env=environment, check=True, stdout=subprocess.PIPE)
    shown = [line for line in started.stdout.decode().splitlines()[2:] if line]
    rows = script.rows(script.Place(tmp_path, small=True))
    assert len(shown) == len(rows)
    assert all((row.difference, row.before, row.p) == (0, row.after, 1) for row in rows)
    assert {row.name: row.n for row in rows if row.metric in HEADLINES} == expected(tmp_path)
    assert {row.name: row.n for row in rows if row.metric == "log-likelihood"} == expected(tmp_path)
    assert all("open" in row.name or "conversation" in row.name for row in rows if row.metric == "token F1")


def expected(work: Path) -> dict[str, int]:
    """Return the number of test questions by the name of their row; of LMOD+, those of the drawn subset."""
    drawn = set(next((work / "curated/lmod_plus/subsets").iterdir()).read_text().split())
    counts: Counter[str] = Counter()
    for asked in script.SETS:
        for record in read_records(work / "curated" / asked.folder / "records"):
            if record.split == "test" and (asked.name != "LMOD+" or record.id in drawn):
                language = f", {record.language}" if asked.name == "OphthalWeChat" else ""
                counts[f"{asked.name}: {record.task}{language}"] += 1
    assert counts["general text: conversation"] == counts["repeated text: conversation"] == 60
    assert {counts[f"OphthalWeChat: binary_question, {language}"] for language in ("en", "zh")} == {6}
    return dict(counts)


def test_difference_is_after_minus_before_in_the_unit_of_the_metric():
    both = [[item(str(i), "x", "x", ()) for i in range(8)]] * 2
    row = script.compared(
        "a", "log-likelihood", both, [[-9.0] * 8, [-6.5, -7, -6, -7, -6, -7, -6, -6.5]], bounded=False
    )
    assert (row.n, row.before, row.after, row.difference) == (8, -9, -6.5, 2.5)
    assert row.low < 2.5 < row.high <= 3
    assert row.p < 0.01 and row.low > 0


def test_without_any_change_a_likelihood_has_no_interval_and_a_share_has_one():
    both = [[item(str(i), "x", "x", (), group=str(i)) for i in range(8)]] * 2
    same = [[-9.0] * 8] * 2
    unbounded = script.compared("a", "log-likelihood", both, same, bounded=False)
    assert (unbounded.difference, unbounded.low, unbounded.high, unbounded.p) == (0, None, None, 1)
    share = script.compared("a", "token F1", both, [[0.5] * 8] * 2)
    assert share.low < 0 < share.high


@pytest.mark.parametrize("file", ["general_text.csv", "repeated_text.csv"])
def test_questions_without_images_are_60_and_differ(file):
    rows = script.read_text(file)
    assert len({row["question"] for row in rows}) == len(rows) == 60
    assert all(row["kind"] and row["answer"].strip() == row["answer"] != "" for row in rows)
