"""Tables are read back as they were written, and a spreadsheet reads none of their cells as a formula."""

from lmod_train.core.csv_files import read_csv, write_csv


def test_cells_are_read_back_as_texts(tmp_path):
    file = tmp_path / "t.csv"
    write_csv(file, ["name", "n"], [["=1+1", 0.5], ["a\nb, c", None], ["-", 3]])
    assert file.read_text(encoding="utf-8").splitlines()[:2] == ["name,n", "'=1+1,0.5"]
    assert read_csv(file) == [{"name": "=1+1", "n": "0.5"}, {"name": "a\nb, c", "n": ""}, {"name": "-", "n": "3"}]


def test_lines_end_as_asked(tmp_path):
    write_csv(tmp_path / "t.csv", ["a"], [[1]], end="\r\n")
    assert (tmp_path / "t.csv").read_bytes() == b"a\r\n1\r\n"
