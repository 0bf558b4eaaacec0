import numpy as np
import pytest
from PIL import Image

from lmod_train.core.tables import table
from lmod_train.extensions.clinical.decision import COLUMNS, TREAT_ALL, TREAT_NONE, WIDTH, draw_decision
from tests.report.figures.drawing import drawn, models


def rows(classes, names):
    return [
        [c, m, t / 100, 0.3 - t / 150 - 0.01 * k, (0.1, 0.28) if t == 20 and m != TREAT_ALL else None]
        for c in classes
        for k, m in enumerate((*names, TREAT_ALL))
        for t in range(1, 100)
    ]


@pytest.mark.parametrize(("classes", "count"), [(1, 1), (4, 6)])
def test_every_model_has_its_line_its_interval_and_both_defaults(tmp_path, monkeypatch, classes, count):
    names = models(count)
    found = table("decision", COLUMNS, rows([f"class {i}" for i in range(classes)], names), "glaucoma: decision curves")
    axes = drawn(draw_decision, found, tmp_path, monkeypatch)
    assert axes.shape == (classes, 1)
    for axis in axes[:, 0]:
        curves = [line for line in axis.lines if len(line.get_xdata()) == 99]
        ends = [line.get_ydata() for line in axis.lines if len(line.get_xdata()) == 2]
        assert len(curves) == count + 1 and sum(tuple(own) == (0.1, 0.28) for own in ends) == count
        assert [line.get_label() for line in axis.lines if line.get_label() == TREAT_NONE] == [TREAT_NONE]
        assert len({(line.get_color(), line.get_linestyle()) for line in curves}) == count + 1
        low, high = axis.get_ylim()
        assert low < 0 < 0.29 < high
    labels = [text.get_text() for text in axes[0, 0].figure.legends[0].texts]
    assert labels[-2:] == [TREAT_ALL, TREAT_NONE] and len(labels) == count + 2


def test_its_text_can_be_read_at_390_pixels(tmp_path):
    """At 390 pixels, text of 8 points has at least 9 pixels, and nothing touches the edges."""
    draw_decision(table("decision", COLUMNS, rows(["a"], ["cnn"]), "t"), tmp_path)
    pixels = np.asarray(Image.open(tmp_path / "decision.png").convert("L"))
    assert 8 / 72 * 390 / WIDTH > 9 and pixels.shape[1] == round(WIDTH * 150)
    assert np.all(pixels[[0, -1]] == 255) and np.all(pixels[:, [0, -1]] == 255)


def test_values_of_0_and_an_empty_table_are_drawn(tmp_path):
    draw_decision(table("flat", COLUMNS, [["a", "cnn", t / 10, 0.0, None] for t in range(1, 10)]), tmp_path)
    draw_decision(table("empty", COLUMNS, []), tmp_path)
