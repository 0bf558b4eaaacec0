"""Each task's table has all its metrics, run by run."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.tables import Table, cell_text, markdown
from lmod_train.report.results import read_results
from lmod_train.report.sections.metrics import Metrics
from tests.report.make import classify, run


def test_every_metric_of_the_scores_is_a_row_with_its_interval(tmp_path: Path):
    results = read_results([classify(tmp_path / "cnn", 2.0), run(tmp_path / "base", 0.7)])
    tables = {part.title: markdown(part) for part in Metrics().parts(results) if isinstance(part, Table)}
    lines = tables["glaucoma"].splitlines()
    assert lines[0].split() == ["|", "metric", "|", "cnn", "|", "base", "|"]
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    assert list(rows)[:6] == [
        "accuracy_strict", "accuracy_answered", "accuracy_chance_filled", "balanced_accuracy", "kappa",
        "macro_f1",
    ]  # fmt: skip
    assert {"sensitivity", "specificity", "auroc_macro", "retfound_accuracy", "retfound_mcc"} <= set(rows)
    for metric, row in rows.items():
        score = results.runs[0].find("glaucoma", metric)
        assert score is not None and cell_text(score.value, "number") in row
        if score.low is not None:
            assert cell_text((score.low, score.high), "interval") in row
    assert rows["auroc_macro"].rstrip(" |").endswith("-"), "the second run has no likelihoods"
    assert "anatomy" in tables and "chance" not in set(rows)
