"""The contribution of each modality in the report, from answers of which it is known what each modality adds."""

from pathlib import Path

import pytest

from lmod_train.core.tables import Table
from lmod_train.core.types import Score
from lmod_train.extensions.xpcr.sections import Contributions
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.modality import mcs_scores
from lmod_train.tasks.run_scores import RunScores
from tests.report.scored import scored
from tests.scoring.test_modality import planted, question


def results(**runs):
    """Results of runs of the task ``cross``, by model and items."""
    accuracy = Score("cross", "all", "accuracy_strict", 12, 0.75)
    scores = [RunScores(Path(m), m, m, (accuracy, *mcs_scores("cross", items))) for m, items in runs.items()]
    outcomes = {m: Outcomes((), {"cross": items}, {"cross": ("yes", "no")}, None) for m, items in runs.items()}
    return Results(tuple(scores), outcomes, dict.fromkeys(runs))


def rows_of(**runs):
    (found,) = (p for p in Contributions().parts(results(**runs)) if isinstance(p, Table))
    return found.rows


def test_n_accuracies_difference_and_p():
    cfp, ffa = rows_of(one=planted())
    assert cfp[:7] == ("cross", "one", "CFP", 12, 0.75, 0.75, 0.0) and cfp[8:] == (0, 0, 1.0, 1.0)
    assert ffa[:7] == ("cross", "one", "FFA", 12, 0.75, 0.25, 0.5) and ffa[8:10] == (6, 0)
    assert 0 < ffa[7][0] < 0.5 < ffa[7][1]
    assert ffa[11] == 2 * ffa[10] < 0.05


@pytest.mark.parametrize("lost", range(8))
def test_p_agrees_with_the_interval(lost):
    items = [question(c, c < 8) for c in range(12)] + [question(c, lost <= c < 8, "FFA") for c in range(12)]
    ((*_, interval, more, less, p, adjusted),) = rows_of(one=items)
    assert (more, less) == (lost, 0) and p == adjusted and (p < 0.05) == (interval[0] > 0)


def test_p_is_adjusted_for_the_modalities_of_a_run():
    items = planted() + [question(c, c >= 9, "OCT") for c in range(12)]
    rows = {row[1:3]: row[8:] for row in rows_of(one=items, two=planted())}
    ffa, oct_ = rows["one", "FFA"][2], rows["one", "OCT"][2]
    assert rows["one", "FFA"] == (6, 0, ffa, pytest.approx(3 * ffa)) and ffa < oct_
    assert rows["one", "OCT"] == (9, 3, oct_, pytest.approx(2 * oct_))
    assert rows["two", "FFA"] == (6, 0, ffa, pytest.approx(2 * ffa)), "another run is no comparison of this one"
    assert list(rows) == [("one", "CFP"), ("one", "FFA"), ("one", "OCT"), ("two", "CFP"), ("two", "FFA")]


def test_nothing_unless_a_modality_was_left_out():
    assert list(Contributions().parts(scored({}))) == []
