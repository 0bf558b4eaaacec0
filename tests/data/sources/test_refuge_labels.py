import json

import pytest
from openpyxl import Workbook

from lmod_train.data.sources.refuge import read_labels
from lmod_train.data.sources.sheets import UnreadableSheet
from tests.tabled import tabled


def sheet(path, *rows):
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@tabled("label", ["Glaucoma Label", "Label(Glaucoma=1)", " GLAUCOMA label "])
@tabled("named", ["ImgName", "imgname", "Img Name "])
def test_the_label_column_is_matched_by_its_word(tmp_path, label, named):
    path = sheet(tmp_path / "x.xlsx", ["ID", named, label, "Fovea_X"], [1, "V0001.jpg", 1, 3.5], [2, "v0002", 0.0, 3])
    assert read_labels(path) == ({"v0001": "yes", "v0002": "no"}, [])


def test_a_title_above_the_header_and_another_order_of_columns(tmp_path):
    path = sheet(tmp_path / "x.xlsx", ["REFUGE"], [], ["Glaucoma Label", "ImgName"], [1, "V0001.jpg"])
    assert read_labels(path) == ({"v0001": "yes"}, [])


def test_a_sheet_of_the_fovea_has_no_labels(tmp_path):
    assert read_labels(sheet(tmp_path / "x.xlsx", ["ID", "ImgName", "Fovea_X"], [1, "g0001.jpg", 2])) == ({}, [])


def test_a_label_that_is_neither_is_reported_and_an_empty_one_is_absent(tmp_path):
    rows = [["ImgName", "Glaucoma Label"], ["a.jpg", 2], ["b.jpg", None], [None, 1], ["c.jpg", 1], ["C.jpg", 0]]
    labels, problems = read_labels(sheet(tmp_path / "x.xlsx", *rows))
    assert labels == {} and len(problems) == 2 and "a.jpg" in problems[0] and "both" in problems[1]


@pytest.mark.parametrize("shape", [dict, list])
def test_an_index_is_read_with_and_without_labels(tmp_path, shape):
    records = [{"ImgName": "T1.jpg", "Label": 1}, {"imgName": "T2.jpg", "label": 0}, {"ImgName": "T3.jpg"}]
    index = dict(enumerate(records)) if shape is dict else records
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert read_labels(tmp_path / "index.json") == ({"t1": "yes", "t2": "no"}, [])


@tabled(
    ("name", "content"),
    [("a.xlsx", b""), ("a.xlsx", b"PK\x03\x04 torn"), ("a.xls", b"\xd0\xcf"), ("a.json", b"{"), ("a.json", b"[1]")],
)
def test_a_damaged_sheet_is_unreadable(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableSheet):
        read_labels(tmp_path / name)


def test_a_sheet_without_names_is_unreadable(tmp_path):
    with pytest.raises(UnreadableSheet, match="ImgName"):
        read_labels(sheet(tmp_path / "x.xlsx", ["ID", "Glaucoma Label"], [1, 1]))
    (tmp_path / "x.json").write_text('{"0": {"Label": 1}}')
    with pytest.raises(UnreadableSheet, match="ImgName"):
        read_labels(tmp_path / "x.json")
