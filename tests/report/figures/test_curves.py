import numpy as np
import pytest
from PIL import Image

from lmod_train.core.tables import Estimate, table
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


@pytest.mark.parametrize("count", [1, 2, 6])
@pytest.mark.parametrize("name", ["cnn", "a model with a name that needs a second line"])
def test_the_whole_legend_is_on_the_sheet(tmp_path, count, name):
    rows = [
        ["ROC", m, Estimate(0.75, 0.5, 0.9, 40), 0.0, 0.0] for m in (CHANCE, *(f"{name} {n}" for n in range(count)))
    ]
    draw_curves(table("curves", COLUMNS, rows, "title"), tmp_path)
    assert np.all(np.asarray(Image.open(tmp_path / "curves.png"))[[0, -1]] == 255)
