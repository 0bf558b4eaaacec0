"""Rows of X-PCR's tables: Parquet with images inside, JSON and JSON lines, one by one and as they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from lmod_train.core.cells import MOST_GROUP_BYTES
from lmod_train.core.raw import decoded, open_file, parse_json, read_bytes, read_json, start_of, whole_number
from lmod_train.core.types import Cut, Message, Need, Part, Patient, Question, Sample
from lmod_train.data.sources.row_ids import BadRow, id_of
from lmod_train.data.sources.spelling import plain_name
from lmod_train.data.sources.spellings import Words, plain, shown
from lmod_train.extensions.xpcr.questions import (
    PAIR_FIELDS,
    ROW_FIELDS,
    STAGES,
    BadPair,
    Marked,
    StatedQuestion,
    category_of,
    dataset_tags,
    disease_tags,
    read_pair,
    renamed,
    unknown_fields,
)

TABLES = {".parquet", ".json", ".jsonl"}

MOST_JSON_BYTES = 2**30
"""Maximum bytes of a JSON table; the release has about a million questions of 300 bytes."""

_LISTS = ("data", "rows", "annotations", "samples", "items", "train", "val", "valid", "validation", "dev", "test")

_KEY = re.compile(r'"([^"\\]{1,100})"\s*:')

_AT_ONCE = 64  # rows of a Parquet file that are in memory at once


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        number: From 1, in the file's order.
        value: What the row holds: an object for a good one.
        cut: Where its image is in the file; None if the file has none.
        problem: Why the row could not be read; empty for a good one.
    """

    number: int
    value: Any
    cut: Cut | None = None
    problem: str = ""


def is_table(file: Path, names: Collection[str] = frozenset({"qapairs"})) -> bool:
    """Return whether a file is a table of rows with questions; never raises.

    Args:
        file: Any file; only its beginning, or the columns of a Parquet file, is read.
        names: Plain names of the field with the questions.
    """
    try:
        if file.suffix.lower() == ".parquet":
            return any(plain(name) in names for name in _parquet_names(file))
        if file.suffix.lower() in TABLES:
            with open_file(file, MOST_JSON_BYTES) as opened:
                return any(plain(key) in names for key in _KEY.findall(start_of(opened.read(1 << 16))))
    except (OSError, ValueError, LookupError, NotImplementedError, TypeError):
        pass
    return False


def rows_of(file: Path, images: Collection[str] = frozenset({"image"})) -> Iterator[Row]:
    """Yield every row of a table; what cannot be read has its problem.

    Args:
        file: The table.
        images: Plain names of the field with the image, for Parquet.

    Raises:
        OSError: The file cannot be opened.
        ValueError: The whole file cannot be read.
    """
    kind = file.suffix.lower()
    if kind == ".parquet":
        return _parquet_rows(file, images)
    return _numbered(_lines(decoded(read_bytes(file, MOST_JSON_BYTES))) if kind == ".jsonl" else _json_values(file))


def _numbered(values: Iterator[tuple[Any, str]]) -> Iterator[Row]:
    for number, (value, problem) in enumerate(values, 1):
        yield Row(number, value, problem=problem)


def _lines(text: str) -> Iterator[tuple[Any, str]]:
    for line in text.split("\n"):  # not `splitlines`, as values may contain U+2028 and others of its line ends
        if line.strip():
            try:
                yield parse_json(line), ""
            except ValueError as error:
                yield None, f"not JSON ({type(error).__name__}): {shown(line)}"


