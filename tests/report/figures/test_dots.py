import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.dots import COLUMNS, draw_dots
from tests.report.figures.drawing import drawn, models

SCORES = [(0.6, (0.5, 0.75)), (0.4, (None, None)), (0.0, (0.0, 0.3)), (None, None)]


@pytest.mark.parametrize("count", [1, 24])
def test_a_score_is_a_point_with_a_line_over_its_interval_where_it_has_one(count, tmp_path, monkeypatch):
    names = models(count)
    rows = [["glaucoma", m, "accuracy_strict", 20, *SCORES[i % 4], 0.5, None] for i, m in enumerate(names)]
    ((panel,),) = drawn(draw_dots, table("dots", COLUMNS, rows), tmp_path, monkeypatch)
    held = [(list(line.get_xdata()), line.get_marker()) for line in panel.lines]
    points = [xs[0] if xs[0] == xs[0] else None for xs, mark in held if len(xs) == 1 and mark != "|"]
    assert points == [row[4] for row in rows]
    ends = [tuple(xs) for xs, mark in held if mark == "None" and xs[0] == xs[0]]
    assert ends == [row[5] for row in rows if row[5] and row[5][0] is not None]
    assert [xs for xs, mark in held if mark == "|"] == [[0.5] * count]
