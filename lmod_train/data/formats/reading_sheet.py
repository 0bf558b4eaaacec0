"""A blank sheet of records for a person to answer: a CSV table, the images under neutral names, and a page of both."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment

from lmod_train.core.artifacts.records import read_ids
from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder
from lmod_train.core.lock import is_empty, new_folder
from lmod_train.core.package_data import package_data
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record
from lmod_train.data.formats.chosen_records import Licence, licence_table, select
from lmod_train.data.formats.spreadsheet import check_unfilled, write_table
from lmod_train.tasks.asked import asked
from lmod_train.tasks.filled import unfilled
from lmod_train.tasks.prompt import question_text

COLUMNS = ("id", "image", "region", "question", "choices", "answer", "comment")
OPTION = "--blank"
PAGE = Path(__file__).with_name("sheet.html")

LETTERS = "bcdfghjklmnpqrstvwxz"
"""Of codes: without digits and vowels, as spreadsheets turn ``1e5`` into a number and ``dec-1`` into a date."""

NOTICE: str = package_data(__file__, "texts.yaml")["notice_of_sheet"]


def letters(text: str, count: int) -> str:
    """Return a hash of a text in `count` letters."""
    number, found = int(hashlib.sha256(text.encode()).hexdigest(), 16), ""
    while len(found) < count:
        number, digit = divmod(number, len(LETTERS))
        found += LETTERS[digit]
    return found


def code_of(record: Record) -> str:
    """Return what a sheet calls a record, e.g. ``bcdf-ghjk-lmnp``.

    Record ids hold raw names, which often state the diagnosis. The code is a hash of the id and of all that is asked
    (words, images, choices), so that a sheet of another curated folder, or of a changed question, is recognised.
    """
    code = letters(f"{record.id}\n{asked(record, (), '', {})}", 12)
    return "-".join((code[:4], code[4:8], code[8:]))


def image_code(record: Record, index: int) -> str:
    """Return six letters that identify one image of a record, the end of its name in a sheet."""
    hashes = record.image_sha256[index : index + 1]
    return letters("\n".join((record.image[index], *hashes)), 6)


@dataclass(frozen=True)
class ReadingSheet:
    """The records of a sheet in their order, and what was left out.

    Attributes:
        curated: The curated folder.
        records: In the order of the sheet: images by a seeded shuffle, questions about one image together.
        licences: Of every source that has an image or a record here.
        left_out: Reason -> number of chosen records that are not on the sheet.
    """

    curated: Path
    records: tuple[Record, ...]
    licences: tuple[Licence, ...]
    left_out: Mapping[str, int]

    @property
    def stays(self) -> bool:
        """Whether the images must not be passed on."""
        return not all(one.redistributable for one in self.licences)

    def names(self) -> dict[str, str]:
        """Return path of each image in the curated folder -> its name: a number in the sheet's order, and a code."""
        found: dict[str, str] = {}
        digits = len(str(sum(len(r.image) for r in self.records)))
        for record in self.records:
            for index, image in enumerate(record.image):
                found.setdefault(image, f"{len(found) + 1:0{digits}}-{image_code(record, index)}.jpg")
        return found

    def several_tasks(self) -> int:
        """Return the number of images that questions of several tasks are about."""
        pairs = {(r.image_plain, r.task) for r in self.records if r.image_plain}
        return sum(n > 1 for n in Counter(image for image, _ in pairs).values())


