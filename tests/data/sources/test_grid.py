"""One table in every kind of file is the same grid; what is no row of it is left out and noted."""

from __future__ import annotations

import codecs
import csv
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from lmod_train.data.sources import grid, sheets
from lmod_train.data.sources.grid import DELIMITERS, Grid, read_grid
from lmod_train.data.sources.sheets import UnreadableSheet

Rows = Sequence[Sequence[str]]
TABLE: Rows = [
    ["Datei", "Pat.-Nr.", "Auge", "Visus", "Bemerkung"],
    *([f"img{n:03}.jpg", f"{n // 2:04}", "RL"[n % 2], f"0,{n + 1}", 'müde; "gut", 眼'] for n in range(12)),
]


def text(rows: Rows, delimiter: str = ",", end: str = "\r\n") -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    return file.getvalue()


def delimited(delimiter: str, encoding: str, end: str = "\r\n", mark: bytes = b"") -> Callable[[Path, Rows], None]:
    return lambda path, rows: (path.write_bytes(mark + text(rows, delimiter, end).encode(encoding)), None)[1]


def workbook(path: Path, rows: Rows) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(list(row))
    book.save(path)


def parquet(path: Path, rows: Rows) -> None:
    pq.write_table(pa.table({name: [row[n] for row in rows[1:]] for n, name in enumerate(rows[0])}), path)


def json_lines(path: Path, rows: Rows) -> None:
    path.write_text("\n".join(json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]))


def json_list(path: Path, rows: Rows) -> None:
    path.write_text(json.dumps([dict(zip(rows[0], row, strict=True)) for row in rows[1:]], indent=1))


KINDS: dict[str, Callable[[Path, Rows], None]] = {
    **{f"{ord(d)}-utf-8": delimited(d, "utf-8") for d in DELIMITERS},
    "mark": delimited(";", "utf-8", mark=codecs.BOM_UTF8),
    "utf-16-le": delimited("\t", "utf-16-le", mark=codecs.BOM_UTF16_LE),
    "utf-16-be": delimited("\t", "utf-16-be"),
    "mac": delimited(";", "utf-8", end="\r"),
    "xlsx": workbook,
    "parquet": parquet,
    "jsonl": json_lines,
    "json": json_list,
}


