import math

from lmod_train.core.tables import INTERVAL, table
from lmod_train.report.figures.lines import distinct, interval, lines, number, parts

ROWS = lines(table("t", ["model", "n", INTERVAL], [["b", 1, (0.1, 0.2)], ["a", 2, None], ["b", 3, (None, 1)]]))


def test_rows_by_head():
    assert distinct(ROWS, "model") == ["b", "a"]
    assert [(name, [row["n"] for row in own]) for name, own in parts(ROWS, "model")] == [("b", [1, 3]), ("a", [2])]
    assert interval(ROWS[0], INTERVAL.head) == (0.1, 0.2)


def test_missing_numbers_are_not_drawn():
    assert all(map(math.isnan, (number(None), number("-"), *interval(ROWS[1], INTERVAL.head), *interval({}, "x"))))
    assert math.isnan(interval(ROWS[2], INTERVAL.head)[0])
