import re

import numpy as np
import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.groups import COLUMNS, GREY, draw_radar
from tests.report.figures.drawing import drawn, models


@pytest.mark.parametrize("count", [1, 6])
def test_lines_are_the_scores_and_a_missing_one_is_a_gap(count, tmp_path, monkeypatch):
    held = {m: [0.2, None, 0.1 * i, 0.9] for i, m in enumerate(models(count))}
    rows = [["t", m, g, 9, v, None, 0.5] for m, vs in held.items() for g, v in zip("abcd", vs, strict=True)]
    ((panel,),) = drawn(draw_radar, table("radar", COLUMNS, rows), tmp_path, monkeypatch)
    for line, values in zip(panel.lines, held.values(), strict=True):
        expected = [np.nan if v is None else v for v in (*values, values[0])]
        np.testing.assert_array_equal(line.get_ydata(), expected)


def test_a_spoke_has_the_least_and_the_most_items_of_the_models_and_is_grey_if_any_has_few(tmp_path, monkeypatch):
    sizes = {"cnn": (48, 24, 30), "llava": (48, 14, 0)}
    rows = [["t", m, g, n, 0.5, None, None] for m, ns in sizes.items() for g, n in zip("abc", ns, strict=True)]
    ((panel,),) = drawn(draw_radar, table("radar", COLUMNS, rows), tmp_path, monkeypatch)
    labels = panel.get_xticklabels()
    assert [t.get_text() for t in labels] == ["a\nn 48", "b\nn 14-24", "c\nn 30"]
    assert [t.get_color() for t in labels] == ["black", GREY, "black"]


SPECIALTIES = ["Retina/Vitreous", "Cataract/Anterior Segment", "Cornea/External Disease", "Neuro-ophthalmology", "Uvea"]


@pytest.mark.parametrize("count", [3, 4, 5])
def test_labels_are_beside_the_chart_and_their_words_whole(count, tmp_path, monkeypatch):
    rows = [["t", "cnn", g, 9, 0.5, None, None] for g in SPECIALTIES[:count]]
    ((panel,),) = drawn(draw_radar, table("radar", COLUMNS, rows), tmp_path, monkeypatch)
    chart, (x, y) = panel.get_window_extent(), panel.transData.transform((0, 0))
    for label in panel.get_xticklabels():
        box = label.get_window_extent()
        across, up = (max(low - at, at - high, 0) for low, high, at in ((box.x0, box.x1, x), (box.y0, box.y1, y)))
        assert np.hypot(across, up) > chart.width / 2, f"{label.get_text()!r} is on the chart"
        words = {w for name in SPECIALTIES for w in re.split(r"(?<=[/-])| ", name)}
        assert set(re.split(r"\n| |(?<=[/-])(?!\n)", label.get_text().rpartition("\n")[0])) - {""} <= words
