from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.sections import confidence
from lmod_train.report.contents import Figure, Text
from lmod_train.report.figures.curves import LIKELIHOOD, STATED
from tests.extensions.xpcr.test_confidences import drawn
from tests.report.chained import chain_run, parts_of, planted, results_of


def parts(*runs):
    return parts_of(confidence, results_of(*runs))


def test_both_confidences_side_by_side_and_which_knows():
    found = parts(chain_run("one", planted(drawn())))
    tables = {p.name: p for p in found if isinstance(p, Table)}
    rows = tables["confidence-chain"].rows
    assert [row[1:3] for row in rows[:4]] == [
        ("all", STATED),
        ("all", LIKELIHOOD),
        ("IQA", STATED),
        ("IQA", LIKELIHOOD),
    ]
    assert len(rows) == 14 and all(row[3] for row in rows)
    heads = [c.head for c in tables["confidence_both-chain"].columns]
    all_stages = dict(zip(heads, tables["confidence_both-chain"].rows[0], strict=True))
    assert all_stages["AUROC likelihood"] > 0.8 > all_stages["AUROC stated"] and all_stages["difference"] < 0
    assert sum(isinstance(p, Text) and "knows when it is wrong" in p.text for p in found) == 1
    assert [p.name for p in found if isinstance(p, Figure)] == ["reliability-chain-1", "selective-chain"]


def test_the_share_without_a_confidence_is_of_all_questions():
    rows = [[(True, None), *[(False, 0.5)] * 5], [(True, 0.9)] * 6]
    (table,) = [p for p in parts(chain_run("one", planted(rows))) if isinstance(p, Table)]
    assert [(row[1], row[3], row[4]) for row in table.rows[:2]] == [("all", 11, 1 / 12), ("IQA", 1, 0.5)]
    assert {row[2] for row in table.rows} == {STATED}


def test_many_runs_have_heat_maps_and_no_confidence_nothing():
    runs = [chain_run(f"m{i}", planted(drawn(6, seed=i))) for i in range(7)]
    (figure,) = [p for p in parts(*runs) if isinstance(p, Figure)]
    assert len({row[0] for row in figure.table.rows}) == 2 and {row[1] for row in figure.table.rows} == {
        f"m{i}" for i in range(7)
    }
    assert parts(chain_run("one", planted([[True] * 6, [False] * 6]))) == []
