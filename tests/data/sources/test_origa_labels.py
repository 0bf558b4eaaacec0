import pytest

from lmod_train.data.sources.origa import Entry, read_entries
from lmod_train.data.sources.sheets import UnreadableSheet


def test_spellings_of_names_labels_and_sides_are_understood(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("Image , LABEL,Eye\n\"'001.jpg'\",1.0,os\nC:\\Origa\\002.jpg,False,OD\nOriga/Images/3.JPG,,\n")
    assert read_entries(path) == (
        {"1": Entry("yes", "left"), "2": Entry("no", "right"), "3": Entry(None, None)},
        [],
    )


def test_the_option_overrides_the_usual_names(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("filename,label,Second Reader\n1.jpg,0,1\n")
    assert read_entries(path)[0]["1"].glaucoma == "no"
    assert read_entries(path, "second-reader")[0]["1"].glaucoma == "yes"
    with pytest.raises(UnreadableSheet, match="no column of labels; found filename, label, secondreader"):
        read_entries(path, "third reader")


def test_a_table_without_names_or_rows_is_refused(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("number,label\n1,0\n")
    with pytest.raises(UnreadableSheet, match="no column of file names; found number, label"):
        read_entries(path)
    path.write_text("filename,label\n")
    with pytest.raises(UnreadableSheet, match="found none"):
        read_entries(path)
