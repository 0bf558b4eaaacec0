"""A user's own table as a source of the one curation, one sample an image, and the sample of each row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Cut, Dropped, ImageFile, Outline, Patient, Question, Sample, SampleStream
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.data.cells.diagnoses import condition_of, findings_of
from lmod_train.data.cells.image_names import Folder, listed_in, paged
from lmod_train.data.cells.options import answer_in, letters_in
from lmod_train.data.cells.ordered import visits_of
from lmod_train.data.cells.values import is_error, is_missing, same_person
from lmod_train.data.cells.vocabulary import plain
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.grid import AGAIN, Grid, Row
from lmod_train.data.sources.objects import hash_of
from lmod_train.data.sources.picture import size_of
from lmod_train.extensions.table.law import line_key, unlisted
from lmod_train.extensions.table.meanings import (
    FACTS,
    SCALE_NAMES,
    Column,
    Entry,
    Eye,
    Place,
    as_one_person,
    in_a_row,
    merged_of,
    of_patients,
)
from lmod_train.extensions.table.places import boxes_in, is_filled
from lmod_train.extensions.table.plan import Plan, answering, compared, is_choice, own_word
from lmod_train.tasks.base import Task
from lmod_train.tasks.change import changes
from lmod_train.tasks.prompt import prompt


class OwnTable(Source):
    """The images of a user's table, as `lmod_train.extensions.table.columns` understands it.

    A row is one image, or one of each eye. Rows that name the same image are one sample: values in which they differ
    are left out and listed. The group is the patient, whose name or number is in no record, only a hash of it.

    Args:
        plan: How the table is read.
        grid: The table.
        columns: What its columns mean, nothing of it in doubt.
        folder: The images.
        tasks: That ask about it; an image that none of them asks about is listed.
        rows: Place of the image of each row, by the row's line, if the table holds the images; else why there is none.

    Attributes:
        entries: Line and eye -> image of a row, once `samples` were read.
        shown: Key -> sample, once they were read.
        asked_columns: Name of a column -> questions of the table's own that it answers.
        is_asking: Whether each row is a question.
    """

    name = "table"
    modality = ""
    licence = "not stated"
    redistributable = False
    reference = ""
    mend = "mend the cells that are named, or say what a column means: `--column MEANING=NAME`"

    def __init__(
        self,
        plan: Plan,
        grid: Grid,
        columns: Sequence[Column],
        folder: Folder,
        tasks: Sequence[Task],
        rows: Mapping[int, Place | str] | None = None,
    ) -> None:
        super().__init__(folder.root)
        self.name, self.modality, self.licence = plan.name, plan.modality, plan.licence
        self.redistributable = plan.redistributable
        self.states_patients = any(c.meaning == "patient" for c in columns)
        self._plan, self.grid, self.columns, self._folder = plan, grid, columns, folder
        self.tasks, self._rows = tasks, rows
        self._regions, self._size = boxes_in(columns), lru_cache(maxsize=1)(size_of)
        names = [c.name for c in columns if c.meaning == "patient"]
        self._patients = {name: f"{name}: " if n else "patient " for n, name in enumerate(names)}
        self._at = {name: place for place, name in enumerate(grid.header)}
        self.is_asking = any(c.meaning == "question" for c in columns)
        self.entries: dict[tuple[int, str], Entry] = {}
        self.shown: dict[str, Sample] = {}
        self._by_place: defaultdict[str, list[Entry]] = defaultdict(list)
        self.asked_columns: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)  # of a column, by its name
        for question in plan.questions:
            for column in answering(question, columns):
                self.asked_columns[column.name].append(question)

    @property
    def is_phantom(self) -> bool:
        """Whether every image is a phantom: a folder of photographs may have a folder of phantoms below it."""
        drawn = {folder: _is_drawn(folder, self.root) for folder in {file.parent for file in self._folder.files}}
        if drawn and self.root.parent == self.grid.path.parent and (self.root.parent / NOTE).exists():
            return True  # the table was drawn with them
        return bool(drawn) and all(drawn.values())

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return False: a table is named by the user, and not searched for."""
        return False

    def verify(self) -> None:
        """Do nothing: the table was read before."""

    def check_links(self) -> None:
        """Check the folder of the images; where the table holds them, none of its folder is read."""
        if self._rows is None:
            super().check_links()

    def inputs(self) -> Mapping[str, Any]:
        """Return name and SHA-256 of the table and how it was read, so that another reading is told from this one."""
        words = {c.name: _few(c.words) for c in self.columns if c.words and _is_finite(c.meaning)}
        return {
            "table": self.grid.path.name,
            "sha256": hash_of(self.grid.path),
            "columns": {c.name: c.meaning for c in self.columns},
            "words": words,
            "modality": self.modality,
            "licence": self.licence,
            "redistributable": self.redistributable,
        }

    def samples(self) -> SampleStream:
        """Yield one sample an image in the order of the rows, and a line for every row, cell and file that is lost."""
        items = list(self._read())
        self.shown = {item.key: item for item in items if isinstance(item, Sample)}
        for item in items:
            yield from paged(item, self._plan.page, self._folder.held)
        yield from unlisted(self, [item for item in items if isinstance(item, Dropped)])

    def _read(self) -> Iterator[Sample | Dropped]:
        for line, why in self.grid.lost:
            yield self._line(line, why if why == AGAIN else "unreadable row", why)
        for one in self.grid.apart:
            yield self._line(one.line, "contradictory values", f"{one.column}: {one.cell[:80]!r} {one.why}", "part")
        entries: list[Entry] = []
        copies = copies_in(self.grid, self.columns) if self.is_asking else {}
        for row in self.grid.rows:
            if row.line in copies:
                yield self._line(row.line, "copy of a question", copies[row.line])
                continue
            for item in self._of_row(row):
                if isinstance(item, Dropped):
                    yield item
                else:
                    entries.append(item)
        self.entries = {(entry.row.line, entry.eye): entry for entry in entries}
        yield from self._fill(entries)
        as_one_person(entries)
        if self.is_asking:
            yield from (self._asking(entry) for entry in entries)
        else:
            shown = list(self._pictures(entries))
            yield from shown
            if self._plan.visits:
                grades = compared(self.columns, self._plan.questions)
                yield from changes((one for one in shown if isinstance(one, Sample)), grades)
        used = {entry.place.path for entry in entries}
        for file in self._folder.files if self._rows is None else ():
            if file not in used:
                yield self._drop(file, "no row in the table")

    def _line(
        self, line: int, reason: str, detail: str, extent: Literal["gone", "part"] = "gone", eye: str = ""
    ) -> Dropped:
        return Dropped(self.name, line_key(line, eye), self.grid.path.name, "read", reason, detail, extent)

    def _of_row(self, row: Row) -> Iterator[Entry | Dropped]:
        images = [c for c in self.columns if c.meaning == "image"]
        for column in images:
            eye: Eye = "left" if column.eye == "left" else "right" if column.eye == "right" else ""
            place = self._place(row, column)
            if isinstance(place, str):
                is_named = self._rows is not None or not is_missing(row.cells[self._at[column.name]])
                yield self._line(row.line, "no image" if is_named else "no image named", place, eye=eye)
                continue
            entry = Entry(row, eye, place)
            yield from self._cells(entry, len(images) > 1)
            yield from self._boxes(entry)
            yield entry

    def _place(self, row: Row, column: Column) -> Place | str:
        """Return where the image of a row is, or why it has none."""
        cell = row.cells[self._at[column.name]]
        if self._rows is not None:
            return self._rows[row.line]
        if is_missing(cell):
            return f"{column.name}: {cell!r} is an error of a program" if is_error(cell) else f"{column.name} is empty"
        files, _ = self._folder.find(cell, numbers=column.stated)
        if not files:
            if several := listed_in(cell):
                return f"{column.name}: {cell[:80]!r} is a list of {several} images, expected one"
            return f"{column.name}: no file {cell!r} below {self._folder.root}"
        if len(files) > 1:
            named = ", ".join(file.relative_to(self._folder.root).as_posix() for file in files[:3])
            return f"{column.name}: {cell!r} may be any of {len(files)} files ({named}); write its folder in the cell"
        return Place(files[0], self._key(files[0]))

    def _key(self, file: Path) -> str:
        """Return the key of a file: its path below the folder without ending, with it where another has the same."""
        path = file.relative_to(self._folder.root)
        twins = self._folder.find(path.with_suffix("").as_posix())[0]
        return (path if len(twins) > 1 else path.with_suffix("")).as_posix().replace("\\", "_")

    def _cells(self, entry: Entry, both: bool) -> Iterator[Dropped]:
        """Take from the cells of a row what they state of an image, and yield a line for each that has no value."""
        for column in self.columns:
            cell = entry.row.cells[self._at[column.name]]
            if column.meaning == "date":
                entry.date = entry.date or ("" if is_missing(cell) else cell)
            if column.eye and column.eye != (entry.eye or self.side(entry.row)):
                continue
            is_blank = is_missing(cell) and cell not in column.words and cell not in column.bad
            if not column.is_used or column.meaning == "image" or is_blank:
                continue
            if cell in column.bad:
                detail = f"{column.name}: {cell[:80]!r}: {column.bad[cell]}"
                yield self._line(entry.row.line, "unreadable value", detail, "part", entry.eye)
            elif column.meaning == "patient":
                entry.people.append(f"{self._patients[column.name]}{same_person(column.words.get(cell, cell))}")
            elif not (both and not column.eye and column.meaning not in FACTS):  # one of both eyes is of neither
                entry.stated[column.name] = (column, cell, column.words.get(cell, cell))
        if self._patients and not entry.people:
            detail = "the patient is not stated; the image counts as one of its own"
            yield self._line(entry.row.line, "no patient", detail, "part", entry.eye)
        if both and not entry.people:
            entry.people.append(f"row {entry.row.line}")

    def _fill(self, entries: Sequence[Entry]) -> Iterator[Dropped]:
        """Give images the labels and facts that are stated of them, and yield a line for each value that is lost."""
        apart = of_patients([(entry.people, entry.date, entry.stated) for entry in entries])
        for entry, others in zip(entries, apart, strict=True):
            for name, other in (in_a_row(entry.stated) | others).items():
                detail = f"{name}: {entry.stated.pop(name)[1][:80]!r} is contradicted by {other}, so neither is used"
                yield self._line(entry.row.line, "contradictory values", detail, "part", entry.eye)
            facts = {c.meaning: word for c, _, word in reversed(entry.stated.values()) if c.meaning in FACTS}
            for column, cell, word in entry.stated.values():
                labels = self._labels(column, cell, word)
                fact = {column.meaning: word} if column.meaning in FACTS else {}
                entry.given[column.name] = entry.given.get(column.name, {}) | fact | labels
                # one kind of a disease is enough for it
                entry.labels |= {name: one for name, one in labels.items() if entry.labels.get(name) != "yes"}
                for question in self.asked_columns[column.name]:
                    if not is_choice(question, entry.labels.get(f"table/{question['name']}")):
                        detail = f"{column.name}: {cell[:80]!r} is no answer to the question {question['name']}"
                        yield self._line(entry.row.line, "unreadable value", detail, "part", entry.eye)
            entry.split = facts.get("split", "")  # type: ignore[assignment]
            entry.modality = facts.get("modality", self.modality)
            age, side = facts.get("age"), entry.eye or facts.get("laterality")
            named = (facts.get("sex"), side, facts.get("camera"), facts.get("quality"))
            visit = self._visits.get(entry.date)
            if entry.date and visit is None and self._plan.visits:
                detail = "the cell is neither a date nor the number of a visit"  # which leaves the table for nobody
                yield self._line(entry.row.line, "unreadable value", detail, "part", entry.eye)
            entry.patient = Patient(None if age is None else float(age), *named, visit)

    @cached_property
    def _visits(self) -> Mapping[str, float]:
        """Cell of a date -> time of the visit; empty unless visits are asked about.

        Raises:
            BadArgument: Their order is not certain.
        """
        if not self._plan.visits:
            return {}
        dates = [self.grid.column(c.name) for c in self.columns if c.meaning == "date"]
        try:
            return visits_of(cell for cells in dates for cell in cells if not is_missing(cell))
        except ValueError as error:
            cure = "write the dates as YYYY-MM-DD, or the visits as numbers; or leave `--visits` out"
            raise BadArgument("--visits", True, f"visits whose order is certain ({error})", cure) from error

    def _boxes(self, entry: Entry) -> Iterator[Dropped]:
        """Add the boxes of its row to an entry, and yield a line for each that cannot be used."""
        row = dict(zip(self.grid.header, entry.row.cells, strict=True))
        named = next((c for c in self.columns if c.meaning == "structure"), None)
        for boxes in self._regions:
            if not is_filled(boxes, row):
                continue
            entry.boxed = True
            if not boxes.structure and named and row[named.name] in named.bad:
                continue  # listed as a cell
            structure = boxes.structure or (named.words.get(row[named.name], "") if named else "")
            size = None if entry.place.cut.column else self._size(entry.place.path)
            outline = boxes.outline(row, structure, size)
            if isinstance(outline, Outline):
                entry.outlines += (outline,)
                entry.given |= {named.name: {"structure": structure}} if named and not boxes.structure else {}
            else:
                yield self._line(entry.row.line, "unreadable box", outline, "part")

    def side(self, row: Row) -> str:
        """Return the side of the eye that a row states; empty without one."""
        sides = (c.words.get(row.cells[self._at[c.name]], "") for c in self.columns if c.meaning == "laterality")
        return next(filter(None, sides), "")

    def _labels(self, column: Column, cell: str, word: str) -> dict[str, str]:
        """Return the labels that a cell gives: of the vocabulary, and of the table's own questions."""
        found: dict[str, str] = {}
        if column.meaning == "diagnosis":
            labels = findings_of(word).labels
            found = {"diagnosis": labels["diagnosis"]} if "diagnosis" in labels else {}
        elif condition_of(column.meaning) or column.meaning in SCALE_NAMES:
            found = {column.meaning: word}
        for question in self.asked_columns[column.name]:
            if own := own_word(column, cell, question["kind"]):
                found[f"table/{question['name']}"] = own
        return found

    def _pictures(self, entries: Sequence[Entry]) -> Iterator[Sample | Dropped]:
        """Yield a sample for each image, of the first row that names it."""
        self._by_place.clear()
        for entry in entries:
            self._by_place[entry.place.key].append(entry)
        for entry in entries:
            same = self._by_place[entry.place.key]
            if entry is not same[0]:
                if entry.boxed:
                    continue
                detail = f"line {same[0].row.line} names the same image, {entry.place.key}"
                yield self._line(entry.row.line, "same image twice", detail, eye=entry.eye)
                continue
            merged, lost = merged_of(same)
            for name in lost:
                lines = ", ".join(str(one.row.line) for one in same)
                detail = f"lines {lines} differ in {name.removeprefix('table/')}, which has no value then"
                yield self._line(entry.row.line, "contradictory rows", detail, "part", entry.eye)
            sample = self._sample(merged)
            if not sample.outlines and next((q for task in self.tasks for q in task.ask(sample)), None) is None:
                yield self._line(entry.row.line, "no question", "none of its values is asked about", eye=entry.eye)
            else:
                yield sample

    def first_of(self, entry: Entry) -> tuple[int, str]:
        """Return line and eye of the first row that names the image of an entry, which lists what they contradict."""
        first = self._by_place[entry.place.key][0]
        return first.row.line, first.eye

    def _sample(self, entry: Entry) -> Sample:
        return Sample(
            source=self.name,
            key=entry.place.key,
            modality=entry.modality,
            image=entry.place.path,
            group=self._group_of(entry.person) if entry.person else entry.place.key,
            licence=self.licence,
            labels=entry.labels,
            outlines=entry.outlines,
            cut=entry.place.cut,
            patient=entry.patient,
            split=entry.split,
        )

    def _asking(self, entry: Entry) -> Sample | Dropped:
        """Return a row that is a question about its image as a sample."""
        row = dict(zip(self.grid.header, entry.row.cells, strict=True))
        asked = question_in(row, self.columns, self._plan.language)
        if isinstance(asked, str):
            return self._line(entry.row.line, "no question", asked)
        sample = self._sample(
            replace(
                entry,
                place=replace(entry.place, key=(f"line-{entry.row.line}")),
                person=entry.person or entry.place.key,
            )
        )
        image = ImageFile(entry.place.path, entry.place.key, entry.modality, entry.place.cut)
        return replace(sample, image=None, cut=Cut(), shared_images=(image,), asked=(asked,))


