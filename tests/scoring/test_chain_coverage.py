"""Intervals of chain scores contain the true value; the truths of the simulation against many chains."""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmarks" / "chain_coverage.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("chain_coverage", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["chain_coverage"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["chain_coverage"]


@pytest.mark.parametrize(("correlation", "questions"), [(0.0, 1), (0.6, 2)])
def test_true_values_are_those_of_many_chains(script, correlation, questions):
    cell = script.Cell(20_000, 2, "published", correlation, questions)
    truths = script.true_rates(cell) | script.true_uas(cell)
    for score in script.one_round(np.random.default_rng(0), cell):
        if score.value is not None:
            near = 0.01 if score.metric.startswith("ccr") else 0.6
            assert score.value == pytest.approx(truths[score.metric], abs=near), score.metric


def test_intervals_contain_the_true_value(script):
    cell = script.Cell(50, 4, "published", 0.3, 1)
    rows = {row.measure: row for row in script.covered(cell, 200)}
    for name in ("ccr", "ccr_expected", "uas", "uas_unit", "uas_flat", "uas_worst"):
        assert rows[name].coverage >= 0.93 - 2 * (0.95 * 0.05 / 200) ** 0.5, name
    assert rows["ccr"].width < 0.2 and rows["uas"].width < 20


def test_it_writes_a_row_per_measure_and_cell(script, tmp_path, monkeypatch, capsys):
    out = tmp_path / "coverage.csv"
    argv = ["chain_coverage.py", "--out", str(out), "--rounds", "5", "--patients", "20", "--chains", "0"]
    argv += ["--skill", "easy", "--correlation", "0.3", "--questions", "1"]
    monkeypatch.setattr("sys.argv", argv)
    script.main()
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert [row["measure"] for row in rows] == [*script.CHAIN_NAMES, *script.UAS_NAMES]
    assert rows[0]["chains_a_patient"] == "1-8" and "on average" in capsys.readouterr().out


def test_the_summary_leaves_out_measures_without_an_interval(script):
    rows = script.covered(script.Cell(20, 1, "even", 0.3, 2), 5)
    assert [line.partition(":")[0] for line in script.summary(rows)] == [*script.CHAIN_NAMES[1:], *script.UAS_NAMES]
