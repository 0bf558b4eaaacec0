"""OphthalWeChat: questions in Chinese and English about images of WeChat posts, and their counts beside the printed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.package_data import package_data, package_table
from lmod_train.core.types import Dropped, Extent, Sample, SampleStream
from lmod_train.core.vocabulary.modalities import in_order as in_order_modalities
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below
from lmod_train.data.sources.row_ids import BadRow
from lmod_train.data.sources.sheets import UnreadableSheet
from lmod_train.data.sources.spelling import plain_name
from lmod_train.extensions.ophthalwechat.pairs import (
    KINDS_OF_FILE,
    Picture,
    Pictures,
    Placed,
    Problem,
    file_of,
    files_by_name,
    image_id,
    in_order,
    questions_of,
)
from lmod_train.extensions.ophthalwechat.questions import NoTable, Row, Table, read_question, tables_of
from lmod_train.extensions.ophthalwechat.words import words

_PAPERS = {"readme.md", "readme.txt", "license", "license.md", "license.txt"}

_TREE = """\
  <root>/OphthalWeChat_QA.xlsx                   (a row a question: question, answer, type, language, image id)
  <root>/OphthalWeChat_image_information.xlsx    (a row an image: image id, URL, modality, subspecialty)
  <root>/images/12.jpg                           (any folder; the name is the image id, or that of a column `file`)"""

_NEEDED: dict[str, str] = package_data(__file__, "words.yaml")["source"]["needed"]
"""Column -> what is lost without it."""

_WANTED = {"questions": ("type", "image", "pair"), "images": ("url", "modality", "subspecialty", "article")}
"""Kind of table -> columns that are listed where they are missing."""

_LACKING = ("type", "image")
"""Columns without which no question of a table can be read."""


_NO_IMAGE, _NO_ROW = "no such image", "no row"


@dataclass(slots=True)
class _Found:
    """What was met while reading.

    Attributes:
        pictures: Images of the workbook of images, and those that only questions name.
        asked: Id of an image -> its questions.
        used: Image files that samples show.
        files: Name -> image files.
    """

    pictures: Pictures = field(default_factory=Pictures)
    asked: defaultdict[str, list[Placed]] = field(default_factory=lambda: defaultdict(list))
    used: set[Path] = field(default_factory=set)
    files: Mapping[str, list[Path]] = field(default_factory=dict)


class OphthalWeChat(Source):
    """Questions of three kinds in Chinese and English about images of WeChat posts; keys are ids of images.

    The deposit has two workbooks and no images, but their addresses: the user has downloaded the images into the same
    folder, each named by its image id or by a column `file`. Nothing is downloaded here. An image without a file is
    listed with its questions. Rows of one address are one image; a composite image stays whole. The group is the post
    if a column names it, otherwise the image, so that all questions of an image, in both languages, are in one split.

    Questions become ready questions of the tasks `binary_question`, `single_choice_question` and `open_question`. The
    words of a question are those of the workbook, its options included. A question and its translation are joined by
    a column `pair`. Column names of the deposit were not seen: headers are compared by their letters and digits with
    known ones in English and Chinese, and what is not found is listed with the headers that are there.

    Args:
        root: Folder of the workbooks and images.
        columns: Header -> question, answer, type, language, image, url, pair, A, B, C, D, file, modality,
            subspecialty, condition, caption or article; added to the known ones.
        types: Spelling of a kind of question -> ``binary_question``, ``single_choice_question`` or ``open_question``.
        languages: Spelling of a language -> ``zh`` or ``en``.
        modalities: Spelling of a modality -> its name in `lmod_train.core.vocabulary.modalities`.
        subspecialties: Spelling of a subspecialty -> its name in `lmod_train.extensions.ophthalwechat.words`.
        pairs_in_order: Whether questions without a column `pair` are joined by their order: of each image and kind the
            third Chinese with the third English one, where both languages have equally many and the answers agree.

    References:
        OphthalWeChat, arXiv 2505.19624; workbooks under CC BY 4.0, the images belong to the publishers of the posts.
    """

    name = "ophthalwechat"
    modality = (
        "CFP+SLO+OCT+EP+RetCam+FFA+ICGA+FAF+IR+Red-free+Red-channel+Green-channel+Blue-channel+Retro-mode+OCTA+AS-OCT+"
        "PS-OCT+Slit-lamp+Gonioscope+UBM+A-scan+B-scan+Corneal-topography+Corneal-confocal+Meibography+IOLMaster+"
        "iTrace+Visual-field+VEP+CT+MRI"
    )
    licence = "index CC BY 4.0, image rights with its publisher"
    redistributable = False
    reference = "https://doi.org/10.6084/m9.figshare.29064149"

    def __init__(
        self,
        root: Path = UNPLACED,
        columns: dict[str, str] | None = None,
        types: dict[str, str] | None = None,
        languages: dict[str, str] | None = None,
        modalities: dict[str, str] | None = None,
        subspecialties: dict[str, str] | None = None,
        pairs_in_order: bool = False,
    ) -> None:
        super().__init__(root)
        self.words = words(columns, types, languages, modalities, subspecialties)
        self.pairs_in_order = pairs_in_order

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the folder has a workbook with the data set's name."""
        names = [plain_name(file.name) for file in entries(folder) if file.suffix.casefold() == ".xlsx"]
        return any("wechat" in name and "ophthal" in name for name in names)

    def verify(self) -> None:
        """Check that there is a workbook.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
        """
        if next(self._workbooks(), None) is None:
            raise SourceNotFound(self.name, self.root, "a workbook (xlsx)", _TREE)

    def samples(self) -> SampleStream:
        """Yield a sample for each image with a file and a question, and a `Dropped` for each loss.

        Raises:
            SourceNotFound: As `verify`.
        """
        self.verify()
        below = list(files_below(self.root))
        found = _Found(files=files_by_name(self.root, below))
        tables: list[Table] = []
        for file in self._workbooks():
            yield from self._read(file, tables)
        for table in tables:
            yield from self._missing_columns(table)
        yield from self._absent_tables(tables)
        for table in (t for t in tables if t.kind == "images"):
            yield from self._images(table, found)
        lost: list[Dropped] = []
        for table in (t for t in tables if t.kind == "questions" and not set(_LACKING) & _lacks(t)):
            lost += self._questions(table, found)
        if found.asked and any(table.kind == "images" for table in tables):
            yield from lost
            yield from self._without_rows(found)
        else:
            yield from self._without_images(lost)
        yield from self._samples(list(found.pictures), found)
        yield from self._strays(below, found.used)

    def _without_images(self, lost: list[Dropped]) -> Iterator[Dropped]:
        """Yield the losses with one entry for all questions without an image, as one missing workbook is the cause."""
        yield from (drop for drop in lost if drop.reason != _NO_IMAGE)
        if nowhere := [drop.key for drop in lost if drop.reason == _NO_IMAGE]:
            detail = f"{len(nowhere)} questions have neither a row among the images nor a file: {'; '.join(nowhere)}"
            yield self._absent("images", "all", detail)

    def _without_rows(self, found: _Found) -> Iterator[Dropped]:
        for picture in (one for one in found.pictures if one.place == _NO_ROW):
            file = file_of(picture, found.files)
            detail = "no row in a workbook of images: modality, subspecialty and post are empty"
            yield self._cost(file or self.root, "missing row", detail, picture.id)

    def _samples(self, pictures: list[Picture], found: _Found) -> SampleStream:
        """Yield the samples of all images; one entry if there are several and none has a file."""
        if len(pictures) > 1 and not any(_has_file(picture, found) for picture in pictures):
            asked = sum(map(len, found.asked.values()))
            yield self._absent("images", "all", f"none of {len(pictures)} images has a file, of {asked} questions")
            return
        for picture in pictures:
            yield from self._sample(picture, found)

    def account(self, samples: Iterable[Sample]) -> dict[str, Any]:
        """Return the numbers of questions and images by subset, subspecialty and modality beside the paper's."""
        return account(samples)

    def _workbooks(self) -> Iterator[Path]:
        yield from (f for f in files_below(self.root) if f.suffix.casefold() == ".xlsx" and f.name[:2] != "~$")

    def _read(self, file: Path, tables: list[Table]) -> Iterator[Dropped]:
        """Add the tables of a workbook to `tables`, and yield an entry for each sheet that is none."""
        try:
            for table in tables_of(file, self.words):
                if isinstance(table, NoTable):
                    detail = f"sheet {table.title!r}: no header of questions or images; its first row is " + (
                        ", ".join(map(repr, table.headers)) or "empty"
                    )
                    cure = "name them, e.g. `columns: {Frage: question, Antwort: answer}`"
                    yield self._drop(file, "no header", f"{detail}; {cure}", f"{self._place(file, table.title)}")
                else:
                    tables.append(table)
        except UnreadableSheet as error:
            yield self._drop(file, "unreadable table", str(error).replace(str(self.root), "")[:300])

    def _place(self, file: Path, title: str, row: int = 0) -> str:
        """Return workbook, sheet and row in words."""
        place = f"{file.relative_to(self.root).as_posix()}: {title}"
        return f"{place}: row {row}" if row else place

    def _absent_tables(self, tables: list[Table]) -> Iterator[Dropped]:
        for kind, lost in (("questions", "there is nothing to ask"), ("images", "modality and subspecialty are empty")):
            if not any(table.kind == kind for table in tables):
                yield self._absent("table", kind, f"no workbook of {kind}; {lost}", "part" if tables else "gone")

    def _missing_columns(self, table: Table) -> Iterator[Dropped]:
        """Yield an entry for each column that a table lacks, with the headers that are there."""
        for name in (name for name in _WANTED[table.kind] if name in _lacks(table)):
            there = ", ".join(repr(header[:60]) for header in table.headers[:30])
            cure = f"see the option `columns`, e.g. `columns: {{HEADER: {name}}}`"
            detail = f"{_NEEDED[name]}; headers are {there}; {cure}"
            place = f"{self._place(table.file, table.title)}: {name}"
            extent: Extent = "gone" if table.kind == "questions" and name in _LACKING else "part"
            yield self._absent("column", place, detail, extent, inside=table.file)

    def _images(self, table: Table, found: _Found) -> Iterator[Dropped]:
        """Add the rows of a workbook of images to the images."""
        for row in table.rows:
            place = self._place(table.file, table.title, row.number)
            try:
                for reason, detail in found.pictures.add(row, place, self.words):
                    yield self._cost(table.file, reason, detail, f"{place}: {reason}")
            except BadRow as error:
                yield self._drop(table.file, error.reason, error.detail, place)

    def _questions(self, table: Table, found: _Found) -> Iterator[Dropped]:
        """Add the rows of a workbook of questions to those of their images."""
        for row in table.rows:
            place = self._place(table.file, table.title, row.number)
            try:
                placed = Placed(read_question(row, self.words), place, row.text("pair")[:100])
                found.asked[self._picture(row, found).id].append(placed)
            except BadRow as error:
                yield self._cost(table.file, error.reason, error.detail, place)

    def _picture(self, row: Row, found: _Found) -> Picture:
        """Return the image of a question; one that has a file but no row is added.

        Raises:
            BadRow: There is none.
        """
        stated, url = row.text("image"), row.text("url")
        if not stated and not url:
            row.text("image", required=True)
        picture = found.pictures.find(stated, url)
        if picture is None:
            lone = Picture(image_id(stated), _NO_ROW, [image_id(stated)]) if stated else None
            if lone is None or file_of(lone, found.files) is None:
                raise BadRow(_NO_IMAGE, f"{stated or url!r} has neither a row among the images nor a file")
            picture = found.pictures.by_id.setdefault(lone.id, lone)
        return picture

    def _sample(self, picture: Picture, found: _Found) -> SampleStream:
        """Yield the sample of an image with an entry for each of its questions that is left out."""
        of_rows = [f"{len(found.asked[picture.id])} questions", *(f"also {other}" for other in picture.ids[1:])]
        place = self.root / picture.place.partition(": ")[0] if picture.place != _NO_ROW else self.root
        try:
            file = file_of(picture, found.files)
            if file is None:
                raise BadRow("missing image", f"no file of this name below the folder; {', '.join(of_rows)}")
            if not found.asked[picture.id]:
                found.used.add(file)
                raise BadRow("no question", "no question of the workbooks that can be asked is about it")
        except BadRow as error:
            yield self._drop(place, error.reason, error.detail, picture.id)
            return
        problems: list[Problem] = []
        several = in_order(found.asked[picture.id]) if self.pairs_in_order else found.asked[picture.id]
        asked = questions_of(several, picture.tags, problems)
        if asked:
            found.used.add(file)
            group = f"post {picture.article}" if picture.article else picture.id
            yield Sample(self.name, picture.id, picture.modality, file, group, self.licence, asked=asked)
        for problem in problems:
            table = self.root / problem.place.partition(": ")[0]
            yield self._cost(table, problem.reason, problem.detail, problem.place)
        if not asked:
            yield self._drop(place, "no question", "each of its questions is left out", picture.id)

    def _strays(self, below: list[Path], used: set[Path]) -> Iterator[Dropped]:
        """Yield an entry for each file that is neither a workbook nor the image of a sample."""
        for file in below:
            if file not in used and file.suffix.casefold() != ".xlsx" and plain_name(file.name) not in _PAPERS:
                is_image = file.suffix.casefold() in KINDS_OF_FILE
                yield self._drop(file, "no row in a table" if is_image else "stray file")


