import pytest

from lmod_train.core.tables import Column, score_cells, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Chapter, Contents, Figure, Text


def test_a_row_has_a_cell_for_every_column():
    with pytest.raises(ValueError, match="table t: 1 cells for 2 columns"):
        table("t", ["a", Column("b", "count")], [["x", 1], ["y"]])


def test_tables_and_figures_are_found_in_their_order():
    tables = [table(name, ["a"], []) for name in "xyz"]
    figure = Figure("f", "", "", tables[2], lambda *_: None)
    contents = Contents("t", (), (Chapter("c", "C", (Text("."), tables[1], figure)), Chapter("d", "D", (tables[0],))))
    assert [t.name for t in contents.tables()] == ["y", "x"] and list(contents.figures()) == [figure]


def test_a_score_without_a_value_is_no_zero():
    assert score_cells(None) == score_cells(Score("t", "all", "m", 0, None)) == [None, None, "-"]
    assert score_cells(Score("t", "all", "m", 4, 0.5, 0.1, 0.9)) == [4, 0.5, (0.1, 0.9)]
