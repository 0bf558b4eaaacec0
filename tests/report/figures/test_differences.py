import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.differences import COLUMNS, draw_differences, named_with_items
from lmod_train.scoring.chain_steps import STEPS
from tests.report.figures.drawing import drawn, models


@pytest.mark.parametrize(("count", "panels"), [(1, 1), (2, 3), (6, 2)])
def test_marks_are_the_differences_around_zero(count, panels, tmp_path, monkeypatch):
    rows = [
        [f"effect of context: cas_{p} - independent", m, stage, 60, 0.1 * i - 0.2, (0.1 * i - 0.3, 0.1 * i - 0.1)]
        for p in range(panels)
        for stage in STEPS
        for i, m in enumerate(models(count))
    ]
    axes = drawn(draw_differences, table("differences", COLUMNS, rows), tmp_path, monkeypatch)
    panel = axes.flat[0]
    marked = [line for line in panel.lines if len(line.get_xdata()) == 6]
    assert [list(line.get_ydata()) for line in marked] == [[0.1 * i - 0.2] * 6 for i in range(count)]
    low, high = panel.get_ylim()
    assert low == -high and high > max(abs(end) for row in rows for end in row[5])
    assert any(set(line.get_ydata()) == {0} for line in panel.lines)


def test_groups_are_named_with_the_number_of_their_items():
    sizes = (("a", "IQA", 9), ("a", "CD", 7), ("b", "IQA", 8), ("b", "CD", 0))
    rows = [{"model": model, "group": group, "n": n} for model, group, n in sizes]
    assert named_with_items(rows, ["IQA", "CD"]) == ["IQA\nn 8-9", "CD\nn 7"]
