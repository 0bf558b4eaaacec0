from lmod_train.core.tables import table
from lmod_train.report.sections.sizes import COLUMNS, draw_size
from tests.report.figures.drawing import drawn


def test_points_of_a_family_are_a_line_and_unknown_sizes_are_listed(tmp_path, monkeypatch):
    sizes = {"qwen 72b": 73.4, "qwen 7b": 8.3, "llava 7b": 7.06, "gpt": None}
    rows = [["t", m.split()[0], m, size, 0.1 * i + 0.2] for i, (m, size) in enumerate(sizes.items())]
    ((panel,),) = drawn(draw_size, table("sizes", COLUMNS, rows), tmp_path, monkeypatch)
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines}
    assert lines["qwen"][0] == [8.3, 73.4] and lines["qwen"][1] == [rows[1][4], rows[0][4]]
    assert lines["llava"] == ([7.06], [rows[2][4]]) and set(lines) == {"qwen", "llava"}
    assert panel.figure.legends[0].get_title().get_text() == "Size unknown: gpt"


def test_24_models_of_12_families(tmp_path, monkeypatch):
    rows = [["t", f"family {i // 2}", f"m{i}", 2.0 + 3 * i, i / 24] for i in range(24)]
    ((panel,),) = drawn(draw_size, table("sizes", COLUMNS, rows), tmp_path, monkeypatch)
    styles = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in panel.lines}
    assert len(styles) == len(panel.lines) == 12
