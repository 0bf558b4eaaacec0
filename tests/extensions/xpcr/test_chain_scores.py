from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.sections import whole_chains
from lmod_train.report.contents import Figure, Text
from lmod_train.report.figures.groups import draw_bars
from lmod_train.report.figures.heat import draw_heat
from tests.report.chained import chain_run, parts_of, planted, results_of

ROWS = [[True] * 6, [True, True, False, True, False, True], [False] * 6]


def test_a_table_and_bars_of_all_runs():
    runs = [chain_run(f"m{i}", planted(ROWS[i:])) for i in range(2)]
    note, table, figure = parts_of(whole_chains, results_of(*runs))
    assert isinstance(note, Text) and isinstance(table, Table) and isinstance(figure, Figure)
    assert [(row[0], row[2], row[3]) for row in table.rows if row[1] == "SWA LC, lesion"] == [
        ("m0", 3, 1 / 3),
        ("m1", 2, 0),
    ]
    assert figure.draw is draw_bars
    stages = [(row[2], row[1]) for row in figure.table.rows]
    assert stages == [(s, f"m{i}") for s in ("IQA", "AL", "LC", "DD", "SG", "CD") for i in range(2)]
    assert {row[6] for row in figure.table.rows} == {0.25}


def test_many_runs_are_a_heat_map():
    runs = [chain_run(f"m{i}", planted(ROWS)) for i in range(7)]
    assert [p.draw for p in parts_of(whole_chains, results_of(*runs)) if isinstance(p, Figure)] == [draw_heat]
