import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.groups import COLUMNS
from lmod_train.report.figures.staircase import draw_staircase
from lmod_train.scoring.steps import STEPS
from tests.report.figures.drawing import drawn, models


@pytest.mark.parametrize(("count", "panels"), [(1, 1), (6, 1), (2, 3)])
def test_steps_are_the_scores_with_intervals_and_chance(count, panels, tmp_path, monkeypatch):
    rows = [
        [f"panel {p}", m, stage, 60, 0.9 - 0.1 * j - 0.02 * i, (0.8 - 0.1 * j, 1.0 - 0.1 * j), 0.25]
        for p in range(panels)
        for j, stage in enumerate(STEPS)
        for i, m in enumerate(models(count))
    ]
    axes = drawn(draw_staircase, table("staircase", COLUMNS, rows), tmp_path, monkeypatch)
    panel = axes.flat[0]
    steps = [line for line in panel.lines if len(line.get_xdata()) == 12]
    assert len(steps) == count
    for i, line in enumerate(steps):
        assert list(line.get_ydata()) == [0.9 - 0.1 * j - 0.02 * i for j in range(6) for _ in range(2)]
        assert list(line.get_xdata()) == [j + side for j in range(6) for side in (-0.5, 0.5)]
    bars = [
        tuple(line.get_ydata())
        for line in panel.lines
        if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ]
    assert bars == [(0.8 - 0.1 * j, 1.0 - 0.1 * j) for _ in range(count) for j in range(6)]
    chance = [line for line in panel.lines if line.get_label() == "chance"]
    assert len(chance) == 6 and {tuple(line.get_ydata()) for line in chance} == {(0.25, 0.25)}


def test_a_missing_stage_is_a_gap(tmp_path, monkeypatch):
    rows = [["t", "cnn", stage, 9, None if stage == "DD" else 0.5, (None, None), None] for stage in STEPS]
    ((panel,),) = drawn(draw_staircase, table("staircase", COLUMNS, rows), tmp_path, monkeypatch)
    (step,) = [line for line in panel.lines if len(line.get_xdata()) == 10]
    assert 3 not in {round(x) for x in step.get_xdata() if x != 2.5 and x != 3.5}
