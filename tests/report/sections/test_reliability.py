import pytest

from lmod_train.core.tables import table
from lmod_train.report.sections.likelihoods import COLUMNS, draw_reliability
from tests.report.figures.drawing import drawn, models

BINS = [(0.0, 0.5, 0, None, None), (0.5, 0.8, 30, 0.7, 0.6), (0.8, 1.0, 10, 0.9, 1.0)]


@pytest.mark.parametrize("count", [1, 6])
def test_points_are_the_bins_with_items_and_bars_their_shares(count, tmp_path, monkeypatch):
    rows = [[m, 0.1, *cells] for m in models(count) for cells in BINS]
    axes = drawn(draw_reliability, table("calibration", COLUMNS, rows), tmp_path, monkeypatch)
    for panel in list(axes.flat)[:count]:
        points = panel.lines[1]
        assert list(zip(points.get_xdata(), points.get_ydata(), strict=True)) == [(0.7, 0.6), (0.9, 1.0)]
        assert [bar.get_height() for bar in panel.containers[0]] == [0, 0.75, 0.25]
