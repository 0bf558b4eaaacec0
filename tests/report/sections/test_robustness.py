"""Scores of perturbed images in the report, from predictions with a known number of right answers."""

from pathlib import Path

import pytest
from statsmodels.stats.multitest import multipletests

from lmod_train.core.tables import Table
from lmod_train.report.contents import Figure
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.sections.robustness import Robustness
from lmod_train.scoring.comparison import paired_test
from lmod_train.scoring.items import items_of
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.perturbed import Perturbed
from lmod_train.tasks.run_scores import RunScores
from tests.report.scored import scored
from tests.tasks.test_perturbed import predictions_of

TASK = Perturbed(Glaucoma(), ["blur", "crop"], [1, 4])


def results(*runs):
    """Results of runs, each given by the number of wrong answers of each perturbation."""
    scores, outcomes = [], {}
    for number, wrong in enumerate(runs):
        predictions = predictions_of(TASK, wrong)
        found = tuple(TASK.score(predictions))
        scores.append(RunScores(Path(f"r{number}"), f"r{number}", f"m{number}", found))
        items = {TASK.name: items_of(predictions, TASK.truth)}
        outcomes[f"m{number}"] = Outcomes(tuple(predictions), items, {TASK.name: TASK.choices}, None)
    return Results(tuple(scores), outcomes, dict.fromkeys(outcomes))


def test_scores_drops_and_adjusted_p_values():
    _, figure, table = Robustness().parts(results({"": 0, "blur-4": 8, "crop-4": 6}))
    rows = {(row[2], row[3]): row for row in table.rows}
    assert list(rows) == [("none", 0), ("blur", 1), ("blur", 4), ("crop", 1), ("crop", 4)]
    assert rows["none", 0][4:6] == (10, 1.0) and rows["none", 0][7:] == (None, None, None)
    assert rows["blur", 4][4:6] == (10, pytest.approx(0.2)) and rows["blur", 4][7] == pytest.approx(0.8)
    patients = [str(i) for i in range(10)]
    ps = [paired_test("", [1] * 10, [0] * wrong + [1] * (10 - wrong), patients)[1] for wrong in (0, 8, 0, 6)]
    adjusted = multipletests(ps, method="holm")[1]
    assert [row[-1] for row in table.rows[1:]] == pytest.approx(list(adjusted))
    assert isinstance(figure, Figure) and [row[1:5] for row in figure.table.rows][2] == (
        "blur",
        4,
        10,
        pytest.approx(0.2),
    )
    assert {row[-1] for row in figure.table.rows} == {0.5}


def test_a_panel_a_run_and_nothing_without_perturbations():
    parts = list(Robustness().parts(results({}, {"blur-1": 5})))
    (figure,) = (part for part in parts if isinstance(part, Figure))
    assert len({row[0] for row in figure.table.rows}) == 2 and figure.name == "robustness-glaucoma_perturbed"
    assert len(next(part for part in parts if isinstance(part, Table)).rows) == 10
    assert list(Robustness().parts(scored({}))) == []
