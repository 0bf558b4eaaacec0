"""The spread over seeds and the interval over patients stand apart."""

from __future__ import annotations

import numpy as np
import pytest

from lmod_train.core.artifacts.series import seed_name
from lmod_train.report.figures.lines import lines
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.sections.metrics import Metrics
from lmod_train.report.sections.scores import Scores
from lmod_train.report.seed_spread import by_series, seeds_table, seeds_text
from lmod_train.tasks.run_scores import read_run_scores
from tests.report.make import classify


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """Four trainings of one model, whose likelihoods differ."""
    folder = tmp_path_factory.mktemp("series") / "CNN"
    for seed in range(4):
        classify(folder / seed_name(seed), 1.0, seed=seed)
    return folder


def test_mean_and_deviation_are_those_of_numpy(series):
    runs = [series / seed_name(seed) for seed in range(4)]
    rows = {(row["task"], row["metric"]): row for row in lines(seeds_table(read_results(runs)))}
    scores = read_run_scores(runs)
    for (task, metric), row in rows.items():
        values = [run.find(task, metric).value for run in scores]
        assert row["mean"] == pytest.approx(np.mean(values)) and row["sd over seeds"] == pytest.approx(
            np.std(values, ddof=1)
        )
        assert (row["lowest"], row["highest"], row["seeds"]) == (min(values), max(values), 4)
        low, high = row["95 % interval over patients"]
        assert row["n"] == 60 and low < row["mean"] < high
    assert {("glaucoma", "auroc_macro"), ("macular_hole_stage", "accuracy_strict")} <= rows.keys()


def test_a_series_stands_in_the_report_under_its_name(series, tmp_path):
    lone = classify(tmp_path / "lone", 1.0, seed=9)
    lines_printed = []
    write_report([series, lone], tmp_path / "out", sections=[Scores()], log=lines_printed.append)
    text = (tmp_path / "out" / "tables.md").read_text()
    part = text[text.index("## Spread over seeds") :].split("\n## ")[0]
    assert "| CNN " in part and "sd over seeds" in part and "over patients" in part and "lone" not in part
    assert all(f"CNN/seed_{seed}" in lines_printed[1] for seed in range(4)), "single runs keep their rows"
    assert "CNN (mean of 4 seeds)" in lines_printed[0] and "seed_" not in lines_printed[0]
    results = read_results([lone, series / "seed_1"])
    assert by_series(results) == {} and seeds_table(results).rows == (), "one seed has no spread"


def test_a_seed_without_scores_is_named(series, tmp_path):
    (series / "seed_7").mkdir()
    text = seeds_text(series)
    assert text.endswith("no scores yet: CNN/seed_7") and "| glaucoma" in text
    printed = []
    write_report([series], tmp_path / "out", sections=[Metrics()], log=printed.append)
    assert "CNN/seed_7 has no scores yet" in "\n".join(printed)
    (series / "seed_7").rmdir()
    assert seeds_text(tmp_path) == ""
