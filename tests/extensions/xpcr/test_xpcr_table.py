import random
from dataclasses import replace

import pytest

from lmod_train.core.tables import Estimate, Table
from lmod_train.extensions.papers.sections import DRAWN, HERE
from lmod_train.extensions.papers.shapes import SHAPES
from lmod_train.extensions.xpcr.sections import TABLES, Chains
from lmod_train.report.contents import Text
from tests.report.chained import chain_run, planted, results_of

ROWS = [[(True, 0.9)] * 6, [(True, 0.9), (False, 0.2), *[(True, 0.6)] * 4], [(False, 0.9)] * 6]


def test_the_printed_rows_with_their_state_and_a_row_of_the_run():
    run = chain_run("ours", planted(ROWS))
    (table,) = [p for p in Chains().parts(results_of(run)) if isinstance(p, Table) and p.name == "xpcr_table_2"]
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
    titles = "; ".join(SHAPES[name].title for name in TABLES)
    first, second, *_ = Chains().parts(results_of(chain_run("ours", drawn)))
    assert first == Text(DRAWN.format(tables=titles)) and second.text.startswith("SWA: share of right answers")


@pytest.mark.parametrize("seed", range(4))
def test_a_run_stands_in_the_table_of_each_modality_with_its_accuracy_on_it(seed):
    chance = random.Random(seed)
    rows = [[chance.random() < 0.6 for _ in range(6)] for _ in range(24)]
    modalities = [chance.choice(("CFP", "OCT", "EP")) for _ in rows]
    made = planted(rows)
    made = [replace(p, record=replace(p.record, modality=modalities[i // 6])) for i, p in enumerate(made)]
    found = {p.name: p for p in Chains().parts(results_of(chain_run("ours", made))) if isinstance(p, Table)}
    for number, modality in enumerate(("EP", "CFP", "RetCam", "FFA", "ICGA", "OCT"), 3):
        table = found[f"xpcr_table_{number}"]
        assert len([row for row in table.rows if row[-1] != HERE]) == 21
        ours = [row for row in table.rows if row[-1] == HERE]
        right = [row for row, own in zip(rows, modalities, strict=True) if own == modality]
        assert len(ours) == bool(right)
        for stage, cell in enumerate(ours[0][1:-1] if ours else ()):
            assert (cell.n, cell.value) == (len(right), pytest.approx(100 * sum(r[stage] for r in right) / len(right)))
