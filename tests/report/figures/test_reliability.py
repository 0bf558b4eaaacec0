import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.reliability_diagram import COLUMNS, draw_reliability
from lmod_train.scoring.chain_steps import STEPS
from tests.report.figures.drawing import drawn


def rows(kinds):
    return [
        [
            stage,
            kind,
            50,
            0.125,
            low / 10,
            (low + 1) / 10,
            25 if low > 7 else 0,
            *([low / 10, 0.5] if low > 7 else [None] * 2),
        ]
        for stage in STEPS
        for kind in kinds
        for low in range(10)
    ]


@pytest.mark.parametrize("kinds", [("stated confidence",), ("stated confidence", "likelihood of the answer")])
def test_bins_with_answers_are_points_and_all_are_bars(kinds, tmp_path, monkeypatch):
    axes = drawn(
        draw_reliability,
        table("confidences", COLUMNS, rows(kinds), "base: reliability"),
        tmp_path,
        monkeypatch,
    )
    assert axes.shape == (2, 3)
    panel = axes[0, 0]
    assert panel.get_title().split("\n")[:2] == ["IQA", "stated: n 50, ECE 0.125"]
    curves = [line for line in panel.lines if line.get_label() in kinds]
    assert [(list(c.get_xdata()), list(c.get_ydata())) for c in curves] == [([0.8, 0.9], [0.5, 0.5])] * len(kinds)
    heights = [bar.get_height() for bars in panel.containers for bar in bars]
    assert sorted(heights)[-2 * len(kinds) :] == [0.5] * 2 * len(kinds) and len(heights) == 10 * len(kinds)