def cells(grid: Grid) -> list[list[str]]:
    return [list(grid.header), *(list(row.cells) for row in grid.rows)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_the_same_in_every_kind_of_file(tmp_path: Path, kind: str):
    KINDS[kind](tmp_path / "table", TABLE)
    grid = read_grid(tmp_path / "table")
    assert cells(grid) == [list(row) for row in TABLE] and not grid.lost and not grid.notes


@pytest.mark.parametrize(
    ("encoding", "word"), [("cp1252", "Größe"), ("gb18030", "糖尿病视网膜病变"), ("iso8859-15", "Œil rouge")]
)
def test_old_encodings_are_read(tmp_path: Path, encoding: str, word: str):
    rows = [["image", "finding"], *([f"{n}.jpg", word] for n in range(9))]
    delimited(",", encoding)(tmp_path / "t", rows)
    assert cells(read_grid(tmp_path / "t")) == rows and encoding in read_grid(tmp_path / "t").kind


@pytest.mark.parametrize("kind", ["44-utf-8", "59-utf-8", "xlsx"])
def test_titles_empty_rows_and_a_total_are_no_rows(tmp_path: Path, kind: str):
    width = len(TABLE[0])
    title, empty = ["Klinik; Stand 1.2.2024", *[""] * (width - 1)], [""] * width
    rows = [title, empty, TABLE[0], *TABLE[1:6], empty, *TABLE[6:], ["Gesamt", "12", *[""] * (width - 2)]]
    KINDS[kind](tmp_path / "t", rows)
    grid = read_grid(tmp_path / "t")
    assert cells(grid) == [list(row) for row in TABLE] and grid.header_line == 3
    assert [note.partition(":")[0] for note in grid.notes] == [
        "1 lines above the header are left out",
        "line 17 is a total and left out",
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again", [TABLE[0], ["", *TABLE[0][1:]], [cell.upper() for cell in TABLE[0]]])
def test_a_header_in_the_middle_is_listed_and_no_row(tmp_path: Path, kind: str, again: list[str]):
    KINDS[kind](tmp_path / "t", [*TABLE[:5], again, *TABLE[5:9], TABLE[0], *TABLE[9:]])
    grid = read_grid(tmp_path / "t")
    assert cells(grid) == [list(row) for row in TABLE] and len(grid.lost) == 2
    assert all("header again" in why for _, why in grid.lost)


def test_a_header_of_two_rows_again_is_no_row(tmp_path: Path):
    book = Workbook()
    for _ in range(2):
        book.active.append(["ID", "OD", None, "OS", None])
        book.active.append([None, "Image", "Dx", "Image", "Dx"])
        for n in range(5):
            book.active.append([f"p{n}", f"{n}r.jpg", "AMD", f"{n}l.jpg", "glaucoma"])
    book.save(tmp_path / "t.xlsx")
    grid = read_grid(tmp_path / "t.xlsx")
    assert len(grid.rows) == 10 and [line for line, _ in grid.lost] == [8, 9] and grid.header[1] == "OD / Image"


NESTED: dict[str, tuple[object, str]] = {
    "a list": (["glaucoma", "AMD", 3, None], "glaucoma; AMD; 3"),
    "an empty list": ([], ""),
    "an object": ({"quality": "good"}, ""),
    "a list of lists": ([[1, 2]], ""),
    "a list of objects": ([{"x": 1}], ""),
    "a deep list": (json.loads("[" * 40 + "]" * 40), ""),
}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", NESTED)
def test_a_nested_value_is_a_list_of_words_or_none_with_a_note(tmp_path: Path, kind: str, name: str):
    value, expected = NESTED[name]
    rows = [{"image": f"{n}.jpg", "x": value} for n in range(3)]
    if kind == "jsonl":
        (tmp_path / "t").write_text("\n".join(map(json.dumps, rows)))
    elif any(isinstance(one, int) for one in value):  # Parquet has lists of one type
        return
    else:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t")
    grid = read_grid(tmp_path / "t")
    assert grid.column("x") == [expected] * 3
    assert len(grid.notes) == (bool(value) and not expected)
    assert all(note.startswith("x: 3 cells are objects or nested lists") for note in grid.notes)


@pytest.mark.parametrize("stored", [True, False])
def test_formulas_without_a_stored_value_are_told(tmp_path: Path, stored: bool):
    book = Workbook()
    for row in (["image", "Alter", "note"], *([f"{n}.jpg", "=2+3" if n % 2 else 60, "a"] for n in range(6))):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    if stored:
        edit_sheet(tmp_path / "t.xlsx", b"<v />", b"<v>5</v>", b"<v></v>", b"<v>5</v>", b"<v/>", b"<v>5</v>")
    grid = read_grid(tmp_path / "t.xlsx")
    assert grid.column("Alter") == ["60", "5" if stored else ""] * 3
    said = [note for note in grid.notes if note.startswith("Alter: 3 formulas have no stored value")]
    assert len(said) == (not stored) == len(grid.notes)
    assert all("spreadsheet program" in note for note in said)


def edit_sheet(path: Path, *changes: bytes) -> None:
    with zipfile.ZipFile(path) as held:
        members = {name: held.read(name) for name in held.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        sheet = sheet.replace(old, new)
    with zipfile.ZipFile(path, "w") as written:
        for name, content in (members | {"xl/worksheets/sheet1.xml": sheet}).items():
            written.writestr(name, content)


def test_a_patient_called_total_stays(tmp_path: Path):
    rows = [["patient", "image"], ["A", "1.jpg"], ["Total", "2.jpg"]]
    workbook(tmp_path / "t", rows)
    assert cells(read_grid(tmp_path / "t")) == rows


@pytest.mark.parametrize("merged", [True, False])
def test_a_header_of_two_rows_has_one_name_a_column(tmp_path: Path, merged: bool):
    book = Workbook()
    sheet = book.active
    sheet.append(["ID", "OD", None, "OS", None])
    sheet.append([None, "Image", "Dx", "Image", "Dx"])
    for n in range(5):
        sheet.append([f"p{n}", f"{n}r.jpg", "AMD", f"{n}l.jpg", "glaucoma"])
    if merged:
        for cells_ in ("A1:A2", "B1:C1", "D1:E1"):
            sheet.merge_cells(cells_)
    book.save(tmp_path / "t.xlsx")
    grid = read_grid(tmp_path / "t.xlsx")
    assert grid.header == ("ID", "OD / Image", "OD / Dx", "OS / Image", "OS / Dx") and len(grid.rows) == 5
    assert grid.column("OD / Dx") == ["AMD"] * 5 and grid.column("OS / Dx") == ["glaucoma"] * 5


def test_merged_cells_below_each_other_belong_to_every_row(tmp_path: Path):
    book = Workbook()
    for row in [["patient", "image"], ["p1", "1.jpg"], [None, "2.jpg"], ["p2", "3.jpg"], [None, "4.jpg"]]:
        book.active.append(row)
    for cells_ in ("A2:A3", "A4:A5"):
        book.active.merge_cells(cells_)
    book.save(tmp_path / "t.xlsx")
    assert read_grid(tmp_path / "t.xlsx").column("patient") == ["p1", "p1", "p2", "p2"]


def test_cells_are_as_excel_shows_them(tmp_path: Path):
    book = Workbook()
    book.active.append(["id", "share", "n"])
    for n in (7, 12):
        book.active.append([n, n / 100, float(n)])
    for row in (2, 3):
        book.active.cell(row, 1).number_format, book.active.cell(row, 2).number_format = "0000", "0%"
    book.save(tmp_path / "t.xlsx")
    assert cells(read_grid(tmp_path / "t.xlsx"))[1:] == [["0007", "7%", "7"], ["0012", "12%", "12"]]


def test_a_row_with_more_values_than_columns_is_lost_alone(tmp_path: Path):
    (tmp_path / "t").write_text("image,note\n1.jpg,a\n2.jpg,b,c\n3.jpg,d\n")
    grid = read_grid(tmp_path / "t")
    assert [row.line for row in grid.rows] == [2, 4] and [line for line, _ in grid.lost] == [3]


@pytest.mark.parametrize("cell", ['"open', 'a "quoted" word', '5" lens'])
def test_a_wrong_quotation_mark_costs_at_most_its_own_row(tmp_path: Path, cell: str):
    lines = ["image,note,patient", *(f"{n}.jpg,ok,p{n}" for n in range(9))]
    lines[4] = f"3.jpg,{cell},p3"
    (tmp_path / "t").write_text("\n".join(lines))
    grid = read_grid(tmp_path / "t")
    assert len(grid.rows) + len(grid.lost) == 9 and [line for line, _ in grid.lost] in ([], [5])
    assert all(row.cells == (f"{row.line - 2}.jpg", "ok", f"p{row.line - 2}") for row in grid.rows if row.line != 5)


def test_names_of_columns_are_different(tmp_path: Path):
    (tmp_path / "t").write_text("image,label,,Label\n1.jpg,a,b,c\n2.jpg,a,b,d\n")
    assert read_grid(tmp_path / "t").header == ("image", "label", "[column 3]", "Label [2]")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"PK\x03\x04 no archive", b"PAR1 no table", b"\xd0\xcf\x11\xe0no", b"1,2\n3,4\n"]
)
def test_what_is_no_table_is_said_to_be_none(tmp_path: Path, content: bytes):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(UnreadableSheet):
        read_grid(tmp_path / "t")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(
    rows=st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=6),
    delimiter=st.sampled_from(DELIMITERS),
)
def test_any_cells_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str):
    path = tmp_path_factory.getbasetemp() / "any"
    whole = [["image name", "patient", "side"], *rows]
    quoted = "\n".join(delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in whole)
    path.write_text(quoted, encoding="utf-8")
    read = cells(read_grid(path))
    is_total = len(read) < len(whole) and len(rows) > 1
    assert read == whole or is_total


