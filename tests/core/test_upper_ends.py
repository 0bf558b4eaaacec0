"""The upper end of a limit in what reads and removes files."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core import cells
from lmod_train.core.cells import read_cell
from lmod_train.core.files import remove


def test_an_image_of_the_largest_size_is_read_and_one_byte_more_is_refused(tmp_path, monkeypatch):
    pq.write_table(pa.table({"image": [b"12345678"]}), tmp_path / "a.parquet")
    monkeypatch.setattr(cells, "MOST_IMAGE_BYTES", 8)
    assert read_cell(tmp_path / "a.parquet", "image", 0) == b"12345678"
    monkeypatch.setattr(cells, "MOST_IMAGE_BYTES", 7)
    with pytest.raises(ValueError, match="8 bytes, expected at most 7"):
        read_cell(tmp_path / "a.parquet", "image", 0)


def test_a_folder_with_a_file_that_cannot_be_removed_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "file").write_text("x")

    def refused(*_, **__):
        raise PermissionError("in use")

    monkeypatch.setattr(os, "unlink", refused)
    remove(tmp_path / "held")
    assert (tmp_path / "held" / "file").exists()
