import pytest

from lmod_train.report.figures.rows import Rows


def test_rows_follow_each_other_without_overlap():
    rows = Rows(["a", "b\nb\nb", "c"])
    ends = [(p - h / 2, p + h / 2) for p, h in zip(rows.places, rows.heights, strict=True)]
    assert [low for low, _ in ends][1:] == pytest.approx([high for _, high in ends][:-1])
    assert ends[-1][1] == pytest.approx(rows.height)
    assert Rows([]).height == 0
