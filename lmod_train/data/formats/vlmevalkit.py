"""Tab-separated tables as VLMEvalKit's custom data sets read them: one a task, images inside in base64.

The reader is ``vlmeval/dataset`` (``build_dataset``, ``ImageBaseDataset``): put a table into the folder ``LMUData`` and
name it with ``--data``. Columns A and B make it a multiple-choice data set, which asks the question, then lists the
options in its own words; without them it is free text and the question is asked as it is. In the column ``image`` up to
64 characters are not an image but the index of the row that holds it. Several images are a list in Python's notation.
"""

from __future__ import annotations

import base64
import csv
from collections import defaultdict
from contextlib import ExitStack
from string import ascii_uppercase
from typing import Any

from lmod_train.core.artifacts.records import rows_of
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Record
from lmod_train.data.formats.chosen_records import Selection
from lmod_train.data.formats.folder import ExportFolder, exported_id
from lmod_train.data.formats.true_answer import Truths
from lmod_train.data.formats.turns import one_question

EMBEDS = True
"""Images lie inside the files."""

MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA")
) | {"NULL", "NaN", "None", "n/a", "nan", "null"}
"""Words that pandas reads as a missing value; the reader would lose an option of that name."""


def write(selection: Selection, folder: ExportFolder) -> None:
    """Write ``lmod_<task>.tsv`` for every task."""
    options = _most_choices(selection)
    truths = Truths(selection.trust)
    with ExitStack() as stack:
        tables = {t: _Table(stack, folder, t, options[t]) for t in selection.tasks}
        for record in selection:
            tables[record.task].append(record, truths.of(record))
    folder.describe("Tables for VLMEvalKit", _how(selection, folder))


def _most_choices(selection: Selection) -> dict[str, int]:
    """Return for each task how many columns its options need; none where a record is about regions or has too many."""
    most: defaultdict[str, int] = defaultdict(int)
    free = set()
    for row in rows_of(selection.curated / "records", ["task", "choices", "regions"]):
        most[row["task"]] = max(most[row["task"]], len(row["choices"]))
        if row["regions"] or not 2 <= len(row["choices"]) <= len(ascii_uppercase):
            free.add(row["task"])
    return {task: 0 if task in free else n for task, n in most.items()}


class _Table:
    """One task's table, written row by row."""

    def __init__(self, stack: ExitStack, folder: ExportFolder, task: str, options: int) -> None:
        self._folder, self._letters = folder, ascii_uppercase[:options]
        image = "image_path" if folder.images == "none" else "image"
        columns = ("index", image, "question", *self._letters, "answer", "category", "split", "id", "source", "licence")
        path = folder.path / f"lmod_{task}.tsv"
        file = stack.enter_context(path.open("w", newline="", encoding="utf-8"))
        self._rows = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n")
        self._rows.writeheader()
        self._count = 0
        self._holds: dict[tuple[str, ...], int] = {}

    def append(self, record: Record, truth: str) -> None:
        """Write a record, or list why it cannot be one."""
        question = one_question(record)
        if not isinstance(question, str):
            self._folder.leave_out(record, *question)
        elif not record.image:
            self._folder.leave_out(record, "no_image", "the reader passes over rows without an image")
        elif self._letters and (truth not in record.choices or set(record.choices) & MISSING):
            self._folder.leave_out(record, "option_unreadable", f"truth {truth!r} of choices {record.choices}")
        else:
            self._rows.writerow(self._row(record, question, truth))
            self._count += 1
            self._folder.written += 1

    def _row(self, record: Record, question: str, truth: str) -> dict[str, Any]:
        options = dict(zip(self._letters, record.choices, strict=False))
        letter = {choice: letter for letter, choice in options.items()}
        row = {
            "index": self._count,
            "question": question,
            **options,
            "answer": letter[truth] if options else record.answer,
            "category": record.modality or record.source,
            "split": record.split,
            "id": exported_id(record.id, self._folder.key),
            "source": record.source,
            "licence": record.licence,
        }
        if self._folder.images == "none":
            return row | {"image_path": record.image[0] if len(record.image) == 1 else str(list(record.image))}
        return row | {"image": self._image(record)}

    def _image(self, record: Record) -> str:
        """Return the image in base64 where it is shown first, the index of that row where it is shown again."""
        if record.image in self._holds:
            return str(self._holds[record.image])
        self._holds[record.image] = self._count
        coded = [base64.b64encode(data).decode("ascii") for _, data in self._folder.pixels(record)]
        return coded[0] if len(coded) == 1 else str(coded)


def _how(selection: Selection, folder: ExportFolder) -> str:
    names = " ".join(f"lmod_{task}" for task in selection.tasks)
    text = str(package_data(__file__, "texts.yaml")["vlmevalkit"]).format(names=names)
    curated = " Images are paths relative to the curated folder: make them absolute first."
    return text + (curated if folder.images == "none" else "")