def test_halves_of_characters_are_replaced_and_names_are_one_line(tmp_path: Path):
    (tmp_path / "t").write_text('{"a\\ud800": "x\\udfff", "b\\nc": "1\\n2"}\n', encoding="utf-8")
    grid = read_grid(tmp_path / "t")
    assert grid.header == ("a?", "b c") and grid.rows[0].cells == ("x?", "1\n2")


@pytest.mark.parametrize("kind", ["json", "lines", "parquet"])
def test_values_of_lists_and_broken_lines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str):
    monkeypatch.setattr(grid, "MOST_CELLS", 4)
    for sizes, most in (([8], True), ([4, 4], True), ([9], False), ([4, 5], False)):
        rows = [{"a": [1] * size} for size in sizes]
        file = tmp_path / "table"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), file)
        else:
            file.write_text(json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, [*rows, {}])))
        if most:
            assert [len(row.cells[0].split("; ")) for row in read_grid(file).rows][: len(sizes)] == sizes
        else:
            with pytest.raises(UnreadableSheet, match="more than 8 values in the lists of its cells"):
                read_grid(file)
    monkeypatch.setattr(grid, "MOST_LINES", 3)
    for lines, reads in ((2, True), (3, False)):
        (tmp_path / "table").write_text('{"a": 1}\n' + "x\n" * lines)
        if reads:
            assert len(read_grid(tmp_path / "table").lost) == lines
        else:
            with pytest.raises(UnreadableSheet, match="4 rows of 1 columns"):
                read_grid(tmp_path / "table")


def test_a_workbook_of_thousands_of_sheets_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sheets, "MOST_SHEETS", 3)
    for number in (3, 4):
        book = Workbook(write_only=True)
        for _ in range(number):
            book.create_sheet().append(["image", "grade"])
        book.worksheets[1].append(["a.jpg", "x"])
        book.save(tmp_path / "table.xlsx")
        if number == 3:
            assert len(read_grid(tmp_path / "table.xlsx").rows) == 1
        else:
            with pytest.raises(UnreadableSheet, match="4 sheets, expected at most 3"):
                read_grid(tmp_path / "table.xlsx")
