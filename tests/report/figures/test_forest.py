import pytest

from lmod_train.report.contents import INTERVAL, Column, N, table
from lmod_train.report.figures.forest import draw_forest
from tests.report.figures.drawing import drawn, models

VALUES = [(0.6, (0.5, 0.75)), (0.4, None), (None, None), (0.0, (0.0, 0.3))]


@pytest.mark.parametrize("count", [1, 24])
def test_each_row_is_a_point_with_its_interval(count, tmp_path, monkeypatch):
    rows = [
        ["glaucoma", m, f"g{i}", 9, *v, 0.5] for m in models(count) for i, v in enumerate(VALUES[: 1 + 72 // count])
    ]
    heads = ["panel", "group", "row", N, Column("accuracy", "number"), INTERVAL, Column("reference", "number")]
    ((panel,),) = drawn(draw_forest, table("forest", heads, rows), tmp_path, monkeypatch)
    points = [line.get_xdata()[0] for line in panel.lines if line.get_marker() == "s"]
    ends = [tuple(line.get_xdata()) for line in panel.lines if line.get_marker() == "None"]
    assert [p if p == p else None for p in points] == [row[4] for row in rows]
    assert [e for e in ends if e[0] == e[0]] == [*(row[5] for row in rows if row[5]), (0.5, 0.5)]
    assert len(panel.get_yticks()) == len(rows) + count, "and a heading a model"


def test_differences_are_drawn_without_bounds_and_no_rows_give_an_empty_figure(tmp_path, monkeypatch):
    heads = ["panel", "group", "row", N, Column("gap", "signed"), INTERVAL, Column("reference", "number")]
    rows = [["sex", "", "cnn", 40, -0.2, (-0.4, 0.1), 0.0]]
    ((panel,),) = drawn(draw_forest, table("gaps", heads, rows), tmp_path, monkeypatch)
    assert panel.get_xlim()[0] < -0.4 and panel.get_xlim()[1] < 1 and len(panel.get_yticks()) == 1
    drawn(draw_forest, table("none", heads, []), tmp_path, monkeypatch)