def _json_values(file: Path) -> Iterator[tuple[Any, str]]:
    text = decoded(read_bytes(file, MOST_JSON_BYTES)).lstrip()
    if text.startswith("["):
        yield from _items(text)
        return
    if _is_lines(text):
        yield from _lines(text)
        return
    del text
    whole = read_json(file)
    if not isinstance(whole, dict):
        raise ValueError(f"{shown(whole)}, expected a list of rows")
    lists = [name for name in _LISTS if isinstance(whole.get(name), list) or _is_table(whole.get(name))]
    for name in lists:
        yield from ((row, "") for row in _rows_in(whole[name]))
    if not lists:
        yield from ((row, "") for row in _rows_in(whole))
        return
    for name, other in whole.items():
        if name not in lists and (
            _is_table(other) or (isinstance(other, list) and other and isinstance(other[0], dict))
        ):
            yield None, f"{shown(name)}, {shown(other)}, is not read, expected rows in {', '.join(_LISTS)}"


def _is_lines(text: str) -> bool:
    """Return whether a text that begins with an object goes on after the end of its first line."""
    first, _, rest = text.partition("\n")
    if not rest.strip():
        return False
    try:
        return isinstance(json.loads(first, parse_int=whole_number), dict)
    except (ValueError, RecursionError):
        return False


def _is_table(value: Any) -> bool:
    """Return whether a value is an object of rows by their ids."""
    return isinstance(value, dict) and bool(value) and all(isinstance(row, dict) for row in value.values())


def _rows_in(held: list[Any] | dict[str, Any]) -> list[Any]:
    """Return the rows of a list, or of an object of rows by their ids."""
    if isinstance(held, list):
        return held
    return [{"id": key, **row} if isinstance(row, dict) else row for key, row in held.items()]


