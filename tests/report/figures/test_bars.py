import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.groups import COLUMNS, draw_bars, group_figure
from tests.report.figures.drawing import drawn, models


@pytest.mark.parametrize("count", [1, 6])
def test_bars_are_the_scores_with_intervals_and_chance(count, tmp_path, monkeypatch):
    rows = [
        ["t", m, g, 9, None if g == "ORIGA" and i else v, (v - 0.1, v + 0.1), 0.5]
        for i, m in enumerate(models(count))
        for g, v in (("REFUGE", 0.3), ("ORIGA", 0.1 * i + 0.2))
    ]
    ((panel,),) = drawn(draw_bars, table("bars", COLUMNS, rows), tmp_path, monkeypatch)
    shown = [row for row in rows if row[4] is not None]
    assert [bar.get_height() for bars in panel.containers for bar in bars] == [row[4] for row in shown]
    ends = [tuple(line.get_ydata()) for line in panel.lines if line.get_linestyle() == "-"]
    assert ends == [row[5] for row in shown]
    assert [list(line.get_ydata()) for line in panel.lines if line.get_linestyle() == ":"] == [[0.5, 0.5]] * 2
    assert [t.get_text() for t in panel.get_xticklabels()] == ["REFUGE\nn 9", "ORIGA\nn 9"]


def test_bars_have_their_numbers_of_items_and_the_axis_its_name(tmp_path, monkeypatch):
    rows = [["t", m, g, n, 0.5, None, None] for m, n in (("cnn", 24), ("llava", 14)) for g in ("2", "6+")]
    figure = group_figure("boxes", "by boxes", "Scores.", rows, round=False, axis="number of boxes")
    ((panel,),) = drawn(figure.draw, figure.table, tmp_path, monkeypatch)
    assert panel.get_xlabel() == "number of boxes"
    assert [t.get_text() for t in panel.get_xticklabels()] == ["2\nn 14-24", "6+\nn 14-24"]
