"""Answers of a person: read from a filled-in sheet, and written as a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.records import read_run_column, read_run_records, write_run_records
from lmod_train.core.artifacts.replies import ReplyFile, read_replies
from lmod_train.core.artifacts.run import READER, Run
from lmod_train.core.errors import BadArgument, RunConflict
from lmod_train.core.escaping import from_csv
from lmod_train.core.files import clear_parts
from lmod_train.core.lock import locked
from lmod_train.core.types import Record, Reply
from lmod_train.data.formats.folder import exported_id
from lmod_train.data.formats.reading_sheet import code_of, image_code
from lmod_train.data.formats.spreadsheet import Table, cell, lines_of
from lmod_train.tasks.asked import asked
from lmod_train.tasks.building import Configured

TABLE = Table(
    "sheet", "a CSV file with the columns id and answer, and region for questions about regions",
    ("id", "answer"), ("region", "image"),
)  # fmt: skip

AGAIN = "`python -m lmod_train answers --blank NEW.csv --curated CURATED` writes a blank sheet with all ids"

_OURS = re.compile(r"[0-9]+-([a-z]{6})\.jpg", re.IGNORECASE)
"""Name of an image in a sheet; other names are not compared."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An answer as it is written in a sheet.

    Attributes:
        text: Its text, without blanks around it; empty if there is none.
        line: Number of its line.
    """

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Answers:
    """What a sheet contains.

    Attributes:
        records: The records of its rows, in the order of their ids.
        cells: Record id -> region id -> cell; the region is 0 for a cell that is the whole reply.
    """

    records: tuple[Record, ...]
    cells: Mapping[str, Mapping[int, Cell]] = field(default_factory=dict)

    def replies(self) -> dict[str, str]:
        """Return record id -> reply, of regions in the format of their prompt; records without an answer are absent."""
        return {id: text for id, cells in self.cells.items() if (text := _reply(cells))}

    def blank(self, begun: bool = False) -> list[int]:
        """Return the lines without an answer: of records without any, or of regions of those that are `begun`."""
        chosen = [cells.values() for cells in self.cells.values() if bool(_reply(cells)) == begun]
        return sorted(c.line for cells in chosen for c in cells if not c.text)

    def lines(self, id: str) -> list[int]:
        """Return the lines with the answers to a record."""
        return sorted(c.line for c in self.cells[id].values() if c.text)


def _reply(cells: Mapping[int, Cell]) -> str:
    if 0 in cells:
        return cells[0].text
    named = [(region, " ".join(c.text.split())) for region, c in sorted(cells.items()) if c.text]
    return "\n".join(f"Region ID: {region}; Type: {text}" for region, text in named)


def read_answers(path: Path, curated: Iterable[Record], key: bytes = b"") -> Answers:
    """Return the answers in a sheet.

    Rows may be in any order and columns may be missing, except `Table.required`. An id is the code of a blank sheet, or
    a record id. A region without a number, or a question without regions, has the whole reply in its cell.

    Args:
        path: The file; see `Table.read`.
        curated: All records of the curated folder; only those of the sheet are kept.
        key: Key of its pseudonyms, empty without one; ids of an export of private sources are hashes with it.

    Raises:
        BadArgument: The file cannot be read, or is empty; an id or region is unknown, an image is not that of its id,
            or a question has two different answers. The message gives the lines.
    """
    found: dict[str, dict[int, Cell]] = {}
    records: dict[str, Record] = {}
    for line, row, record in _identified(path, curated, key):
        _check_image(path, line, row, record)
        region = _region(path, line, row, record)
        cells, new = found.setdefault(record.id, {}), Cell(from_csv(cell(row, "answer")).strip(), line)
        cells[region] = _one(path, record, cells.get(region), new)
        records[record.id] = record
    for id, cells in found.items():
        _check_whole(path, id, cells)
    answers = Answers(tuple(records[id] for id in sorted(records)), found)
    if not answers.replies():
        raise BadArgument("sheet", str(path), "at least one answer; all cells are empty", "fill in the column answer")
    return answers


def _identified(path: Path, curated: Iterable[Record], key: bytes) -> list[tuple[int, dict[str, str], Record]]:
    """Return line, cells and record of each row."""
    rows = TABLE.read(path)
    written = {name for _, row in rows for name in _names(row)}
    known = {name: record for record in curated for name in _names_of(record, key) if name in written}
    found = [(line, row, next((known[n] for n in _names(row) if n in known), None)) for line, row in rows]
    _refuse_unknown(path, [(line, cell(row, "id")) for line, row, record in found if record is None])
    return [(line, row, record) for line, row, record in found if record is not None]


def _names_of(record: Record, key: bytes) -> tuple[str, ...]:
    """Return by what a sheet may name a record: its id, its code on a reading sheet, its id in an export."""
    return record.id, code_of(record), exported_id(record.id), exported_id(record.id, key)


def _names(row: Mapping[str, str]) -> tuple[str, str]:
    """Return the id in a row, without quotation marks around it, and the same as a code, which is in small letters."""
    written = from_csv(cell(row, "id")).strip("\"'“”’ ")
    return written, written.casefold()


def _refuse_unknown(path: Path, unknown: Sequence[tuple[int, str]]) -> None:
    """Refuse ids that are not those of the curated folder, as after a change of cells or for another folder."""
    if unknown:
        where = lines_of(line for line, _ in unknown)
        expected = f"ids of the curated folder's records; {len(unknown)} are not ({path}, {where})"
        cure = f"name the curated folder of which the sheet was written, or restore these ids; {AGAIN}"
        raise BadArgument("id", unknown[0][1], expected, cure)


def _check_image(path: Path, line: int, row: Mapping[str, str], record: Record) -> None:
    """Refuse a row whose image is not that of its id, as after sorting some of the columns."""
    written = _OURS.findall(cell(row, "image").casefold())
    if written and written != [image_code(record, index) for index in range(len(record.image))]:
        expected = (
            f"the image of the question {cell(row, 'id')} ({path}:{line}); some columns may have been sorted alone"
        )
        raise BadArgument("image", cell(row, "image"), expected, "restore the rows, or delete the column image")


def _region(path: Path, line: int, row: Mapping[str, str], record: Record) -> int:
    """Return the region that a row is about, 0 for the whole reply."""
    written = from_csv(cell(row, "region")).removesuffix(".0")
    numbers = {str(region.id): region.id for region in record.regions}
    if written and written not in numbers:
        expected = f"{', '.join(numbers) or 'an empty cell'} ({path}:{line})"
        raise BadArgument("region", written, expected, "correct that line")
    return numbers.get(written, 0)


def _one(path: Path, record: Record, before: Cell | None, new: Cell) -> Cell:
    """Return the cell of a question that is there twice; an empty one gives way.

    Raises:
        BadArgument: Both have different answers.
    """
    if before is None or not before.text or not new.text:
        return new if before is None or new.text else before
    if before.text.casefold() != new.text.casefold():
        where = f"{path}:{before.line} has {before.text!r}, {path}:{new.line} {new.text!r}"
        regions = ", and a row for each region has its number in the column region" if record.regions else ""
        raise BadArgument("answer", code_of(record), f"one answer per question ({where}){regions}", "correct one line")
    return before


def _check_whole(path: Path, id: str, cells: Mapping[int, Cell]) -> None:
    """Refuse a question with a whole reply and with answers per region."""
    if 0 in cells and len(cells) > 1:
        where = lines_of(c.line for c in cells.values())
        expected = f"a row for each region, or one row with the whole reply, of {id} ({path}, {where})"
        raise BadArgument("region", "", expected, "write the region's number in each of these rows")


def write_run(run: Run, answers: Answers, reader: str, curated: Path, tasks: Iterable[Configured]) -> tuple[int, int]:
    """Write the answers of a person as the replies of a run, or add them to those of an earlier sheet.

    A changed answer replaces the earlier one, whose line stays in the reply file. An earlier answer stays where the
    sheet has an empty cell, or no row.

    Args:
        run: The run; new, or of the same person.
        answers: What a sheet contains.
        reader: Name of the person.
        curated: The curated folder.
        tasks: The tasks with their arguments, which parse and score.

    Returns:
        Number of answers that are new or changed, and number of earlier ones that stay although the sheet lacks them.

    Raises:
        BadArgument: The name is empty or too long.
        RunConflict: The folder belongs to another person, or to a model.
        FolderBusy: Another process writes to it.
    """
    if not 0 < len(reader.strip()) <= 100 or not reader.isprintable():
        raise BadArgument("--reader", reader, "a name of 1 to 100 printable characters", "e.g. `--reader reader_1`")
    replies = answers.replies()
    with locked(run.folder, "--run"):
        _settle(run, reader, curated, tasks)
        clear_parts(run.records)
        records = {r.id: r for r in (read_run_records(run.records) if run.records.exists() else [])}
        hashes = read_run_column(run.records, "asked") if run.records.exists() else {}
        records |= {r.id: r for r in answers.records}
        hashes |= {r.id: asked(r, [reader], "", {READER: reader}) for r in answers.records}
        write_run_records(run.records, [records[id] for id in sorted(records)], hashes)
        kept = {id: reply.reply for (id, _, hash), reply in read_replies(run.replies).items() if hash == hashes.get(id)}
        new = {id: text for id, text in replies.items() if kept.get(id) != text}
        file = ReplyFile(run.replies_of(0))
        file.append(Reply(id, text, model=reader, asked=hashes[id]) for id, text in new.items())
        file.close()
    return len(new), len(kept.keys() - replies.keys())


def _settle(run: Run, reader: str, curated: Path, tasks: Iterable[Configured]) -> None:
    """Write ``config.yaml``, or compare it with that of an earlier sheet.

    Raises:
        RunConflict: The folder belongs to another person, or to a model.
    """
    before = run.read_config()
    if run.has_begun() and before.get(READER) != reader:
        raise RunConflict(run.folder, [f"{READER}: {before.get(READER) or 'none, a model'} -> {reader}"])
    asking: list[dict[str, Any]] = [{"class_path": path, "init_args": dict(values)} for path, values in tasks]
    run.write_config({**before, READER: reader, "data": {"curated": str(curated), "tasks": asking}})