def _items(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the items of a JSON list one by one; after one that is not JSON, the rest cannot be read."""
    decoder, at = json.JSONDecoder(parse_int=whole_number), 1
    while True:
        at = _blank(text, at)
        if text[at : at + 1] == "]":
            if behind := text[at + 1 : at + 61].strip():
                yield None, f"text behind the end of the list is not read: {shown(behind)}"
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield None, f"not JSON ({type(error).__name__}), and so are all rows after it: {shown(text[at : at + 60])}"
            return
        yield value, ""
        at = _blank(text, at)
        if text[at : at + 1] not in (",", "]"):
            yield None, f"the list ends early, and rows after it are missing: {shown(text[at : at + 60])}"
            return
        at += text[at] == ","


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\n", "\t", "\r"):
        at += 1
    return at


def _parquet_names(file: Path) -> list[str]:
    import pyarrow.parquet as pq

    with open_file(file, 2**40):  # refuses pipes and devices
        return list(pq.read_schema(file).names)


def _parquet_rows(file: Path, images: Collection[str]) -> Iterator[Row]:
    import pyarrow.parquet as pq

    first = 0
    with pq.ParquetFile(file) as opened:
        image = _image_column(opened.schema_arrow, images)
        leaves = [opened.schema.column(n).path for n in range(len(opened.schema.names))]
        wanted = [leaf for leaf in leaves if leaf not in (image, f"{image}.bytes")]
        for group in range(opened.num_row_groups):
            has_image = _filled(opened, group, image)
            for batch in opened.iter_batches(_AT_ONCE, row_groups=[group], columns=wanted):
                for place, (value, problem) in enumerate(_values(batch)):
                    cut = Cut(column=image, row=first + place) if has_image(first + place) else None
                    yield Row(first + place + 1, value, cut, problem)
                first += batch.num_rows


def _values(batch: Any) -> Iterator[tuple[Any, str]]:
    """Yield the rows of a batch; one that holds broken UTF-8 does not affect the others."""
    try:
        yield from ((value, "") for value in batch.to_pylist())
        return
    except (ValueError, OverflowError):
        pass
    for place in range(batch.num_rows):
        try:
            yield batch.slice(place, 1).to_pylist()[0], ""
        except (ValueError, OverflowError) as error:
            yield None, f"{type(error).__name__}: {error}"[:200]


def _image_column(schema: Any, names: Collection[str]) -> str:
    """Return the column with image files, bytes or a struct with bytes: of one of the names, else ``image...``."""
    import pyarrow as pa

    found = []
    for field in schema:
        kind = field.type
        inside = pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0
        if inside or pa.types.is_binary(kind) or _is_large(kind):
            found.append(str(field.name))
    exact = [name for name in found if plain(name) in names]
    return next(iter((*exact, *(name for name in found if plain(name).startswith("image")))), "")


def _is_large(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_binary(kind))


def _filled(opened: Any, group: int, image: str) -> Any:
    """Return a function from the number of a row of a group to whether its image is there, by the file's statistics."""
    if not image:
        return lambda row: False
    facts = opened.metadata.row_group(group)
    chunks = [facts.column(n) for n in range(facts.num_columns)]
    chunk = next(c for c in chunks if c.path_in_schema in (image, f"{image}.bytes"))
    counted = chunk.statistics is not None and chunk.statistics.has_null_count
    if (counted and chunk.statistics.null_count == 0) or chunk.total_uncompressed_size > MOST_GROUP_BYTES:
        return lambda row: True
    before = sum(opened.metadata.row_group(n).num_rows for n in range(group))
    there = _is_there(opened.read_row_group(group, columns=[chunk.path_in_schema]).column(image))
    return lambda row: there[row - before]


def _is_there(column: Any) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.struct_field(column, "bytes") if pa.types.is_struct(column.type) else column
    return [bool(there) for there in values.is_valid().to_pylist()]


# One row of X-PCR as a sample: its image, its patient, and its questions as chains.
TASK = "chain"
"""Task that asks the questions of the six stages."""

LONGEST_PATH, MOST_PAIRS, MOST_JSON = 500, 2000, 4_000_000

_EYE = re.compile(r"([0-9]+)[_-](left|right)", re.IGNORECASE)

_PATIENTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("odir", _EYE),
    ("eyepacs", _EYE),
    ("oimhs", re.compile(r".*?([0-9]+)/[0-9]+()", re.IGNORECASE)),
)
"""Data set -> end of an image's path without ending: number of patient (OIMHS: eye), and the eye's side."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a row holds.

    Attributes:
        sample: The sample with its questions.
        problems: Reason -> details of questions and labels that are left out, each with the question's number.
        unknown: Names of fields that are not known.
    """

    sample: Sample
    problems: Mapping[str, list[str]]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """Everything that rows of one source are read with.

    Attributes:
        source: Name of the source.
        licence: Its licence.
        words: Spellings.
        marked: What becomes of a question with ``(Correct)`` inside an option.
        pictures: Plain path below the root -> image files, several if their names differ in case or encoding only.
    """

    source: str
    licence: str
    words: Words
    marked: Marked
    pictures: Mapping[str, Sequence[Path]]

    def read(self, value: object, table: Path, cut: Cut | None, folder: str) -> Read:
        """Return the sample of a row.

        Args:
            value: The row as the table has it.
            table: The table's file.
            cut: Where the row's image is in the table; None if it is a file of its own.
            folder: Folder of the table below the root, to which image paths may be relative.

        Raises:
            BadRow: There is no sample in it.
        """
        if not isinstance(value, dict):
            raise BadRow("not a row", f"{shown(value)}, expected an object with {', '.join(ROW_FIELDS)}")
        given = renamed(value, ROW_FIELDS, self.words["fields"])
        key = id_of(given.get("id"))
        modality = modality_of(given.get("modality"), self.words)
        place = _path(given)
        pairs = pairs_of(given.get("qa_pairs"))
        image, cut = (table, cut) if cut is not None else (self._picture(place, folder), Cut())
        asked, problems = questions_of(self.source, key, pairs, self.words, self.marked, place)
        if not asked:
            found = "; ".join(f"{reason} {len(details)}" for reason, details in problems.items())
            raise BadRow("no usable question", f"{len(pairs)} questions: {found or 'none'}")
        group, side = patient_of(place)
        sample = Sample(
            source=self.source,
            key=key,
            modality=modality,
            image=image,
            group=group or key,
            licence=self.licence,
            cut=cut,
            patient=Patient(laterality=side),
            asked=asked,
        )
        named = self.words["fields"]
        unknown = unknown_fields(value, ROW_FIELDS, named)
        unknown += [
            n for p in pairs if isinstance(p, dict) for n in unknown_fields(p, PAIR_FIELDS, self.words["fields"])
        ]
        return Read(sample, problems, tuple(dict.fromkeys(unknown)))

    def _picture(self, place: str, folder: str) -> Path:
        """Return the image file of a path; only files below the root are known."""
        if not place:
            raise BadRow("no image", "neither an image nor its path is in the row")
        if place.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", place) or place[1:2] == ":":
            raise BadRow("image outside", f"{shown(place)} leads out of the folder")
        return self.find(place, folder)

    def find(self, place: str, folder: str) -> Path:
        """Return the image file of a path that is relative to the root, to ``images/``, or to the table's folder.

        Raises:
            BadRow: There is none, or several whose names differ in case or encoding only, none of them spelled so.
        """
        plainly = plain_path(place)
        for before in ("", "images/", f"{folder}/", f"{folder}/images/"):
            if found := self.pictures.get(f"{before}{plainly}"):
                return spelled(place, found)
        raise BadRow("missing image", f"no file {shown(place)} below the folder")


