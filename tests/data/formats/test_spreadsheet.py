"""Tables as spreadsheets save them: delimiters, encodings, quotes, workbooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from openpyxl import Workbook

from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.errors import BadArgument
from lmod_train.data.formats.spreadsheet import Table, write_table
from tests.tabled import tabled

TABLE = Table("sheet", "a table with id and answer", ("id", "answer"), ("region",))
ROWS = [(2, {"id": "a", "answer": "yes, très 左"}), (4, {"id": "b", "answer": "2"})]


@tabled("delimiter", [",", ";", "\t"])
@tabled("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@tabled("end", ["\n", "\r\n"])
def test_text_is_read_as_spreadsheets_save_it(tmp_path: Path, delimiter: str, encoding: str, end: str):
    text = end.join(["id;answer", 'a;"yes, très 左"', ";", "b;2", ""]).replace(";", delimiter)
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert TABLE.read(tmp_path / "t.csv") == ROWS


def test_a_workbook_is_read_with_its_shown_values(tmp_path: Path):
    book = Workbook()
    for row in (["id", "answer"], ["a", "yes, très 左"], [None, None], ["b", 2.0]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert TABLE.read(tmp_path / "t.xlsx") == ROWS
    book.active.append(["c", True])
    book.save(tmp_path / "t.xlsx")
    assert TABLE.read(tmp_path / "t.xlsx")[-1] == (5, {"id": "c", "answer": "TRUE"})


@tabled(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b"", "the table is empty"),
        (b"id,comment\na,b\n", "each once; it has id, comment"),
        (b"id,answer,ANSWER\na,b,c\n", r"each once; it has id, answer, answer \[2\]"),
        (b"id,answer\na,b,c\n", r"in every row as many values as columns; .*t\.csv:2"),
        (b'id,answer\na,"b\n', "a quotation mark is not closed"),
        ("id,answer\na,左\n".encode("gb18030"), "CSV UTF-8"),
        (b"PK\x03\x04 cut off", "not a readable xlsx file"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_a_cure(tmp_path: Path, content: bytes | None, problem: str):
    if content is not None:
        (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(BadArgument, match=problem):
        TABLE.read(tmp_path / "t.csv")


def test_written_cells_open_no_formula_and_filled_in_files_stay(tmp_path: Path):
    path, content = tmp_path / "t.csv", csv_bytes(("id", "answer"), [("=SUM(1)", "眼")])
    write_table(path, content, "--blank")
    write_table(path, content, "--blank")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") and "\n'=SUM(1),眼" in path.read_text(encoding="utf-8-sig")
    path.write_text("filled in", encoding="utf-8")
    with pytest.raises(BadArgument, match="filled in"):
        write_table(path, content, "--blank")
    assert path.read_text(encoding="utf-8") == "filled in"


def test_a_table_in_an_old_encoding_is_read(tmp_path: Path):
    (tmp_path / "t.csv").write_bytes("id;answer\na;très pâle\n".encode("cp1252"))
    assert TABLE.read(tmp_path / "t.csv") == [(2, {"id": "a", "answer": "très pâle"})]
