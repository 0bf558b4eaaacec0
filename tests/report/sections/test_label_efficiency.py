"""Scores by the share of the training split, with both spreads."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from lmod_train.report.contents import Figure
from lmod_train.report.figures.lines import lines
from lmod_train.report.results import read_results
from lmod_train.report.sections.label_efficiency import LabelEfficiency
from tests.report.make import classify


def trained(folder, share, skill, seed):
    classify(folder, skill, seed=seed, n=40)
    on = {"share": share, "sources": {"phantoms": round(200 * share)}}
    (folder / "config.yaml").write_text(yaml.safe_dump({"provenance": {"trained_on": on}}))
    return folder


def test_a_share_is_the_mean_of_its_seeds_with_interval_and_deviation(tmp_path):
    runs = [trained(tmp_path / f"{share}" / f"seed_{s}", share, 4 * share, s) for share in (0.1, 0.5) for s in (0, 1)]
    results = read_results([*runs, trained(tmp_path / "full", 1.0, 3.0, 0)])
    figures = {part.name: part for part in LabelEfficiency().parts(results) if isinstance(part, Figure)}
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


def test_one_share_is_no_curve(tmp_path):
    assert list(LabelEfficiency().parts(read_results([trained(tmp_path / "a", 0.1, 1.0, 0)]))) == []
