import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.stacked import COLUMNS, HATCHES, draw_stacked
from tests.report.figures.drawing import drawn, models

PARTS = ("right", "wrong", "refused", "unparsed", "truncated", "failed")


@pytest.mark.parametrize("count", [1, 24])
def test_bars_are_the_shares_of_the_items(count, tmp_path, monkeypatch):
    rows = [["t", m, p, (7 * i + 3 * k) % 50] for i, m in enumerate(models(count)) for k, p in enumerate(PARTS)]
    ((panel,),) = drawn(draw_stacked, table("stacked", COLUMNS, rows), tmp_path, monkeypatch)
    for i, name in enumerate(models(count)):
        own = [row[3] for row in rows if row[1] == name]
        widths = [bars[i].get_width() for bars in panel.containers]
        assert widths == pytest.approx([n / sum(own) for n in own])
        assert panel.containers[3][i].get_x() == pytest.approx(sum(widths[:3]))
    assert len({(b[0].get_facecolor(), b[0].get_hatch()) for b in panel.containers}) == len(PARTS) < len(HATCHES)


def test_a_row_of_no_items_is_empty(tmp_path, monkeypatch):
    rows = [["t", "a", "right", 0], ["t", "b", "right", None], ["t", "b", "wrong", 3]]
    ((panel,),) = drawn(draw_stacked, table("stacked", COLUMNS, rows), tmp_path, monkeypatch)
    assert [[bar.get_width() for bar in bars] for bars in panel.containers] == [[0, 0], [0, 1]]
