import numpy as np
import pytest

from lmod_train.core.tables import table
from lmod_train.report.figures.groups import COLUMNS, draw_radar
from tests.report.figures.drawing import drawn, models


@pytest.mark.parametrize("count", [1, 6])
def test_lines_are_the_scores_and_a_missing_one_is_a_gap(count, tmp_path, monkeypatch):
    held = {m: [0.2, None, 0.1 * i, 0.9] for i, m in enumerate(models(count))}
    rows = [["t", m, g, 9, v, None, 0.5] for m, vs in held.items() for g, v in zip("abcd", vs, strict=True)]
    ((panel,),) = drawn(draw_radar, table("radar", COLUMNS, rows), tmp_path, monkeypatch)
    for line, values in zip(panel.lines, held.values(), strict=True):
        expected = [np.nan if v is None else v for v in (*values, values[0])]
        np.testing.assert_array_equal(line.get_ydata(), expected)
