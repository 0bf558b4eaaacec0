"""Images inside the rows of a Parquet file."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core.cells import image_bytes, read_cell
from lmod_train.core.types import Cut

ROWS = [b"one", b"two", b"three", None, b"five"]


@pytest.fixture
def file(tmp_path):
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": data, "path": f"{n}.jpg"} for n, data in enumerate(ROWS)], kind)
    pq.write_table(pa.table({"image": images, "plain": pa.array(ROWS, pa.binary())}), tmp_path / "a.parquet", 2)
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("column", ["image", "plain"])
def test_every_row_of_every_group_in_any_order(file, column):
    for row in (4, 0, 2, 1, 0, 4):
        assert read_cell(file, column, row) == ROWS[row]
        assert image_bytes(file, Cut(column=column, row=row)) == ROWS[row]


def test_a_changed_file_is_read_anew(file):
    assert read_cell(file, "plain", 0) == b"one"
    pq.write_table(pa.table({"plain": pa.array([b"a longer one"], pa.binary())}), file)
    assert read_cell(file, "plain", 0) == b"a longer one"


@pytest.mark.parametrize(("column", "row"), [("image", 3), ("image", 5), ("image", -1), ("nothing", 0)])
def test_what_is_not_there_is_a_value_error(file, column, row):
    with pytest.raises(ValueError, match=r"row|column"):
        read_cell(file, column, row)


def test_a_damaged_and_a_missing_file(file, tmp_path):
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises((OSError, ValueError)):
        read_cell(file, "image", 0)
    with pytest.raises(OSError, match="No such file"):
        read_cell(tmp_path / "none.parquet", "image", 0)


def test_a_plain_file_is_read_whole(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"pixels")
    assert image_bytes(tmp_path / "a.jpg") == b"pixels"
