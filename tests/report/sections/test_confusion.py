import pytest

from lmod_train.core.tables import table
from lmod_train.report.sections.confusions import COLUMNS, draw_confusions
from tests.report.figures.drawing import drawn, models

CLASSES = ("cataract", "diabetic retinopathy", "glaucoma", "normal")


@pytest.mark.parametrize("count", [1, 6])
def test_numbers_are_items_and_shades_shares_of_the_truth(count, tmp_path, monkeypatch):
    cells = [(t, a) for t in CLASSES for a in (*CLASSES, "no answer")]
    rows = [
        [m, t, a, (k + i) % 7 * 20 if t != "normal" else 0]
        for i, m in enumerate(models(count))
        for k, (t, a) in enumerate(cells)
    ]
    axes = drawn(draw_confusions, table("confusion", COLUMNS, rows), tmp_path, monkeypatch)
    for i, panel in enumerate(list(axes.flat)[:count]):
        own = rows[i * len(cells) : (i + 1) * len(cells)]
        assert [int(t.get_text()) for t in panel.texts] == [row[3] for row in own]
        shares = panel.images[0].get_array().tolist()
        assert [sum(row) for row in shares] == pytest.approx([1, 1, 1, 0]), "no items, no shade"


def test_a_class_that_no_font_has_is_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr("lmod_train.report.sections.confusions.undrawn", lambda text: "" if text.isascii() else text)
    names = ("True", "False", "对", "错")
    rows = [["m", truth, answer, 1] for truth in names for answer in (*names, "no answer")]
    (panel, *_) = drawn(draw_confusions, table("confusion", COLUMNS, rows), tmp_path, monkeypatch).flat
    shown = [text.get_text() for text in panel.get_xticklabels()]
    assert shown == ["True", "False", "class 3", "class 4", "no answer"]
    assert [text.get_text() for text in panel.get_yticklabels()] == shown[:4]