def _has_file(picture: Picture, found: _Found) -> bool:
    try:
        return file_of(picture, found.files) is not None
    except BadRow:  # several files of this name
        return True


def _lacks(table: Table) -> set[str]:
    """Return the listed columns that a table lacks; the address of an image can stand for its id."""
    return {*_WANTED[table.kind]} - table.columns - ({"image"} if "url" in table.columns else set())


# Counts of OphthalWeChat's samples beside those that the paper prints.

_KINDS = {"binary_question": "binary", "single_choice_question": "single choice", "open_question": "open"}


@lru_cache(maxsize=1)
def printed() -> Mapping[str, Mapping[str, float]]:
    """Return what the paper prints: ``questions`` and ``images`` of subset -> number, ``subspecialties`` in percent.

    ``modalities`` are the images of each modality and combination, in the words of the vocabulary; 68 combinations are
    printed, of which one stands twice.
    """
    found: dict[str, dict[str, float]] = {}
    for row in package_table(__file__, "account.csv"):
        counts = found.setdefault(row["kind"], {})
        counts[row["name"]] = counts.get(row["name"], 0) + float(row["value"])
    return found


def account(samples: Iterable[Sample]) -> dict[str, Any]:
    """Return for each count ``here`` and ``paper``; None where the paper prints none.

    ``questions`` by kind and language, ``images``, ``subspecialties`` (percent of the images that have one),
    ``modalities`` (images of each modality and each combination), ``combinations`` (number of different ones).
    """
    several = list(samples)
    questions = Counter(f"{_KINDS.get(q.task, q.task)} {q.language}" for s in several for q in s.asked)
    modalities = Counter(sample.modality or "not known" for sample in several)
    totals = {"all": sum(questions.values()), "close-ended": sum(n for k, n in questions.items() if k[:4] != "open")}
    known = [m for m in modalities if m != "not known"]
    combinations = {"single": sum("+" not in m for m in known), "combined": sum("+" in m for m in known)}
    return {
        "questions": _beside(dict(sorted(questions.items())) | totals, printed()["questions"]),
        "images": {"here": len(several), "paper": int(printed()["images"]["all"])},
        "subspecialties": _beside(_shares(several), printed()["subspecialties"]),
        "modalities": _beside(
            {m: modalities[m] for m in [*in_order_modalities(known), "not known"]}, printed()["modalities"]
        ),
        "combinations": _beside(combinations, printed()["combinations"]),
    }


def _shares(samples: Iterable[Sample]) -> dict[str, float]:
    """Return subspecialty -> percent of the images that have one."""
    counts = Counter(next((q.tags.get("subspecialty", "") for q in sample.asked), "") for sample in samples)
    del counts[""]
    return {name: round(100 * n / counts.total(), 1) for name, n in counts.most_common()}


def _beside(here: Mapping[str, float], paper: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    names = [*here, *(name for name in paper if name not in here)]
    return {name: {"here": here.get(name, 0), "paper": _whole(paper.get(name))} for name in names}


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value
