"""Sheets of workbooks: headers below titles, several sheets, numbers as ids, dates, merged cells."""

import datetime

import pytest
from openpyxl import Workbook

from lmod_train.data.sources.row_ids import BadRow
from lmod_train.extensions.ophthalwechat.questions import NoTable, Row, tables_of
from lmod_train.extensions.ophthalwechat.words import words
from tests.data.sources.workbooks import ASKED, ROWS
from tests.tabled import tabled

WORDS = words()


def book_of(path, sheets):
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_every_sheet_is_a_table_or_is_named(tmp_path):
    pictures = [("编号", "链接", "模态"), (1, "u", "OCT")]
    titled = [("OphthalWeChat", None), (), ASKED, (None,), ROWS[0]]
    sheets = {"binary": titled, "pictures": pictures, "notes": [("a note", "to read")], "empty": []}
    asked, shown, notes = tables_of(book_of(tmp_path / "a.xlsx", sheets), WORDS)
    assert (asked.kind, asked.title, [row.number for row in asked.rows]) == ("questions", "binary", [5])
    assert asked.columns == {"pair", "image", "type", "language", "question", "answer"}
    assert (shown.kind, shown.columns) == ("images", {"image", "url", "modality"})
    assert shown.rows[0].values == {"image": 1, "url": "u", "modality": "OCT"}
    assert notes == NoTable(tmp_path / "a.xlsx", "notes", ["a note", "to read"])


def test_of_two_headers_of_one_column_the_first_counts(tmp_path):
    rows = [("Question", "题目", "Answer", "Type"), ("one", "other", "True", "Binary_EN")]
    (table,) = tables_of(book_of(tmp_path / "a.xlsx", {"s": rows}), WORDS)
    assert table.rows[0].text("question") == "one"


@tabled(
    ("value", "reason"),
    [
        (datetime.datetime(2024, 1, 5), "answer is a date"),
        (datetime.timedelta(days=2), "answer is a date"),
        ("x" * 32_768, "cell too long"),
        (" ", "no answer"),
        (None, "no answer"),
    ],
)
def test_cells_that_are_no_text(value, reason):
    with pytest.raises(BadRow) as caught:
        Row(1, {"answer": value}).text("answer", required=True)
    assert caught.value.reason == reason


def test_cells_as_text():
    values = {"answer": 3.0, "image": 12, "pair": True, "url": " u "}
    assert [Row(1, values).text(name) for name in (*values, "file")] == ["3", "12", "True", "u", ""]


def test_a_merged_range_as_large_as_a_sheet_takes_no_time(tmp_path):
    path, book = tmp_path / "a.xlsx", Workbook()
    for row in (ASKED, *ROWS):
        book.active.append(list(row))
    book.active.merged_cells.add("B2:XFD1048576")
    book.save(path)
    (table,) = tables_of(path, WORDS)
    assert [len(row.merged) for row in table.rows] == [4, 5, 5, 5, 5, 5]
