"""X-PCR (CVPR 2026): images with ready questions of six stages, and the cases that its rows make."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.raw import read_json
from lmod_train.core.types import Dropped, ImageFile, Message, Part, Question, Sample, SampleStream
from lmod_train.core.vocabulary.modalities import combined
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below
from lmod_train.data.sources.row_ids import BadRow, id_of
from lmod_train.data.sources.spelling import plain_name
from lmod_train.data.sources.spellings import Words, plain, shown
from lmod_train.extensions.xpcr.questions import (
    CASE_FIELDS,
    MODALITIES,
    PAIR_FIELDS,
    ROW_FIELDS,
    BadPair,
    Marked,
    StatedQuestion,
    names_of,
    read_pair,
    renamed,
    unknown_fields,
    words,
)
from lmod_train.extensions.xpcr.release_tables import (
    TABLES,
    Read,
    Reader,
    Row,
    is_table,
    modality_of,
    pairs_of,
    plain_path,
    rows_of,
    spelled,
)

_PAPERS = {"readme.md", "license", "license.md", "license.txt", "dataset_infos.json", "dataset_info.json"}

_SPLITS = ("train", "val", "test")

_SHARD = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})\.parquet")

_TREE = """\
  as on the hub, images inside:
    <root>/data/train-00000-of-00011.parquet      (or *.parquet in <root>)
  as files:
    <root>/*.json or *.jsonl, a list of rows with id, modality, image_path and qa_pairs
    <root>/CFP/12 ODIR-5K/Training Images/2909_right.jpg
  as its card describes:
    <root>/annotations/{train,val,test}.json
    <root>/images/CFP/12 ODIR-5K/Training Images/2909_right.jpg
  beside any of them, cases with several images of one eye (file names are ours, the release was not seen):
    <root>/multimodal_cases/case_001/{cfp.jpg,oct.png,case.json}"""


@dataclass(slots=True)
class _Found:
    """What was met while reading.

    Attributes:
        used: Image files that samples show.
        keys: Key -> table and row that has it.
        unknown: Name of an unknown field -> number of rows with it.
    """

    used: set[Path] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)


class Xpcr(Source):
    """The released rows of X-PCR; keys are their ids, e.g. ``cfp_000000``.

    A row has an image and 32 to 77 questions with options, which become ready questions of the task ``chain``: a chain
    a row, its steps the stages IQA, AL, LC, DD, SG and CD, several questions of a stage its variants. Spellings of
    categories, question types and levels in the release are not known; those that fit nothing are listed with what was
    found and expected, and left out. Questions whose answer is not among their options, with two equal options, or with
    ``(Correct)`` inside an option are left out, each named. Splits of the release are not used.

    Cases below ``multimodal_cases`` have several images of one eye, and questions of three kinds (correspondence,
    integration, selection) for the task ``cross_modality``; their keys are ``cases/case_001``. A question whose answer
    is in the words of another one is left out.

    The group is the patient where file names state it (both eyes of a patient of ODIR and EyePACS, the scans of an eye
    of OIMHS), otherwise the image.

    The repository permits academic research only, the hub states no licence, and each of the 51 data sets inside keeps
    its own (AIROGS and FairSeg: no derivatives): images must not be redistributed.

    Args:
        root: Folder of the data set.
        categories: Spelling of a question's category in the files -> stage, e.g. ``{"Clinical Quality": IQA}``; added
            to the known ones.
        fields: Name of a field in the files -> ``id``, ``modality``, ``image``, ``image_path``, ``qa_pairs``,
            ``category``, ``question``, ``answer``, ``question_type``, ``options``, ``level`` or ``impact``.
        question_types: Spelling of a question type -> ``single choice``, the only one that is read.
        modalities: Spelling of a modality -> CFP, OCT, EP, RetCam, FFA or ICGA; or SLO or SS, which are not
            in the release.
        levels: Spelling of a level -> R (resident), A (attending) or S (specialist).
        marked: ``drop`` leaves a question out if an option contains ``(Correct)``, ``strip`` removes the mark.

    References:
        X-PCR, CVPR 2026, arXiv 2604.20350; https://huggingface.co/datasets/Fantasy666/X-PCR, commit 06a318fd.
    """

    name = "xpcr"
    modality = "CFP+SLO+OCT+SS+EP+RetCam+FFA+ICGA"  # no SLO and SS in the release, see `phantom.folders.xpcr`
    licence = "academic research only (X-PCR); each of its 51 data sets keeps its own licence"
    redistributable = False
    reference = "https://huggingface.co/datasets/Fantasy666/X-PCR"

    def __init__(
        self,
        root: Path = UNPLACED,
        categories: dict[str, str] | None = None,
        fields: dict[str, str] | None = None,
        question_types: dict[str, str] | None = None,
        modalities: dict[str, str] | None = None,
        levels: dict[str, str] | None = None,
        marked: Marked = "drop",
    ) -> None:
        super().__init__(root)
        self.words = words(categories, fields, question_types, modalities, levels)
        self.marked = marked

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether a table of this folder, or of its folder ``data`` or ``annotations``, has ``qa_pairs``.

        A folder with ``multimodal_cases`` is one too.
        """
        if any(plain_name(p.name) == FOLDER and p.is_dir() for p in entries(folder)):
            return True
        inner = [p for p in entries(folder) if plain_name(p.name) in ("data", "annotations") and p.is_dir()]
        return any(is_table(file) for place in (folder, *inner) for file in entries(place))

    def verify(self) -> None:
        """Check that there is a table or a case.

        Raises:
            SourceNotFound: There is none; the message prints the expected trees.
        """
        if next(self._tables(), None) is None and not case_folders(self.root):
            raise SourceNotFound(self.name, self.root, "a table with qa_pairs", _TREE)

    def samples(self) -> SampleStream:
        """Yield a sample a row in the order of the tables, and a `Dropped` for each loss.

        Raises:
            SourceNotFound: As `verify`.
        """
        self.verify()
        below = list(files_below(self.root))
        pictures: defaultdict[str, list[Path]] = defaultdict(list)
        for file in below:
            if file.suffix.lower() in KINDS_OF_FILE:
                pictures[self._place(file)].append(file)
        reader = Reader(self.name, self.licence, self.words, self.marked, pictures)
        tables, found = list(self._tables()), _Found()
        for table in tables:
            yield from self._table(table, reader, found)
        yield from self._cases(found)
        yield from self._gaps(tables)
        yield from self._unknown(found.unknown)
        yield from self._strays(below, {*tables, *found.used})

    def _tables(self) -> Iterator[Path]:
        """Yield the tables: files with a field of questions, and all JSON files in ``annotations``."""
        names = names_of("qa_pairs", self.words["fields"])
        for file in files_below(self.root):
            kind = file.suffix.lower() in TABLES and plain_name(file.name) not in _PAPERS
            in_case = FOLDER in map(plain_name, file.relative_to(self.root).parts)
            if kind and not in_case and (plain_name(file.parent.name) == "annotations" or is_table(file, names)):
                yield file

    def _place(self, file: Path) -> str:
        return plain_path(file.relative_to(self.root).as_posix())

    def _table(self, table: Path, reader: Reader, found: _Found) -> SampleStream:
        folder = plain_path(table.parent.relative_to(self.root).as_posix())
        rows = self._rows(table)
        for row in rows:
            if isinstance(row, Dropped):
                yield row
            else:
                yield from self._row(row, table, folder, reader, found)

    def _rows(self, table: Path) -> Iterator[Row | Dropped]:
        """Yield the rows of a table; if reading ends early, that is the last entry."""
        number = 0
        try:
            for row in rows_of(table, names_of("image", self.words["fields"])):
                number = row.number
                yield row
        except Exception as error:  # Arrow and its decoders raise whatever a damaged file makes them
            detail = f"after {number} rows: {type(error).__name__}: {error}".replace(str(self.root), "")[:300]
            yield self._drop(table, "unreadable table", detail)

    def _row(self, row: Row, table: Path, folder: str, reader: Reader, found: _Found) -> SampleStream:
        place = f"{table.relative_to(self.root).as_posix()}: row {row.number}"
        if row.problem:
            yield self._drop(table, "unreadable row", f"row {row.number}: {row.problem}", place)
            return
        try:
            read = reader.read(row.value, table, row.cut, folder)
            first = found.keys.setdefault(read.sample.key, place)
            if first != place:
                raise BadRow("same id twice", f"{read.sample.key} is the id of {first} too")
        except BadRow as error:
            yield self._drop(table, error.reason, f"row {row.number}: {error.detail}", place)
            return
        found.unknown.update(read.unknown)
        if read.sample.image is not None:
            found.used.add(read.sample.image)
        yield read.sample
        yield from self._left_out(read, row, table)

    def _cases(self, found: _Found) -> SampleStream:
        """Yield a sample for each case, and an entry for each loss."""
        for folder, files in case_folders(self.root).items():
            place = folder.relative_to(self.root).as_posix()
            found.used.update(file for file in files if file.suffix.lower() == ".json")
            try:
                read = read_case(folder, files, self.name, self.licence, self.words, self.marked)
                first = found.keys.setdefault(read.sample.key, place)
                if first != place:
                    raise BadRow("same id twice", f"{read.sample.key} is the id of {first} too")
            except BadRow as error:
                found.used.update(files)
                yield self._drop(folder, error.reason, error.detail, place)
                continue
            found.unknown.update(read.unknown)
            found.used.update(image.path for image in read.sample.shared_images)
            yield read.sample
            for reason, details in read.problems.items():
                yield self._cost(folder, reason, "; ".join(details[:3]), f"{read.sample.key}: {reason}")

    def _left_out(self, read: Read, row: Row, table: Path) -> Iterator[Dropped]:
        """Yield an entry for each reason why questions of a row are left out."""
        for reason, details in read.problems.items():
            more = f"; and {len(details) - 3} more" if len(details) > 3 else ""
            text = f"row {row.number}, {'; '.join(details[:3])}{more}"
            yield self._cost(table, reason, text, f"{read.sample.key}: {reason}")

    def _gaps(self, tables: list[Path]) -> Iterator[Dropped]:
        """Yield an entry for each missing split of the card's layout and for each missing part of a hub's table."""
        if not tables:
            yield self._absent("table", "rows", "there are cases, but no table with qa_pairs")
        for folder in {t.parent for t in tables if plain_name(t.parent.name) == "annotations"}:
            held = {plain_name(t.stem) for t in tables if t.parent == folder}
            for name in (name for name in _SPLITS if name not in held):
                yield self._absent("split", name, f"{name}.json is expected in {folder.name}", inside=folder)
        parts: defaultdict[tuple[Path, str, str], set[int]] = defaultdict(set)
        for table in tables:
            if shard := _SHARD.fullmatch(table.name):
                parts[table.parent, shard[1], shard[3]].add(int(shard[2]))
        for (folder, stem, count), held_parts in sorted(parts.items()):
            for n in sorted(set(range(min(int(count), 10_000))) - held_parts):
                name = f"{stem}-{n:05d}-of-{count}.parquet"
                yield self._absent("table", name, f"a part of {count}", inside=folder)

    def _unknown(self, unknown: Mapping[str, int]) -> Iterator[Dropped]:
        """Yield an entry for each field that is not known, at most 50."""
        expected = ", ".join((*ROW_FIELDS, *PAIR_FIELDS))
        for name, count in sorted(unknown.items())[:50]:
            detail = f"in {count} rows; expected among {expected}; see the option `fields`"
            yield self._drop(self.root, "unknown field", detail, f"field {name}", "part")

    def _strays(self, below: list[Path], used: set[Path]) -> Iterator[Dropped]:
        """Yield an entry for each file that is neither a table nor the image of a sample."""
        for file in below:
            if file in used or plain_name(file.name) in _PAPERS:
                continue
            if file.suffix.lower() == ".parquet":
                yield self._drop(file, "unreadable table", "damaged, or without a column qa_pairs")
            else:
                yield self._drop(file, "no row in a table" if file.suffix.lower() in KINDS_OF_FILE else "stray file")


# Cases of X-PCR with several images of one eye, and their cross-modality questions.
TASK = "cross_modality"
"""Task that asks the questions of cases."""

FOLDER = "multimodal_cases"

KINDS_OF_FILE = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"}

MOST_IMAGES = 12

_COMMON = {"absent", "all", "both", "left", "neither", "no", "none", "normal", "present", "right", "yes"}
"""Answers of one word that stand in other questions without giving anything away."""


def case_folders(root: Path) -> dict[Path, list[Path]]:
    """Return each folder below one named ``multimodal_cases`` that has files -> its files, sorted."""
    folders: defaultdict[Path, list[Path]] = defaultdict(list)
    for file in files_below(root):
        if FOLDER in [plain_name(name) for name in file.relative_to(root).parts[:-2]]:
            folders[file.parent].append(file)
    return dict(sorted(folders.items()))


def read_case(folder: Path, files: Sequence[Path], source: str, licence: str, words: Words, marked: Marked) -> Read:
    """Return a case as a sample without an image of its own.

    Args:
        folder: Folder of the case; its name is its id unless the file states one.
        files: All files in it.
        source: Name of the source.
        licence: Its licence.
        words: Spellings.
        marked: What becomes of a question with ``(Correct)`` inside an option.

    Raises:
        BadRow: There is no sample in it.
    """
    value = _json_of(files)
    given = renamed(value, CASE_FIELDS, words["fields"])
    name = id_of(given.get("id") or plain_name(folder.name))
    images = _images(given.get("images"), name, files, words)
    shown_modalities = [image.modality for image in images]
    asked, problems = _questions(pairs_of(given.get("qa_pairs")), shown_modalities, words, marked)
    if not asked:
        found = "; ".join(f"{reason} {len(details)}" for reason, details in problems.items())
        raise BadRow("no usable question", found or "none")
    group = given.get("group")
    sample = Sample(
        source=source,
        key=f"cases/{name}",
        modality=combined(shown_modalities),
        image=None,
        group=f"cases/{group if isinstance(group, str) and 0 < len(group) <= 200 else name}",
        licence=licence,
        shared_images=images,
        asked=asked,
    )
    return Read(sample, problems, tuple(unknown_fields(value, CASE_FIELDS, words["fields"])))


def _json_of(files: Sequence[Path]) -> dict[object, object]:
    """Return the content of the only JSON file of a case."""
    tables = [file for file in files if file.suffix.lower() == ".json"]
    if len(tables) != 1:
        raise BadRow("missing case file", f"{len(tables)} JSON files, expected one with {', '.join(CASE_FIELDS[:3])}")
    try:
        value = read_json(tables[0])
    except (OSError, ValueError) as error:
        raise BadRow("unreadable case file", f"{tables[0].name}: {type(error).__name__}: {error}"[:200]) from None
    if not isinstance(value, dict):
        raise BadRow("unreadable case file", f"{tables[0].name}: {shown(value)}, expected an object")
    return value


def _images(stated: object, name: str, files: Sequence[Path], words: Words) -> tuple[ImageFile, ...]:
    """Return the images of a case in the order of its file, otherwise of their names."""
    pictures = [file for file in files if file.suffix.lower() in KINDS_OF_FILE]
    images = []
    for modality, file_name in _stated(stated, [file.name for file in pictures], words):
        alike = [file for file in pictures if plain_name(file.name) == plain_name(file_name)]
        if not alike:
            raise BadRow("missing image", f"no file {shown(file_name)} in the folder of the case")
        file = spelled(file_name, alike)
        images.append(ImageFile(file, f"cases/{name}/{plain_name(file.stem)}", modality))
    if not 2 <= len(images) <= MOST_IMAGES or len({image.key for image in images}) < len(images):
        raise BadRow("number of images", f"{len(images)}, expected 2 to {MOST_IMAGES} different ones")
    return tuple(images)


def _stated(stated: object, names: Sequence[str], words: Words) -> Iterator[tuple[str, str]]:
    """Yield modality and file name of each image; without a list, the modality begins the file's name."""
    if stated is None:
        stated = {name: re.split(r"[_\-. 0-9]", plain_name(name), maxsplit=1)[0] for name in names}
        yield from ((modality_of(modality, words), name) for name, modality in stated.items())
        return
    if not isinstance(stated, list) or len(stated) > MOST_IMAGES:
        raise BadRow("unreadable images", f"{shown(stated)}, expected a list of objects with modality and file")
    for image in stated:
        file = image.get("file") if isinstance(image, dict) else None
        if not isinstance(image, dict) or not isinstance(file, str):
            raise BadRow("unreadable images", f"{shown(image)}, expected an object with modality and file")
        yield modality_of(image.get("modality"), words), file


def _questions(
    values: Sequence[object], modalities: Sequence[str], words: Words, marked: Marked
) -> tuple[tuple[Question, ...], dict[str, list[str]]]:
    """Return the questions of a case that can be asked, and reason -> details of the others."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    pairs: dict[int, StatedQuestion] = {}
    for place, value in enumerate(values, 1):
        try:
            pairs[place] = read_pair(value, words["kinds"], words, marked)
        except BadPair as error:
            problems[error.reason].append(f"question {place}: {error.detail}")
            continue
        for reason, detail in pairs[place].problems:
            problems[reason].append(f"question {place}: {detail}")
        for name in unknown_fields(value, PAIR_FIELDS, words["fields"]) if isinstance(value, dict) else ():
            problems["unknown field"].append(f"question {place}: {name}")
    for place, why in given_away(pairs, modalities).items():
        problems["answer given away"].append(f"question {place}: {why}")
        del pairs[place]
    return tuple(_asked(pairs, modalities)), dict(problems)


def _asked(pairs: Mapping[int, StatedQuestion], modalities: Sequence[str]) -> Iterator[Question]:
    numbers: Counter[str] = Counter()
    several = Counter(pair.category for pair in pairs.values())
    for pair in pairs.values():
        numbers[pair.category] += 1
        number = f"-{numbers[pair.category]}" if several[pair.category] > 1 else ""
        tags = {"kind": pair.category, "modalities": str(len(set(modalities)))}
        tags |= {name: value for name, value in (("level", pair.level), ("impact", pair.impact)) if value}
        images = tuple(Part("image") for _ in modalities)
        yield Question(
            task=TASK,
            messages=(Message("user", (*images, Part("text", pair.text))),),
            choices=pair.options,
            answer=pair.answer,
            variant=f"{pair.category}{number}",
            tags=tags,
        )


def given_away(pairs: Mapping[int, StatedQuestion], modalities: Sequence[str]) -> dict[int, str]:
    """Return the questions whose answer is in the words of another question or in the names of the images -> why.

    The words of a question are those before its options. An answer that differs from the other options by a modality is
    given away by the name of this modality, too, as X-PCR's figure 4 does with ICGA.

    Args:
        pairs: Number of each question -> question.
        modalities: Modality of each image, which the words of every question name.
    """
    found: dict[int, str] = {}
    for place, pair in pairs.items():
        others = [option for option in pair.options if option != pair.answer]
        known = set().union(*map(modalities_in, others)) if others else set()
        told = modalities_in(pair.answer) - known
        elsewhere = {number: other for number, other in pairs.items() if number != place}
        common = plain(pair.answer) in _COMMON
        by = [
            number
            for number, other in elsewhere.items()
            if (not common and _holds(other.text, pair.answer)) or told & modalities_in(other.text)
        ]
        if by:
            found[place] = f"the words of question {by[0]} contain its answer"
        elif told & set(modalities) and not known & set(modalities):
            found[place] = f"of the modalities in its options, only {', '.join(sorted(told))} is shown"
    return found


def _holds(text: str, answer: str) -> bool:
    """Return whether an answer stands in a text as whole words."""
    folded, wanted = (" ".join(re.findall(r"\w+", words.casefold())) for words in (text, answer))
    return bool(wanted) and f" {wanted} " in f" {folded} "


def modalities_in(text: str) -> set[str]:
    """Return the modalities that a text names by abbreviation or in words.

    Example:
        >>> sorted(modalities_in("Besides CFP and fluorescein angiography (FFA)"))
        ['CFP', 'FFA']
    """
    names = {name: (name, *(other for other in others if len(plain(other)) > 3)) for name, others in MODALITIES.items()}
    return {name for name, spellings in names.items() if any(_holds(text, spelling) for spelling in spellings)}
