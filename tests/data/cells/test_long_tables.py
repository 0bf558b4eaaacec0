"""Tables with one row a finding become one row an image; what rows state differently is kept apart, by value."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.cells.long_tables import turned
from lmod_train.data.sources.grid import Grid, Row

CELLS = [
    ("1.png", "P1", "DR", "1"), ("1.png", "P2", "AMD", "0"), ("1.png", "P1", "DR", "0"), ("2.png", "P2", "", "1"),
    ("3.png", "P3", "AMD", "1"), ("3.png", "P3", "AMD", "1"), ("3.png", "P3", "DR", ""),
]  # fmt: skip


def grid_of(header: tuple[str, ...] = ("file", "patient", "finding", "value")) -> Grid:
    return Grid(Path("t.csv"), header, tuple(Row(n, row) for n, row in enumerate(CELLS, 2)), "text", 1)


def test_of_two_rows_that_contradict_each_other_neither_counts() -> None:
    made = turned(grid_of(), "file", {"patient"}, "finding=value")
    assert made.header == ("file", "patient", "DR", "AMD")
    assert [row.cells for row in made.rows] == [
        ("1.png", "P1", "", "0"), ("2.png", "P2", "", ""), ("3.png", "P3", "", "1")]  # fmt: skip
    assert [(one.line, one.column, one.cell) for one in made.apart] == [
        (5, "value", "1"), (3, "patient", "P2"), (2, "DR", "1"), (4, "DR", "0")]  # fmt: skip
    unused = turned(grid_of(), "file", set(), "finding=value").apart
    assert "patient" not in {one.column for one in unused}


def test_a_word_for_a_missing_value_stays_where_no_row_states_one() -> None:
    cells = [("1.png", "DR", "#REF!"), ("2.png", "DR", "NA"), ("2.png", "DR", "yes"), ("3.png", "DR", "NA")]
    grid = Grid(
        Path("t.csv"), ("file", "finding", "value"), tuple(Row(n, c) for n, c in enumerate(cells, 2)), "text", 1
    )
    made = turned(grid, "file", set(), "finding=value")
    assert [row.cells[1] for row in made.rows] == ["#REF!", "yes", "NA"] and not made.apart


def test_a_finding_named_like_a_column_keeps_both() -> None:
    made = turned(grid_of(("file", "AMD", "finding", "value")), "file", set(), "finding=value")
    assert made.header == ("file", "AMD", "DR", "value AMD")


@pytest.mark.parametrize(("image", "long"), [("", "finding=value"), ("file", "finding=none"), ("file", "finding")])
def test_columns_that_are_not_there_are_refused(image: str, long: str) -> None:
    with pytest.raises(BadArgument, match="two columns of the table"):
        turned(grid_of(), image, (), long)