def sheet_of(
    curated: Path,
    *,
    tasks: Sequence[str] = (),
    split: str = "test",
    subset: Path | None = None,
    limit: int = 0,
    seed: int = 0,
) -> ReadingSheet:
    """Choose the records of a sheet and shuffle their images.

    Args:
        curated: Folder that `curate` or `import` wrote.
        tasks: Names; empty for every task.
        split: train, val, test or all.
        subset: File of record ids to restrict it to; None for all.
        limit: Maximum number of records of each task, the first in id order; 0 for all.
        seed: Seed of the shuffle.

    Raises:
        ArtifactError: The folder is not curated, or a record file is damaged.
        BadArgument: A name is unknown there, the subset is of another folder, or nothing is left.
    """
    selection = select(curated, tasks, split, for_own_use=True)
    ids = read_ids(subset, "--subset") if subset else None
    everything = sorted(selection, key=lambda r: r.id)
    chosen = [r for r in everything if ids is None or r.id in ids]
    if ids is not None and not chosen:
        expected = f"ids of records in {curated}, of the split {split} and the chosen tasks"
        raise BadArgument("--subset", str(subset), expected, "draw it from this folder, or add `--split all`")
    if limit:
        by_task = {task: [r for r in chosen if r.task == task][:limit] for task in selection.tasks}
        chosen = [r for several in by_task.values() for r in several]
    why = {r.id: reason for r in chosen if (reason := _unfit(r))}
    left_out = Counter(why.values())
    if ids is not None and (others := len(ids - {r.id for r in everything})):
        left_out["ids of the subset that are of other tasks, splits or folders"] = others
    asked = [r for r in chosen if r.id not in why]
    if not asked:
        expected = f"tasks whose questions can be answered on their own ({', '.join(sorted({*why.values()}))})"
        raise BadArgument("--tasks", ",".join(tasks), expected, "name another task")
    asked.sort(key=lambda r: (shuffle_key(seed, "sheet", *(r.image_plain or (r.id,))), r.task, r.id))
    return ReadingSheet(curated, tuple(asked), selection.licences, left_out)


def _unfit(record: Record) -> str:
    """Return why a person cannot be asked a record on a sheet; empty if it can."""
    if any(m.role == "assistant" for m in record.messages):
        return "later turns of conversations, which contain the answers to earlier ones"
    return "questions that need the answer to an earlier one" if unfilled(record) else ""


def write_blank(sheet: ReadingSheet, path: Path) -> Path:
    """Write the table, and beside it a folder of the same name with the images and a page; return the folder.

    The table is written last: where it exists, everything does.

    Raises:
        BadArgument: The table exists with other content, such as answers, or the folder has files of another sheet.
        ArtifactError: An image is missing or unreadable.
    """
    folder, names = path.with_suffix(""), sheet.names()
    if folder == path:
        raise BadArgument(OPTION, str(path), "the name of a CSV file", f"e.g. `{OPTION} {path.name or 'SHEET'}.csv`")
    content = csv_bytes(COLUMNS, rows_of(sheet.records, names), end="\r\n")
    check_unfilled(path, content, OPTION)
    complete = path.exists() and folder.is_dir() and not is_empty(folder)
    if not complete:
        if folder.exists() and not (folder.is_dir() and is_empty(folder)):
            cure = "name another file, or delete this folder if it is of an interrupted command"
            raise BadArgument(OPTION, str(folder), "a new or empty folder for the images beside the table", cure)
        with new_folder(folder, OPTION) as beside:
            _write_images(sheet, names, beside)
    write_table(path, content, OPTION)
    return folder


def _write_images(sheet: ReadingSheet, names: Mapping[str, str], folder: Path) -> None:
    make_folder(folder / "images")
    images = Curated(sheet.curated)
    for image, name in names.items():
        (folder / "images" / name).write_bytes(images.bytes(image))
    if sheet.stays:
        (folder / "NOTICE").write_text(NOTICE + licence_table(sheet.licences) + "\n", encoding="utf-8")
    asked = [
        {
            "id": code_of(r),
            "images": [names[image] for image in r.image],
            "question": question_text(r.messages),
            "choices": r.choices,
            "regions": sorted(region.id for region in r.regions),
        }
        for r in sheet.records
    ]
    (folder / "index.html").write_text(page(asked, sheet.stays), encoding="utf-8")


def rows_of(records: Sequence[Record], names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each row: one per record, or one per numbered region."""
    for record in records:
        shown = "; ".join(names[image] for image in record.image)
        question = " ".join(question_text(record.messages).split())
        for number in [str(id) for id in sorted(r.id for r in record.regions)] or [""]:
            yield code_of(record), shown, number, question, " | ".join(record.choices), "", ""


def page(questions: Sequence[Mapping[str, Any]], stays: bool) -> str:
    """Return the page as HTML without scripts; questions about the same images in a row stand together.

    Args:
        questions: id, images, question, choices and regions of each, in the order of the table.
        stays: Whether the images must not be passed on, which the page then states.
    """
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    groups = [(images, list(several)) for images, several in groupby(questions, key=itemgetter("images"))]
    template = environment.from_string(PAGE.read_text(encoding="utf-8"))
    return template.render(groups=groups, count=len(questions), stays=stays)
