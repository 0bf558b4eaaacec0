"""Scores by the share of the training split, with both spreads."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from lmod_train.report.contents import Figure
from lmod_train.report.figures.lines import lines
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import label_efficiency
from tests.report.make import classify


def trained(folder, share, skill, seed, **options):
    classify(folder, skill, seed=seed, **{"n": 40} | options)
    on = {"share": share, "sources": {"phantoms": round(200 * share)}}
    (folder / "config.yaml").write_text(yaml.safe_dump({"provenance": {"trained_on": on}}))
    return folder


def test_a_share_is_the_mean_of_its_seeds_with_interval_and_deviation(tmp_path):
    runs = [trained(tmp_path / f"{share}" / f"seed_{s}", share, 4 * share, s) for share in (0.1, 0.5) for s in (0, 1)]
    results = read_results([*runs, trained(tmp_path / "full", 1.0, 3.0, 0)])
    figures = {part.name: part for part in label_efficiency(results) if isinstance(part, Figure)}
    assert "label_efficiency-glaucoma-accuracy_strict" in figures
    rows = lines(figures["label_efficiency-glaucoma-auroc_macro"].table)
    assert [(row["share"], row["seeds"], row["training images"]) for row in rows] == [
        (0.1, 2, 20),
        (0.5, 2, 100),
        (1.0, 1, 200),
    ]
    values = [run.find("glaucoma", "auroc_macro").value for run in results.runs]
    assert rows[0]["score"] == pytest.approx(np.mean(values[:2])) and rows[2]["score"] == values[4]
    assert rows[0]["sd over seeds"] == pytest.approx(np.std(values[:2], ddof=1)) and rows[2]["sd over seeds"] is None
    for row in rows:
        low, high = row["95 % interval"]
        assert low <= row["score"] <= high and low < high and row["n"] == 40
    figures["label_efficiency-glaucoma-auroc_macro"].draw(
        figures["label_efficiency-glaucoma-auroc_macro"].table, tmp_path
    )
    assert (tmp_path / "label_efficiency-glaucoma-auroc_macro.png").stat().st_size > 1000


def scores_by_line(runs):
    """Line and share -> score and number of seeds, of the area under the curve."""
    parts = label_efficiency(read_results(runs))
    (table,) = [part.table for part in parts if isinstance(part, Figure) and part.name.endswith("glaucoma-auroc_macro")]
    return {(row["model"], row["share"]): (row["score"], row["seeds"], row["n"]) for row in lines(table)}


def test_two_encoders_are_two_lines(tmp_path):
    skills = {"linear_probe": 0.5, "efficientnet_lite0_probe": 3.0}
    runs = {
        (model, share): [trained(tmp_path / f"{model}{share}" / str(s), share, skill, s, model=model) for s in (0, 1)]
        for model, skill in skills.items()
        for share in (0.1, 1.0)
    }
    found = scores_by_line([run for own in runs.values() for run in own])
    assert found.keys() == runs.keys() and {n for _, n, _ in found.values()} == {2}
    for key, own in runs.items():
        values = [run.find("glaucoma", "auroc_macro").value for run in read_results(own).runs]
        assert found[key][0] == pytest.approx(np.mean(values))


def test_runs_on_two_splits_are_two_lines(tmp_path):
    runs = [trained(tmp_path / f"{n}-{share}", share, 2.0, n, n=n) for n in (40, 48) for share in (0.1, 1.0)]
    found = scores_by_line(runs)
    assert {key: own[1:] for key, own in found.items()} == {
        (f"cnn (test set {i})", share): (1, n) for i, n in ((1, 40), (2, 48)) for share in (0.1, 1.0)
    }


def test_shares_that_were_tested_on_different_items_are_no_curve(tmp_path):
    runs = [trained(tmp_path / f"{n}", share, 2.0, n, n=n) for n, share in ((40, 0.1), (48, 1.0))]
    assert list(label_efficiency(read_results(runs))) == []


def test_one_share_is_no_curve(tmp_path):
    assert list(label_efficiency(read_results([trained(tmp_path / "a", 0.1, 1.0, 0)]))) == []
