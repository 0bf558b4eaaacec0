"""Parts of Parquet files from others: what a file of a few kilobytes unpacks to is known before it is in memory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core import batches
from lmod_train.data.sources.objects import objects_in

WORDS = pa.array(["left", "right"])
PLACES = pa.array([0, 1, None, 1], pa.int8())


def written(file: Path, column: pa.Array) -> pq.ParquetFile:
    pq.write_table(pa.table({"x": column}), file)
    return pq.ParquetFile(file)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_a_dictionary_is_read_as_its_values_each_counted(tmp_path: Path, kind: pa.DataType):
    column = pa.DictionaryArray.from_arrays(PLACES, WORDS.cast(kind))
    (part,) = batches.batches(written(tmp_path / "a", column), 100)
    assert part["x"].cast(pa.string()).to_pylist() == ["left", "right", None, "right"]
    text = pa.array(["A" * 1000]).cast(kind)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int16()), text)
    opened = written(tmp_path / "b", long)
    assert opened.metadata.row_group(0).column(0).total_uncompressed_size < 4000
    with pytest.raises(ValueError, match="more than 1,000,000 bytes of rows"):
        list(batches.batches(opened, 1_000_000))
    assert sum(len(part) for part in batches.batches(opened, 3_000_000)) == 2000


@pytest.mark.parametrize(
    "nest",
    [
        lambda d: pa.ListArray.from_arrays(pa.array([0, 4], pa.int32()), d),
        lambda d: pa.StructArray.from_arrays([d], ["s"]),
    ],
)
def test_a_dictionary_inside_a_column_is_refused(tmp_path: Path, nest: Any):
    written(tmp_path / "a", nest(pa.DictionaryArray.from_arrays(PLACES, WORDS)))
    with pytest.raises(ValueError, match="a dictionary inside a nested column"):
        list(objects_in(tmp_path / "a"))


def test_too_large_a_column_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "MOST_VALUES", 100)
    for values, most, why in ((8, 500, "500 bytes of rows"), (101, 2**20, "100 values of a column"), (99, 2**20, "")):
        lists = pa.array([["a" * 90 + str(n) for n in range(values)], []])
        opened = written(tmp_path / "a", lists)
        unread: Any = SimpleNamespace(metadata=opened.metadata)
        if why:
            with pytest.raises(ValueError, match=f"more than {why}"):
                next(batches.batches(unread, most))
        else:
            assert sum(len(part) for part in batches.batches(opened, most)) == 2
