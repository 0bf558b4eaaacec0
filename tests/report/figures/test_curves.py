from lmod_train.report.contents import Estimate, table
from lmod_train.report.figures.curves import CHANCE, COLUMNS, draw_curves
from tests.report.figures.drawing import drawn, models


def test_lines_are_the_corners_and_areas_are_in_the_legend(tmp_path, monkeypatch):
    corners = [(0.0, 0.0), (0.2, 0.7), (1.0, 1.0)]
    rows = [
        [curve, m, None if i else Estimate(0.75, 0.5, 0.9, 40), *corner]
        for curve in ("ROC", "precision-recall")
        for m in (CHANCE, *models(6))
        for i, corner in enumerate(corners)
    ]
    axes = drawn(draw_curves, table("curves", COLUMNS, rows), tmp_path, monkeypatch)
    assert axes.shape == (1, 2)
    for panel in axes[0]:
        assert [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in panel.lines] == [corners] * 7
        assert all("0.750 (0.500-0.900), n 40" in t.get_text() for t in panel.get_legend().texts)
        assert len({(line.get_color(), line.get_linestyle()) for line in panel.lines}) == 7
