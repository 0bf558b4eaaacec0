"""Reading of tables: text in several encodings and delimiters, workbooks, and unreadable files."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import Workbook

from lmod_train.data.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet
from tests.growth import growth
from tests.tabled import tabled


def written(folder: Path, content: bytes | str, name: str = "t.csv") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@tabled(
    ("given", "plain"),
    [
        ("DR_ICDR", "dricdr"),
        (" Optic-Disc ", "opticdisc"),
        ("\ufeffimage_id", "imageid"),
        ("Patient\nAge", "patientage"),
        ("Größe", "grösse"),
        ("()", ""),
    ],
)
def test_headers_keep_letters_and_digits(given: str, plain: str) -> None:
    assert plain_header(given) == plain


@tabled("delimiter", [",", ";", "\t", "|"])
def test_the_header_determines_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    table = "Image ID,Age,Note\r\n a ,61,x y\r\n\r\nb,,\r\n".replace(",", delimiter)
    assert read_sheet(written(tmp_path, table)) == [
        {"imageid": "a", "age": "61", "note": "x y"},
        {"imageid": "b", "age": "", "note": ""},
    ]


@tabled("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    assert read_sheet(written(tmp_path, "id,name\n1,João\n".encode(encoding))) == [{"id": "1", "name": "João"}]


def test_a_mark_before_a_quoted_header_is_no_part_of_it(tmp_path: Path) -> None:
    assert read_sheet(written(tmp_path, '"id, new","name"\n1,x\n'.encode("utf-8-sig"))) == [{"idnew": "1", "name": "x"}]


def test_quoted_cells_keep_delimiters(tmp_path: Path) -> None:
    assert read_sheet(written(tmp_path, 'id,text\n1, "a, ""b""\nc"\n')) == [{"id": "1", "text": 'a, "b"\nc'}]


@tabled(
    ("line", "cells"),
    [
        ('2,"a" b,y', ("a b", "y")),
        ('2,"a "b"" c,y', ('a b"" c', "y")),
        ('2,5" wide,y', ('5" wide', "y")),
        ('2,"a" ,"y"', ("a", "y")),
        ('2,"a\nb, c",y', ("a\nb, c", "y")),
        ('2,"",y', ("", "y")),
    ],
)
def test_stray_quotation_marks_are_harmless(tmp_path: Path, line: str, cells: tuple[str, str]) -> None:
    rows = read_sheet(written(tmp_path, f'id,text,last\n1,x,"y"\n{line}\n3,x,"y"\n'))
    assert [tuple(row.values()) for row in rows] == [("1", "x", "y"), ("2", *cells), ("3", "x", "y")]
    assert not any(map(misfit, rows))


@tabled(
    ("line", "why"),
    [
        ('2,"a,y', "a quotation mark is not closed"),
        ('2,x,"a', "a quotation mark is not closed"),
        ('2,"a,b","c', "a quotation mark is not closed"),
        ('2,"a,y"', "too few values"),
        ('2,"a,"b"', "too few values"),
        ('2,"a, "b", c",y', "'y' has no column"),
    ],
)
@tabled("below", ['3,x,"y"\r\n4,"x",y\r\n', "3,x,y\r\n4,x,y\r\n", ""])
def test_a_mark_that_is_not_closed_spoils_only_its_own_line(tmp_path: Path, line: str, why: str, below: str) -> None:
    rows = read_sheet(written(tmp_path, f"id,text,last\r\n1,x,y\r\n{line}\r\n{below}"))
    whole = [{"id": str(i), "text": "x", "last": "y"} for i in (1, 3, 4)]
    assert [row for row in rows if not misfit(row)] == whole[: 3 if below else 1]
    (spoiled,) = [row for row in rows if misfit(row)]
    assert spoiled["id"] == "2" and why in misfit(spoiled)


def test_a_row_without_its_last_cells_fits(tmp_path: Path) -> None:
    assert read_sheet(written(tmp_path, 'a,b,c\n1,"x"\n')) == [{"a": "1", "b": "x", "c": ""}]


def test_short_long_unnamed_and_repeated(tmp_path: Path) -> None:
    table = ",a,A,a2,b,\n0,1,2,3\n0,1,2,3,4,,5,6\n,,,\n"
    assert read_sheet(written(tmp_path, table)) == [
        {"a": "1", "a2": "2", "a22": "3", "b": ""},
        {"a": "1", "a2": "2", "a22": "3", "b": "4", "": "5,6"},
    ]


def test_titles_above_the_header_are_skipped(tmp_path: Path) -> None:
    file = written(tmp_path, "Table of eyes\nsecond line, with comma\nID;Age\n1;40\n")
    assert read_sheet(file, column="id") == [{"id": "1", "age": "40"}]
    with pytest.raises(UnreadableSheet, match="no column 'sex'"):
        read_sheet(file, column="sex")


def test_a_header_only_is_an_empty_table(tmp_path: Path) -> None:
    assert read_sheet(written(tmp_path, "a,b\n")) == []


def workbook(folder: Path, name: str = "t.xlsx") -> Path:
    book = Workbook()
    assert book.active is not None
    book.active.title = "empty"
    sheet = book.create_sheet("labels")
    for row in [[], ["A title"], ["Img Name", "Grade", "Note"], ["a.jpg", 2.0, None], ["b.jpg", 0.5, " x "], []]:
        sheet.append(row)
    book.save(folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv"])
def test_workbooks_by_content_not_by_ending(tmp_path: Path, name: str) -> None:
    assert read_sheet(workbook(tmp_path, name), column="ImgName") == [
        {"imgname": "a.jpg", "grade": "2", "note": ""},
        {"imgname": "b.jpg", "grade": "0.5", "note": "x"},
    ]


def test_a_wrong_size_written_in_a_workbook_cuts_nothing(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.xlsx"
    with ZipFile(workbook(tmp_path)) as whole, ZipFile(wrong, "w") as copy:
        for name in whole.namelist():
            content = whole.read(name)
            if name.startswith("xl/worksheets/"):
                assert b"<dimension" in content
            copy.writestr(name, re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:A3"', content))
    assert read_sheet(wrong, column="ImgName") == read_sheet(workbook(tmp_path), column="ImgName")


@tabled(
    ("content", "message"),
    [
        (b"", "the table is empty"),
        (b"\n \n,,\n", "the table is empty"),
        (b"\xd0\xcf\x11\xe0 old", "before 2007"),
        (b"PK\x03\x04 broken", "not a readable xlsx"),
        (b"a,b\n1,\0\n", "null bytes"),
        (b"a,b\n1,\x81\xff\n", "neither UTF-8 nor cp1252"),
        ("a,b\n1,男\n".encode("gb18030"), "GB18030 or cp1252; save it as UTF-8"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "not a readable table"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UnreadableSheet, match=message):
        read_sheet(written(tmp_path, content))


def test_truncated_workbooks_and_missing_files(tmp_path: Path) -> None:
    whole = workbook(tmp_path).read_bytes()
    for kept in (len(whole) // 3, len(whole) - 10):
        with pytest.raises(UnreadableSheet, match="not a readable xlsx"):
            read_sheet(written(tmp_path, whole[:kept], "cut.xlsx"))
    with pytest.raises(UnreadableSheet, match="cannot be opened"):
        read_sheet(tmp_path / "none.csv")


def of_xml(path, sheet, *, padded=b""):
    """Write an xlsx file whose one sheet has these rows in XML."""
    book = Workbook()
    book.active.append(["ImgName", "Label"])
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        + sheet.encode()
        + b"</sheetData></worksheet>"
        + padded
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def cell(place, value):
    return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'


HEAD = f'<row r="1">{cell("A1", "ImgName")}{cell("B1", "Label")}</row>'


@tabled(
    ("sheet", "message"),
    [
        (HEAD + f'<row r="99999999999">{cell("A99999999999", "x")}</row>', "cells"),
        (HEAD + "".join(f'<row r="{n}">{cell(f"ZZZ{n}", "x")}</row>' for n in range(2, 200)), "cells"),
        (HEAD + f'<row r="2">{cell("ZZZZZZZZ2", "x")}</row>', "not a readable xlsx"),
        (HEAD + '<row r="2">' + "<a>" * 50_000, "not a readable xlsx"),
    ],
)
def test_a_workbook_with_endless_rows_is_refused(tmp_path, sheet, message):
    with pytest.raises(UnreadableSheet, match=message):
        read_sheet(of_xml(tmp_path / "a.xlsx", sheet))


def test_a_workbook_of_packed_blanks_is_refused(tmp_path):
    file = of_xml(tmp_path / "a.xlsx", HEAD, padded=b" " * 60_000_000)
    assert file.stat().st_size < 200_000
    with pytest.raises(UnreadableSheet, match=r"^60,[0-9,]* bytes when unpacked"):
        read_sheet(file)


def test_a_text_table_is_read_in_linear_time_and_within_limits(tmp_path):
    for rows in (4_000, 32_000):
        (tmp_path / f"{rows}.csv").write_text("a,b\n" + '"x\n' * rows)
    (tmp_path / "long.csv").write_text("a,b\n" + "1,2\n" * 400_000)
    (tmp_path / "wide.csv").write_text(",".join(f"c{n}" for n in range(5000)) + "\n1\n")
    (tmp_path / "padded.csv").write_text(",".join(f"c{n}" for n in range(1500)) + "\n" + "1\n" * 10_000)
    assert len(read_sheet(tmp_path / "32000.csv")) == 32_000
    assert growth(lambda rows: read_sheet(tmp_path / f"{rows}.csv"), 4_000) < 2.5
    for name in ("long", "wide", "padded"):
        with pytest.raises(UnreadableSheet, match=r"columns|more than"):
            read_sheet(tmp_path / f"{name}.csv")


def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(UnreadableSheet, match="a pipe, expected a file"):
        read_sheet(tmp_path / "a.csv")
