import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.against import draw_against
from lmod_train.report.sections.robustness import COLUMNS, draw_falling
from lmod_train.report.sections.scores import HEADS, draw_label_efficiency
from lmod_train.report.sections.sizes import COLUMNS as SIZES
from lmod_train.report.sections.sizes import draw_size
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


def test_points_of_a_family_are_a_line_and_unknown_sizes_are_listed(tmp_path, monkeypatch):
    sizes = {"qwen 72b": 73.4, "qwen 7b": 8.3, "llava 7b": 7.06, "gpt": None}
    rows = [["t", m.split()[0], m, size, 0.1 * i + 0.2] for i, (m, size) in enumerate(sizes.items())]
    ((panel,),) = drawn(draw_size, table("sizes", SIZES, rows), tmp_path, monkeypatch)
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines}
    assert lines["qwen"][0] == [8.3, 73.4] and lines["qwen"][1] == [rows[1][4], rows[0][4]]
    assert lines["llava"] == ([7.06], [rows[2][4]]) and set(lines) == {"qwen", "llava"}
    assert panel.figure.legends[0].get_title().get_text() == "Size unknown: gpt"


def test_24_models_of_12_families(tmp_path, monkeypatch):
    rows = [["t", f"family {i // 2}", f"m{i}", 2.0 + 3 * i, i / 24] for i in range(24)]
    ((panel,),) = drawn(draw_size, table("sizes", SIZES, rows), tmp_path, monkeypatch)
    styles = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in panel.lines}
    assert len(styles) == len(panel.lines) == 12


def test_every_model_has_a_line_and_missing_intervals_are_left_out(tmp_path):
    rows = [
        ["t", m, s, 9, 1, 30, 0.5 + s / 3, (0.3, 0.9) if s < 1 else None, None]
        for m in ("a", "b")
        for s in (0.01, 0.1, 1.0)
    ]
    draw_label_efficiency(table("curve", HEADS, rows), tmp_path)
    text = (tmp_path / "curve.svg").read_text()
    assert all(word in text for word in ("share of the training split", "100 %", "1 %"))


def test_a_table_without_rows_is_drawn(tmp_path):
    draw_against(table("empty", HEADS, []), tmp_path, x="share", line="model", axis="share, in %")
    assert {file.suffix for file in tmp_path.iterdir()} == {".png", ".svg"}