def spelled(place: str, files: Sequence[Path]) -> Path:
    """Return the file of a path among those with its plain path.

    Example:
        >>> spelled("A.png", [Path("images/A.png"), Path("images/a.png")]).name
        'A.png'

    Raises:
        BadRow: There are several, and not exactly one is spelled as the path is.
    """
    end = "/".join(part for part in re.split(r"[/\\]", place) if part not in ("", "."))
    exact = [file for file in files if f"/{file.as_posix()}".endswith(f"/{end}")] if len(files) > 1 else list(files)
    if len(exact) == 1:
        return exact[0]
    names = ", ".join(shown(file.name) for file in files)
    raise BadRow("ambiguous image", f"{shown(place)} fits {names}, expected one of them as it is spelled")


def plain_path(place: str) -> str:
    """Return a path with forward slashes, each part in lower case, without blanks around it.

    Example:
        >>> plain_path("CFP/12 ODIR-5K /a.JPG")
        'cfp/12 odir-5k/a.jpg'
    """
    return "/".join(plain_name(part) for part in re.split(r"[/\\]", place) if part not in ("", "."))


def modality_of(value: object, words: Words) -> str:
    """Return the modality of a row.

    Raises:
        BadRow: It fits nothing.
    """
    found = words["modalities"].get(plain(value)) if isinstance(value, str) else None
    if found is None:
        expected = f"expected one of {', '.join(dict.fromkeys(words['modalities'].values()))}"
        raise BadRow("unknown modality", f"{shown(value)}, {expected}; see the option `modalities`")
    return found


def pairs_of(value: object) -> list[object]:
    """Return the questions of a row, which are a list or a text in JSON.

    Raises:
        BadRow: They are not.
    """
    if isinstance(value, str) and len(value) <= MOST_JSON:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise BadRow("no questions", f"qa_pairs: {shown(value)}, expected a list") from None
    if not isinstance(value, list) or not value or len(value) > MOST_PAIRS:
        raise BadRow("no questions", f"qa_pairs: {shown(value)}, expected a list of 1 to {MOST_PAIRS:,}")
    return value


def _path(given: Mapping[str, object]) -> str:
    """Return the path of a row's image; empty for none. A struct of the hub has it beside the bytes.

    Raises:
        BadRow: It is no text.
    """
    image = given.get("image")
    inside = image.get("path") if isinstance(image, dict) else image
    place = given.get("image_path") or inside or ""
    if not isinstance(place, str) or len(place) > LONGEST_PATH or not place.isprintable():
        raise BadRow("unusable image path", f"{shown(place)}, expected text of up to {LONGEST_PATH} characters")
    return place


