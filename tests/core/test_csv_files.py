"""Tables are read back as they were written, with a mark or without, and a spreadsheet reads no cell as a formula."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmod_train.core import csv_files
from lmod_train.core.artifacts.scores import read_scores, write_scores
from lmod_train.core.artifacts.shortcuts import Shortcut, read_shortcuts, write_shortcuts
from lmod_train.core.artifacts.training_set import TrainedImage, read_training_set, write_training_set
from lmod_train.core.csv_files import TableDamaged, read_csv, read_rows, write_csv
from lmod_train.core.tables import Column, Table
from lmod_train.core.types import Dropped, Score
from lmod_train.data.audit.shortcut_classifiers import _facts
from lmod_train.data.curation.manifest_files import FILE_COLUMNS, read_dropped, write_dropped
from lmod_train.report.report import _score_rows
from lmod_train.report.results import RunScores
from lmod_train.report.writers.csv import write_csv as write_table

MARK = b"\xef\xbb\xbf"


def test_cells_are_read_back_as_texts(tmp_path):
    file = tmp_path / "t.csv"
    write_csv(file, ["name", "n"], [["=1+1", 0.5], ["a\nb, c", None], ["-", 3]])
    assert file.read_text(encoding="utf-8-sig").splitlines()[:2] == ["name,n", "'=1+1,0.5"]
    assert read_csv(file) == [{"name": "=1+1", "n": "0.5"}, {"name": "a\nb, c", "n": ""}, {"name": "-", "n": "3"}]
    assert read_rows(file)[:2] == [["name", "n"], ["=1+1", "0.5"]]


def test_lines_end_as_asked(tmp_path):
    write_csv(tmp_path / "t.csv", ["a"], [[1]], end="\r\n")
    assert (tmp_path / "t.csv").read_bytes() == MARK + b"a\r\n1\r\n"


SCORES = [Score("青光眼", "all", "accuracy", 3, 0.5)]


def run_in(folder: Path) -> RunScores:
    return RunScores(folder, "r", "模型", ())


FILES: list[tuple[str, Callable[[Path], Any], Callable[[Path], Any]]] = [
    ("a.csv", lambda f: write_csv(f, ["类"], [["眼"]]), read_csv),
    ("a.csv", lambda f: write_csv(f, ["类"], [["眼"]]), read_rows),
    ("scores.csv", lambda f: write_scores(f, "run", "模型", SCORES), read_scores),
    ("scores.csv", lambda f: write_scores(f, "run", "模型", SCORES), lambda f: _score_rows(run_in(f.parent))),
    ("dropped.csv", lambda f: write_dropped(f, [Dropped("s", "k", "眼.jpg", "read", "x")], {}), read_dropped),
    ("trained_on.csv", lambda f: write_training_set(f.parent, [TrainedImage("train", "眼", "f", "1")]),
     lambda f: read_training_set(f.parent)),
    ("audit.csv", lambda f: write_shortcuts(f, [Shortcut("眼", "words", "test", "accuracy", 3, 0.5)]),
     lambda f: read_shortcuts(f.parent)),
    ("files.csv", lambda f: write_csv(f, FILE_COLUMNS, [("s", "眼", "jpg", 9, 4, 3)]), _facts),
    ("t.csv", lambda f: write_table(Table("t", (Column("类"),), (("眼",),)), f.parent), read_csv),
]  # fmt: skip


@pytest.mark.parametrize(("name", "write", "read"), FILES)
def test_files_for_people_have_a_mark_and_are_read_without_one_too(
    tmp_path: Path, name: str, write: Callable[[Path], Any], read: Callable[[Path], Any]
):
    write(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(MARK) and "眼".encode() in data
    with_mark = read(tmp_path / name)
    (tmp_path / name).write_bytes(data.removeprefix(MARK))
    assert read(tmp_path / name) == with_mark and "\ufeff" not in repr(with_mark) and with_mark


WRONG = {
    "long": b"a,b\n1,2\n" + b"x" * 2**21 + b",3\n",
    "zeros": b"\0" * 2**21,
    "columns": (b"a," * 600_000 + b"a\n") * 2,
    "no text": b"a,b\n\xff,\xfe\n",
    "more": b"a,b\n1,2\n3,4,5\n",
    "fewer": b"a,b\n1,2\n3\n",
    "long cell": b'a,b\n"' + b"x\n" * 200_000 + b'",2\n',
    "large": b"a,b\n" + b"1,2\n" * 1000,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_table_that_is_none_is_named_with_a_cure(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(csv_files, "MOST_BYTES", 3000 if name == "large" else 2**28)
    (tmp_path / "a.csv").write_bytes(WRONG[name])
    with pytest.raises(TableDamaged, match=r"(?s)a\.csv: is no table that can be read \(.*\nNext: copy it again"):
        read_csv(tmp_path / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableDamaged, match="a folder"):
        read_rows(tmp_path / "folder.csv")
    with pytest.raises(FileNotFoundError):
        read_rows(tmp_path / "none.csv")


def test_a_line_at_the_limit_and_cells_of_several_lines_are_read(tmp_path: Path):
    long = "x" * 131_072
    (tmp_path / "a.csv").write_bytes(f'\ufeffa,b,c\r\n{long},"1\r\n2\r3\n4",{long}\r\n\r\n'.encode())
    assert read_csv(tmp_path / "a.csv") == [{"a": long, "b": "1\r\n2\r3\n4", "c": long}]
