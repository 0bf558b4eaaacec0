"""Image files inside the rows of a Parquet file, as data sets on the Hugging Face hub hold them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from lmod_train.core.raw import MOST_IMAGE_BYTES, open_file, read_bytes
from lmod_train.core.types import Cut

MOST_FILE_BYTES = 8 * 2**30
"""Maximum bytes of a Parquet file; the hub splits tables into files of about 0.5 GB."""

MOST_GROUP_BYTES = 2**30
"""Maximum bytes of a column in one row group, which is read as a whole. The hub writes groups of 100 images."""


_WHOLE = Cut()


def image_bytes(path: Path, cut: Cut = _WHOLE) -> bytes:
    """Return the bytes of an image file, or of the one in a row of a Parquet file.

    Raises:
        OSError: See `lmod_train.core.raw.read_bytes`.
        ValueError: The file is too large, not Parquet, has no such column or row, or the row has no image.
    """
    return read_cell(path, cut.column, cut.row) if cut.column else read_bytes(path)


def read_cell(path: Path, column: str, row: int) -> bytes:
    """Return the image file in a row of a Parquet file, whose column holds bytes or a struct with a field ``bytes``.

    The column of one row group is kept in memory, so that reading rows in their order reads the file once.

    Args:
        path: The Parquet file.
        column: Name of the column.
        row: Row, from 0.

    Raises:
        OSError: See `lmod_train.core.raw.read_bytes`.
        ValueError: See `image_bytes`.
    """
    with open_file(path, MOST_FILE_BYTES):
        facts = path.stat()
    try:
        group, place = _group_of(path, row)
        held = _column(path, column, group, facts.st_size, facts.st_mtime_ns)[place].as_py()
    except (OSError, ValueError):  # errors of Arrow for damaged files are among both
        raise
    except (LookupError, NotImplementedError, TypeError) as error:
        raise ValueError(f"row {row}, column {column}: {error}") from error
    data = held.get("bytes") if isinstance(held, dict) else held
    if not isinstance(data, bytes) or not data:
        raise ValueError(f"row {row}, column {column}: no image")
    if len(data) > MOST_IMAGE_BYTES:
        raise ValueError(f"row {row}, column {column}: {len(data):,} bytes, expected at most {MOST_IMAGE_BYTES:,}")
    return data


def _group_of(path: Path, row: int) -> tuple[int, int]:
    """Return the row group that holds a row, and the row's place in it."""
    import pyarrow.parquet as pq

    facts, first = pq.read_metadata(path), 0
    for group in range(facts.num_row_groups):
        rows = facts.row_group(group).num_rows
        if first <= row < first + rows:
            return group, row - first
        first += rows
    raise ValueError(f"row {row}: the file has {first} rows")


@lru_cache(maxsize=1)
def _column(path: Path, column: str, group: int, size: int, changed: int) -> Any:
    """Return a column of a row group; `size` and `changed` are those of the file, so that a new file is read anew."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lmod_train.core.batches import batches

    with pq.ParquetFile(path) as file:
        try:
            parts = list(batches(file, MOST_GROUP_BYTES, [column], [group]))
        except ValueError as error:
            raise ValueError(f"column {column}, row group {group}: {error}") from error
        return pa.chunked_array([part.column(column) for part in parts])
