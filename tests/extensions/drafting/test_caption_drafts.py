"""The folder of questions from captions: written and read back, and its tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from lmod_train.core.errors import ArtifactError
from lmod_train.extensions.drafting.caption_files import FILE, LEFT, QUESTIONS, Folder, lines, read_folder, write_lists
from lmod_train.extensions.drafting.caption_steps import Drafts, Left, Settings
from lmod_train.extensions.drafting.captions import Caption
from tests.extensions.drafting.example import statement


def test_a_folder_is_read_as_it_was_written(tmp_path: Path):
    caption = Caption("1", "images/1.jpg", "视盘苍白", tags={"subspecialty": "neuro"}, phantom=True)
    folder = Folder(tmp_path, {"1": caption}, Settings(("年龄",), seed=3), (Left("x:2", "caption", "no_image"),))
    folder.write()
    assert read_folder(tmp_path) == folder
    assert not folder.balanced().items  # nothing was asked yet
    (tmp_path / FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(ArtifactError, match="cannot be read"):
        read_folder(tmp_path)


def test_no_text_of_a_model_is_a_formula_in_a_table_and_everything_left_out_is_counted(tmp_path: Path):
    folder = Folder(tmp_path, {}, Settings())
    items = (statement(1, "=HYPERLINK(1)"), statement(2, true=False))
    drafts = Drafts(items, (Left("1/x/3", "check", "marks", "@x"),), {})
    write_lists(folder, drafts)
    for name in (QUESTIONS, LEFT):
        with (tmp_path / name).open(encoding="utf-8-sig", newline="") as file:
            assert not [cell for row in csv.reader(file) for cell in row if cell.startswith(("=", "@"))]
    shown = "\n".join(lines(folder, drafts))
    assert "binary_question 2" in shown and "True 50.0 %" in shown and "check: marks 1" in shown
