import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.groups import COLUMNS, draw_bars
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
