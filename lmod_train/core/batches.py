"""Reading of Parquet files from others in parts: one text of a small file can stand in each of a million rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_GROUP = 1024

AT_ONCE, MOST_GROWTH = 2**28, 200
"""Bytes of a table that are always allowed in memory, and how many times its file it may be beyond."""


def batches(
    opened: pq.ParquetFile, most: int, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file a few at a time.

    Args:
        opened: The file.
        most: Maximum bytes of all its rows in memory.
        columns: Columns to read; all by default.
        groups: Row groups to read; all by default.

    Raises:
        ValueError: The rows have more bytes.
    """
    facts = [opened.metadata.row_group(i) for i in range(opened.metadata.num_row_groups)]
    parts = [group.column(i) for group in facts for i in range(group.num_columns)]
    read = [part for part in parts if columns is None or _is_in(part.path_in_schema, columns)]
    longest = max((part.total_uncompressed_size for part in read), default=1)
    rows = max(1, min(ROWS_A_GROUP, AT_ONCE // max(1, longest)))
    found = 0
    for batch in opened.iter_batches(rows, row_groups=groups, columns=columns):
        found += batch.nbytes
        if found > most:
            raise ValueError(f"more than {most:,} bytes of rows")
        yield batch


def _is_in(path: str, columns: Sequence[str]) -> bool:
    return any(path == column or path.startswith(f"{column}.") for column in columns)