def patient_of(place: str) -> tuple[str, Literal["left", "right"] | None]:
    """Return group and side of the eye by an image's path; both eyes of a patient of ODIR and EyePACS are one group.

    Other images are groups of their own: their patients are not known.

    Example:
        >>> patient_of("CFP/12 ODIR-5K/Training Images/2909_right.jpg"), patient_of("OCT/48 OIMHS/Images/7/3.png")
        (('odir/2909', 'right'), ('oimhs/7', None))
        >>> patient_of("CFP/1 ACRIMA/Im001.jpg")
        ('cfp/1 acrima/im001.jpg', None)
    """
    plainly = plain_path(place)
    stem = plainly.rpartition(".")[0] or plainly
    for name, pattern in _PATIENTS:
        inside = next((n for n, part in enumerate(stem.split("/")[:-1]) if name in part), None)
        end = "/".join(stem.split("/")[-2:]) if name == "oimhs" else stem.split("/")[-1]
        found = pattern.fullmatch(end) if inside is not None else None
        if found is not None:
            side = found[2].lower()
            return f"{name}/{found[1]}", "left" if side == "left" else "right" if side == "right" else None
    return plainly, None


def questions_of(
    source: str, key: str, pairs: Sequence[object], words: Words, marked: Marked, path: str = ""
) -> tuple[tuple[Question, ...], dict[str, list[str]]]:
    """Return the questions of a row that can be asked, and reason -> details of the others.

    Several questions of a stage are variants, numbered over all that the row has of this stage. Each needs one question
    of every earlier stage, the one that `lmod_train.scoring.chain_steps.drawn_id` draws, so that drawn chains can be
    asked in a cascade. `path` is that of the image.
    """
    numbers: Counter[str] = Counter()
    problems: defaultdict[str, list[str]] = defaultdict(list)
    found: list[tuple[int, StatedQuestion]] = []
    for place, value in enumerate(pairs, 1):
        try:
            stage = category_of(value, words["stages"], words)
            numbers[stage] += 1
            pair = read_pair(value, words["stages"], words, marked)
        except BadPair as error:
            problems[error.reason].append(f"question {place}: {error.detail}")
            continue
        found.append((numbers[stage], pair))
        for reason, detail in pair.problems:
            problems[reason].append(f"question {place}: {detail}")
    named = [(str(number) if numbers[pair.category] > 1 else "", pair) for number, pair in found]
    return tuple(_questions(source, key, named, dataset_tags(path))), dict(problems)


def _questions(
    source: str, key: str, pairs: Sequence[tuple[str, StatedQuestion]], tags_of_image: Mapping[str, str]
) -> Iterator[Question]:
    """Yield the questions of a chain, stage by stage."""
    needs: list[Need] = []
    tags_of_case = disease_tags(pair.answer for _, pair in pairs if pair.category == "DD")
    for stage in STAGES:
        of_stage = [(variant, pair) for variant, pair in pairs if pair.category == stage]
        for variant, pair in of_stage:
            own = {"stage": stage, "aspect": pair.aspect, "level": pair.level, "impact": pair.impact}
            tags = {**own, **tags_of_image, **tags_of_case}
            yield Question(
                task=TASK,
                messages=(Message("user", (Part("image"), Part("text", pair.text))),),
                choices=pair.options,
                answer=pair.answer,
                variant=variant,
                chain=key,
                chain_step=stage,
                needs=tuple(needs),
                tags={name: value for name, value in tags.items() if value},
            )
        if of_stage:
            begin = f"0/{TASK}/{source}/{quote(key)}/{stage}"
            needs.append(Need(stage, variant=min((variant for variant, _ in of_stage), key=partial(_draw, begin))))


def _draw(begin: str, variant: str) -> bytes:
    """Return the key by which one of the variants of a stage is drawn: the hash of the record's id."""
    return hashlib.sha256((f"{begin}/{quote(variant)}" if variant else begin).encode()).digest()
