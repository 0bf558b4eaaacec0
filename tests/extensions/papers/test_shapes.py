"""The tables have the printed shape, and every cell of a table of scores stands in one."""

import pytest

from lmod_train.extensions.papers.ledger import protocol_of
from lmod_train.extensions.papers.printed import printed
from lmod_train.extensions.papers.shapes import SHAPES
from tests.tabled import stored

SIZES = {  # rows, columns, lines of a model, printed numbers
    "lmod_table_2": (16, 6, 1, 82), "lmod_table_4": (1, 8, 1, 8), "lmod_table_7": (13, 1, 1, 11),
    "lmod_table_8": (13, 1, 1, 11), "lmod_figure_5": (1, 4, 1, 2), "lmod_v1_table_3": (15, 8, 1, 112),
    "lmod_v1_table_4": (13, 4, 1, 52), "lmod_plus_table_3": (26, 9, 1, 215), "lmod_plus_table_4": (24, 6, 4, 552),
    "lmod_plus_table_5": (22, 14, 3, 912), "lmod_plus_table_6": (25, 2, 1, 45), "lmod_plus_table_7": (1, 8, 1, 8),
    "lmod_plus_table_9": (1, 5, 2, 10), "lmod_plus_figure_3": (2, 12, 1, 2), "lmod_plus_figure_5": (0, 3, 1, 0),
    "lmod_plus_figure_6": (22, 5, 3, 330), "xpcr_table_2": (24, 14, 1, 336),
    **{f"xpcr_table_{number}": (21, 6, 1, 126) for number in range(3, 9)},
    "ophthalwechat_table_1a": (3, 7, 1, 18), "ophthalwechat_table_1b": (3, 8, 1, 20),
    "ophthalwechat_table_1c": (3, 4, 1, 11), "ophthalwechat_table_1d": (3, 4, 1, 11),
    "ophthalwechat_journal": (6, 7, 1, 12),
}  # fmt: skip


def cells(shape):
    return [shape.at(p, line, m) for m in shape.models() for line in shape.lines for p in shape.places]


def test_sizes():
    found = {
        s.name: (len(s.models()), len(s.places), len(s.lines), sum(bool(c.value) for c in cells(s)))
        for s in SHAPES.values()
    }
    assert found == SIZES


def test_every_printed_number_of_a_table_of_scores_stands_in_a_table():
    drawn = {c for s in SHAPES.values() for c in cells(s)}
    for paper in ("lmod_naacl", "lmod_v1", "lmod_plus"):
        missing = {c.table for c in printed(paper) if c.value and c not in drawn and c.task != "dataset_statistics"}
        assert missing <= {"text 5", "text 4.3"}


@pytest.mark.parametrize(("row", "column", "value"), stored(__file__, "shapes.cells_of_table_4"))  # fmt: skip
def test_cells_of_table_4(row, column, value):
    shape = SHAPES["lmod_plus_table_4"]
    place = next(p for p in shape.places if p.head == column[0])
    line = next(line for line in shape.lines if line[0] == column[1])
    assert shape.at(place, line, row).value == value


@pytest.mark.parametrize("name", ["lmod_table_2", "lmod_v1_table_3"])
def test_a_row_of_a_run_has_the_unit_of_its_column(name):
    shape = SHAPES[name]
    units = [shape.at(p, shape.lines[0]).unit for p in shape.places]
    assert units == ["fraction"] * 4 + ["percent"] * (len(shape.places) - 4)


def test_rows_of_runs_have_scores_in_all_columns_but_those_without_a_definition():
    for shape in SHAPES.values():
        without = [p.head for p in shape.places if protocol_of(shape.at(p, shape.lines[0])) is None]
        assert without == {
            "lmod_table_7": ["p value"], "lmod_table_8": ["p value"], "lmod_plus_table_3": ["staging"],
            "lmod_plus_table_9": [p.head for p in shape.places],
            "ophthalwechat_table_1a": [p.head for p in shape.places],
            "ophthalwechat_table_1b": [p.head for p in shape.places if p.head.endswith(" P")],
            "ophthalwechat_table_1c": ["accuracy", "P"], "ophthalwechat_table_1d": ["accuracy", "P"],
            "ophthalwechat_journal": ["overall", "CN", "EN", "Open-ended CN", "Open-ended EN"],
        }.get(shape.name, [])  # fmt: skip
