"""Each task's table has all its figures, run by run."""

from __future__ import annotations

from pathlib import Path

from lmod_train.report.every_figure import every_figure
from lmod_train.report.headline import interval, number
from lmod_train.report.runs import read_figures
from tests.report.make import classify, run


def test_every_figure_of_the_scores_is_a_row_with_its_interval(tmp_path: Path):
    figures = read_figures([classify(tmp_path / "cnn", 2.0), run(tmp_path / "base", 0.7)])
    text = every_figure(figures, ["cnn", "base"])
    glaucoma = text.partition("### glaucoma\n\n")[2].partition("\n\n###")[0].splitlines()
    assert glaucoma[0].split() == ["|", "metric", "|", "cnn", "|", "base", "|"]
    rows = {line.split("|")[1].strip(): line for line in glaucoma[2:]}
    assert list(rows)[:6] == [
        "accuracy_strict", "accuracy_answered", "accuracy_chance_filled", "balanced_accuracy", "kappa",
        "macro_f1",
    ]  # fmt: skip
    assert {"sensitivity", "specificity", "auroc_macro"} <= set(rows)
    for metric, row in rows.items():
        score = figures[0].find("glaucoma", metric)
        assert score is not None and number(score.value) in row
        if score.low is not None:
            assert interval(score.low, score.high) in row
    assert rows["auroc_macro"].rstrip(" |").endswith("-"), "the second run gives no likelihoods"
    assert "### anatomy" in text and "chance" not in set(rows)
