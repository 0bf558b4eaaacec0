"""A row that a label table lacks costs labels: a line names each image that has lost something, in every source."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook

from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.discovery import discover
from tests.drawn import drawn_sources

QUESTIONS = {"OphthalWeChat_QA.xlsx"}
"""Tables whose rows are questions about images, and no labels of them."""

Table = list[list[object]]


def table_in(file: Path) -> tuple[Table, Callable[[Table], None]]:
    """Return the rows of a table, header first, and a function that writes others in their place."""
    if file.suffix == ".xlsx":

        def write_book(rows: Table) -> None:
            book = Workbook()
            for row in rows:
                book.worksheets[0].append(row)
            book.save(file)

        return [list(row) for row in load_workbook(file).worksheets[0].iter_rows(values_only=True)], write_book

    def write_text(rows: Table) -> None:
        with file.open("w", newline="", encoding="utf-8") as text:
            csv.writer(text).writerows(rows)

    with file.open(newline="", encoding="utf-8-sig") as text:
        return [list(row) for row in csv.reader(text)], write_text


def read(root: Path) -> tuple[dict[str, Sample], set[Dropped]]:
    (source,) = discover(root).sources
    items = list(source.samples())
    return {i.key: i for i in items if isinstance(i, Sample)}, {i for i in items if isinstance(i, Dropped)}


@pytest.mark.parametrize("name", drawn_sources())
def test_an_image_without_a_row_in_a_label_table_is_named(eight: Path, tmp_path: Path, name: str):
    root = shutil.copytree(eight / f"of {name}", tmp_path / "copy")
    before, listed = read(root)
    for file in sorted(f for f in root.rglob("*") if f.suffix in (".csv", ".xlsx") and f.name not in QUESTIONS):
        kept = file.read_bytes()
        rows, write = table_in(file)
        filled = [n for n in range(1, len(rows)) if any(rows[n])]
        for n in {filled[0], filled[len(filled) // 2], filled[-1]}:
            write(rows[:n] + rows[n + 1 :])
            after, lines = read(root)
            lost = {key for key, sample in before.items() if after.get(key) != sample}
            named = {name for line in lines - listed for name in (line.key, Path(line.file).stem)}
            assert lost <= named, f"{file.name}, row {n}: without a line: {sorted(lost - named)}"
        file.write_bytes(kept)
