import pytest

from lmod_train.core.tables import table
from lmod_train.report.sections.robustness import COLUMNS, draw_falling
from tests.report.figures.drawing import drawn, models

KINDS = ("blur", "crop", "jpeg", "overexposure", "resolution", "shadow", "underexposure")


def rows(panel, kinds=KINDS, grades=range(1, 6)):
    yield [panel, "none", 0, 60, 0.9, (0.8, 0.95), 0.5]
    for place, kind in enumerate(kinds):
        for grade in grades:
            score = 0.9 - 0.08 * grade - 0.01 * place
            yield [panel, kind, grade, 60, score, (score - 0.1, score + 0.08), 0.5]


def test_each_kind_is_a_line_from_the_unchanged_image(tmp_path, monkeypatch):
    ((axis,),) = drawn(draw_falling, table("falling", COLUMNS, list(rows("cnn"))), tmp_path, monkeypatch)
    named = {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}
    assert list(named) == [*KINDS, "chance"]
    for place, kind in enumerate(KINDS):
        x, y = named[kind].get_xdata(), named[kind].get_ydata()
        assert [round(float(at)) for at in x] == [0, 1, 2, 3, 4, 5] and (x[0], y[0]) == (0, 0.9)
        assert list(y[1:]) == pytest.approx([0.9 - 0.08 * g - 0.01 * place for g in range(1, 6)])
    assert len({(named[k].get_color(), named[k].get_marker()) for k in KINDS}) == 7
    assert len({float(named[k].get_xdata()[1]) for k in KINDS}) == 7, "intervals are side by side"
    assert len(axis.collections) == 36 and set(named["chance"].get_ydata()) == {0.5}


@pytest.mark.parametrize("count", [2, 5])
def test_a_panel_a_run_and_kinds_keep_their_colour(count, tmp_path, monkeypatch):
    names = models(count)
    found = [row for i, name in enumerate(names) for row in rows(name, KINDS[i:][:3], (1, 3))]
    axes = drawn(draw_falling, table("falling", COLUMNS, found), tmp_path, monkeypatch)
    panels = [a for a in axes.flat if a.get_visible()]
    assert len(panels) == count
    colours = [(line.get_label(), line.get_color()) for a in panels for line in a.lines if line.get_label() in KINDS]
    assert len(dict(colours)) == len(set(colours))


def test_missing_intervals_and_chance_are_not_drawn(tmp_path, monkeypatch):
    bare = [[*row[:5], None, None] for row in rows("cnn", ("blur",), (2,))]
    ((axis,),) = drawn(draw_falling, table("falling", COLUMNS, bare), tmp_path, monkeypatch)
    assert "chance" not in {line.get_label() for line in axis.lines}
