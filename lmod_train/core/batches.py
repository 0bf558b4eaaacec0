"""Reading of Parquet files from others in parts: one text of a small file can stand in each of a million rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_GROUP = 1024

AT_ONCE, MOST_GROWTH = 2**28, 200
"""Bytes of a table that are always allowed in memory, and how many times its file it may be beyond."""

MOST_VALUES = 2**24
"""Maximum values of a column in a row group, those of lists counted: all of them can stand in one row."""


def batches(
    opened: pq.ParquetFile, most: int, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file a few at a time.

    Args:
        opened: The file.
        most: Maximum bytes of all its rows in memory.
        columns: Columns to read; all by default.
        groups: Row groups to read; all by default.

    Texts of a dictionary are written out, so that each counts with all its bytes.

    Raises:
        ValueError: The rows have more bytes, a row group more than `MOST_VALUES`, or a nested column a dictionary.
    """
    facts = [opened.metadata.row_group(i) for i in range(opened.metadata.num_row_groups)]
    parts = [group.column(i) for group in facts for i in range(group.num_columns)]
    read = [part for part in parts if columns is None or _is_in(part.path_in_schema, columns)]
    longest = max((part.total_uncompressed_size for part in read), default=1)
    if longest > most:  # a page of it is unpacked as a whole
        raise ValueError(f"more than {most:,} bytes of rows")
    if any(part.num_values > MOST_VALUES for part in read):
        raise ValueError(f"more than {MOST_VALUES:,} values of a column in a row group")
    rows = max(1, min(ROWS_A_GROUP, AT_ONCE // max(1, 2 * longest)))
    found = 0
    for batch in opened.iter_batches(rows, row_groups=groups, columns=columns):
        whole = _without_dictionaries(batch)
        found += whole.nbytes
        if found > most:
            raise ValueError(f"more than {most:,} bytes of rows")
        yield whole


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    found = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in batch.columns]
    if nested := next((one.type for one in found if "dictionary<" in str(one.type)), None):
        raise ValueError(f"a dictionary inside a nested column ({str(nested)[:80]})")
    return pa.RecordBatch.from_arrays(found, batch.schema.names, metadata=batch.schema.metadata)


def _is_in(path: str, columns: Sequence[str]) -> bool:
    return any(path == column or path.startswith(f"{column}.") for column in columns)
