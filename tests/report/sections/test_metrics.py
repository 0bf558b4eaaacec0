"""Each task's table has all its metrics, run by run."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.tables import Table, cell_text, markdown
from lmod_train.report.contents import Text
from lmod_train.report.results import Outcomes, Results, read_results
from lmod_train.report.sections.metrics import Metrics
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import Item
from lmod_train.tasks.run_scores import RunScores
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


@pytest.mark.parametrize(("few", "shown"), [(9, True), (10, False), (1, True)])
@pytest.mark.parametrize("each", [1, 3])
def test_a_class_of_few_patients_is_named_beside_its_numbers(few, shown, each):
    made = [(label, f"{label}{k}") for label, n in (("ill", few), ("well", 30)) for k in range(n) for _ in range(each)]
    items = [Item(f"t/{k}", "answered", label, label, ("ill", "well"), g) for k, (label, g) in enumerate(made)]
    scores = RunScores(Path("r"), "r", "m", tuple(classification_scores("t", items, ("ill", "well"), positive="ill")))
    for choices in (("ill", "well"), ()):
        outcomes = {"m": Outcomes((), {"t": items}, {"t": choices}, None)}
        said = [p.text for p in Metrics().parts(Results((scores,), outcomes, {"m": None})) if isinstance(p, Text)]
        assert [f"ill {few})" in text for text in said] == ([True] if shown and choices else [])
