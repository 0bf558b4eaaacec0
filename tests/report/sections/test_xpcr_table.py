from dataclasses import replace

import pytest

from lmod_train.report.contents import Estimate, Table, Text
from lmod_train.report.sections.paper_tables import DRAWN, HERE
from lmod_train.report.sections.xpcr_table import XpcrTable
from tests.report.chained import chain_run, planted, results_of
from tests.report.scored import scored

ROWS = [[(True, 0.9)] * 6, [(True, 0.9), (False, 0.2), *[(True, 0.6)] * 4], [(False, 0.9)] * 6]


def test_the_printed_rows_with_their_state_and_a_row_of_the_run():
    run = chain_run("ours", planted(ROWS))
    (table,) = [p for p in XpcrTable().parts(results_of(run)) if isinstance(p, Table) and p.name == "xpcr_table_2"]
    heads = [c.head for c in table.columns]
    rows = {row[0]: dict(zip(heads, row, strict=True)) for row in table.rows}
    assert (rows["GPT-5"]["CCR"], rows["GPT-5"]["UAS"], rows["GPT-5"]["state"]) == (
        "24.47",
        "74.32",
        "source inconsistent",
    )
    assert rows["Specialists"]["state"] == "not comparable"
    ours, uas = rows["ours"], run[0].find("chain", "uas")
    assert ours["state"] == HERE and isinstance(ours["AL"], Estimate)
    assert (ours["AL"].n, ours["AL"].value) == (3, pytest.approx(100 / 3))
    assert (ours["CCR"].n, ours["CCR"].value) == (3, pytest.approx(100 / 3))
    assert ours["UAS"] == Estimate(*(pytest.approx(v) for v in (uas.value, uas.low, uas.high)), uas.n)
    assert ours["ECE"].value == run[0].find("chain", "ece_4").value and ours["resident"].n == 6


def test_printed_rows_never_stand_beside_phantoms():
    drawn = [replace(p, record=replace(p.record, phantom=True)) for p in planted(ROWS)]
    assert list(XpcrTable().parts(results_of(chain_run("ours", drawn)))) == [
        Text(DRAWN.format(tables="X-PCR, Table 2: stages, levels and chains"))
    ]


def test_nothing_without_chains():
    assert list(XpcrTable().parts(scored({}))) == []
