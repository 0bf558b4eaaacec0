"""First errors and survival of planted chains, recomputed by hand."""

from collections import Counter

import pytest

from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.sections import first_errors
from lmod_train.report.contents import Figure
from lmod_train.scoring.chain_steps import STEPS
from tests.report.chained import chain_run, parts_of, planted, results_of

ROWS = [
    [True] * 6,
    [True] * 6,
    [True, False, True, True, True, False],
    [True, True, True, False, False, True],
    [False] * 6,
    [True, True, None, True, True, True],  # incomplete
]


def parts(rows):
    return parts_of(first_errors, results_of(chain_run("one", planted(rows))))


def test_the_first_wrong_stage_and_survival_are_over_complete_chains():
    complete = [row for row in ROWS if None not in row]
    first = Counter(next((s for s, right in zip(STEPS, row, strict=True) if not right), "none") for row in complete)
    found = parts(ROWS)
    (table,) = [p for p in found if isinstance(p, Table)]
    alive = len(complete)
    for row, stage in zip(table.rows, STEPS, strict=True):
        alive -= first[stage]
        assert row[1:4] == (stage, 5, pytest.approx(first[stage] / 5)) and row[5] == pytest.approx(alive / 5)
    bars, survival = (p for p in found if isinstance(p, Figure))
    assert {row[2]: row[4] for row in bars.table.rows} == pytest.approx({s: first[s] / 5 for s in (*STEPS, "none")})
    assert [row[2] for row in bars.table.rows] == [*STEPS, "none"] and "n 5" in bars.table.rows[0][0]
    assert survival.table.rows[-1][4] == pytest.approx(2 / 5)


def test_accuracy_after_right_and_after_wrong_answers():
    (table,) = [p for p in parts(ROWS) if isinstance(p, Table)]
    row = dict(zip([c.head for c in table.columns], table.rows[5], strict=True))
    assert (row["n after right"], row["after right"].value) == (2, 1.0)
    assert (row["n after wrong"], row["after wrong"].value) == (3, pytest.approx(1 / 3))
    assert table.rows[0][7:] == (0, None, 0, None)


def test_nothing_without_complete_chains_or_chains():
    assert parts([[True, None, None, None, None, None]]) == []
