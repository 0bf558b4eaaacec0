from lmod_train.core.tables import table
from lmod_train.report.sections.scores import HEADS, draw_label_efficiency


def test_every_model_has_a_line_and_missing_intervals_are_left_out(tmp_path):
    rows = [
        ["t", m, s, 9, 1, 30, 0.5 + s / 3, (0.3, 0.9) if s < 1 else None, None]
        for m in ("a", "b")
        for s in (0.01, 0.1, 1.0)
    ]
    draw_label_efficiency(table("curve", HEADS, rows), tmp_path)
    text = (tmp_path / "curve.svg").read_text()
    assert all(word in text for word in ("share of the training split", "100 %", "1 %"))
