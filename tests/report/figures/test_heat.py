import numpy as np
import pytest

from lmod_train.core.tables import Column, table
from lmod_train.report.figures.heat import ACROSS, draw_heat
from tests.report.figures.drawing import drawn, models


@pytest.mark.parametrize(("count", "groups", "format"), [(1, 3, "number"), (24, ACROSS, "signed"), (2, 14, "number")])
def test_cells_are_the_numbers_of_the_table(count, groups, format, tmp_path, monkeypatch):
    held = [(m, g, (7 * i + 5 * g) % 11 / 10) for i, m in enumerate(models(count)) for g in range(groups)]
    rows = [["p", m, f"hypertensive retinopathy {g}", None if v == 1 else v] for m, g, v in held]
    heads = ["panel", "model", "group", Column("score", format)]
    axes = drawn(draw_heat, table("heat", heads, rows), tmp_path, monkeypatch)
    values = np.hstack([axis.collections[0].get_array().reshape(count, -1) for axis in axes[:, 0]])
    assert len(axes) == (2 if groups > ACROSS else 1)
    expected = np.array([np.nan if v == 1 else v for *_, v in held]).reshape(count, groups)
    np.testing.assert_array_equal(values.filled(np.nan), expected)
    texts = [t.get_text() for axis in axes[:, 0] for t in axis.texts]
    assert texts.count("–") == np.isnan(expected).sum() and len(texts) == expected.size