def _is_finite(meaning: str) -> bool:
    """Return whether the words of a meaning are of the vocabulary, and so no one's own."""
    known = meaning in SCALE_NAMES or condition_of(meaning) is not None
    return known or meaning in ("laterality", "sex", "split", "grade")


def _few(words: Mapping[str, str]) -> Mapping[str, str]:
    """Return the words of cells, and of many their hash."""
    if len(words) <= _MOST_WORDS:
        return dict(words)
    return {"sha256": sha256(repr(sorted(words.items())).encode()).hexdigest()}


_MOST_WORDS = 40
"""Cells above which the manifest does not list their words."""


def _is_drawn(folder: Path, root: Path) -> bool:
    """Return whether phantoms were drawn into a folder or one above it, up to a root."""
    above = [folder, *folder.parents]
    return any((one / NOTE).exists() for one in above if one.is_relative_to(root))


# Rows that are questions about an image, as tables of VLMEvalKit hold them: answers, hints, categories, copies.
COPIES = 1_000_000
"""Numbers of a row and of its copies with the options in another order differ by multiples of it, as in MMBench."""


def question_in(row: Mapping[str, str], columns: Sequence[Column], language: str) -> Question | str:
    """Return the question of a row, or why it has none.

    Args:
        row: Name of a column -> cell.
        columns: What the columns mean.
        language: Of the questions.
    """
    letters = letters_in([*row])
    named = {c.meaning: c.words.get(row[c.name], row[c.name]) for c in columns if c.meaning in ("question", "answer")}
    texts = {letters.get(c.name, c.name): " ".join(row[c.name].split()) for c in columns if c.meaning == "option"}
    options = {letter: texts[letter] for letter in sorted(texts) if texts[letter]}
    answer, problem = answer_in(named.get("answer", ""), options)
    if not named.get("question"):
        problem = "the question is empty"
    if problem:
        return problem
    hints = [row[c.name] for c in columns if c.meaning == "hint" and not is_missing(row[c.name])]
    words = "\n".join([*hints, named["question"].removeprefix("<image>").strip()])  # the image stands before the words
    tags = {
        re.sub(r"\W+", "_", c.name.casefold()).strip("_"): row[c.name]
        for c in columns
        if c.meaning == "category" and not is_missing(row[c.name])
    }
    task = "question" if options else "open_question"
    return Question(task, prompt(words), tuple(options.values()), answer, language, tags=tags)


def copies_in(grid: Grid, columns: Sequence[Column]) -> dict[int, str]:
    """Return line -> reason of the rows that repeat another with its options in another order."""
    index = next((name for name in grid.header if plain(name) == "index"), None)
    if index is None:
        return {}
    at = grid.header.index(index)
    asked = [grid.header.index(c.name) for c in columns if c.meaning == "question"]
    listed = [grid.header.index(c.name) for c in columns if c.meaning == "option"]
    first: dict[tuple[int, str, tuple[str, ...]], Row] = {}
    copies: dict[int, str] = {}
    for row in sorted(grid.rows, key=lambda row: _number(row.cells[at])):
        number = _number(row.cells[at])
        words = "\n".join(row.cells[place] for place in asked)
        key = (number % COPIES, words, tuple(sorted(row.cells[place] for place in listed)))
        known = first.setdefault(key, row)
        if known is not row and number >= COPIES:
            copies[row.line] = f"line {known.line} asks the same with its options in another order"
    return copies


def _number(cell: str) -> int:
    return int(cell) if re.fullmatch(r"[0-9]{1,18}", cell) else -1
