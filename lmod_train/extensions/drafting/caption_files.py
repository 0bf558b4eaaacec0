"""Files of questions from captions: the user's table, the folder of drafts, and the source of reviewed ones."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.csv_files import write_csv
from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.escaping import from_csv
from lmod_train.core.files import remove, sha256_of, write_durably
from lmod_train.core.links import check_link
from lmod_train.core.pixels import UNREADABLE, blank
from lmod_train.core.raw import json_of_line, lines_of, read_bytes, read_json
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Dropped, Prediction, Question, Record, Sample, SampleStream
from lmod_train.core.vocabulary.modalities import unknown_words
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.data.formats.spreadsheet import Table, cell
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import in_any_form
from lmod_train.extensions.drafting.caption_steps import (
    UNPARSED,
    Comparison,
    Drafts,
    Item,
    Left,
    Settings,
    balanced,
    compared_by,
    counts,
    counts_of,
    faults_of,
    letters,
    prepared,
    share_true,
    summary,
    written,
)
from lmod_train.extensions.drafting.captions import (
    DIFFERS,
    KINDS,
    OPEN,
    SINGLE_CHOICE,
    SOURCE,
    Caption,
    Half,
    compared,
    worded,
)
from lmod_train.extensions.drafting.checks import Fault
from lmod_train.extensions.drafting.drafts import Draft, Drafted, Facts
from lmod_train.extensions.drafting.review import REVIEWED, Review
from lmod_train.tasks.prompt import prompt

FILE = "captions.json"
"""Captions and settings, in the folder of the drafts."""

GENERATION, REWRITING = "generation", "rewriting"
"""Runs in that folder: questions from captions, and what is altered for balance; each with a file of its requests."""

PARITY = "parity"
"""Run in that folder whose records are the questions whose languages a judge has compared."""

QUESTIONS, LEFT, KEYWORDS, COUNTS = "questions.csv", "left_out.csv", "keywords.csv", "counts.csv"

COMPARED = "parity.csv"
"""Tables in that folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of drafts.

    Attributes:
        path: Where it is.
        captions: Key -> caption.
        settings: What is done with the questions.
        left: What of the table of captions was left out.
    """

    path: Path
    captions: Mapping[str, Caption]
    settings: Settings
    left: tuple[Left, ...] = ()

    def write(self) -> None:
        """Write captions and settings."""
        rows: dict[str, Any] = {
            "captions": [asdict(one) for one in self.captions.values()],
            "settings": asdict(self.settings),
            "left": [asdict(one) for one in self.left],
        }
        write_json(self.path / FILE, rows)

    def requests(self, name: str) -> Path:
        """Return the file of the requests of a run."""
        return self.path / f"{name}.parquet"

    def _predictions(self, name: str) -> list[Prediction]:
        check_link(self.path, self.path / name)
        path = Run(self.path / name).predictions
        return list(read_predictions(path)) if path.exists() else []

    def prepared(self) -> Drafts:
        """Return the questions that pass checks and filter, before they are balanced."""
        return prepared(written(self._predictions(GENERATION), self.captions), self.settings)

    def balanced(self) -> Drafts:
        """Return the questions that people review, from the replies."""
        return balanced(self.prepared(), self.settings, self._predictions(REWRITING))

    def compared(self, items: Sequence[Item]) -> dict[str, Comparison]:
        """Return id -> whether both languages say the same, of the questions that a judge has compared."""
        return compared_by(items, self._predictions(PARITY))


def read_folder(path: Path) -> Folder:
    """Read captions and settings of a folder of drafts.

    Raises:
        ArtifactError: It is none, or damaged.
    """
    cure = "write drafts: `python -m lmod_train draft captions CAPTIONS.csv --model MODEL --out DRAFT`"
    file = path / FILE
    check_link(path, file)
    if not file.is_file():
        raise ArtifactError(file, "missing: not a folder written by `draft captions`", cure)
    try:
        rows = read_json(file)
        captions = [Caption(**row) for row in rows["captions"]]
        settings = Settings(**rows["settings"] | {"keywords": tuple(rows["settings"]["keywords"])})
        left = tuple(Left(**row) for row in rows["left"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtifactError(file, f"cannot be read ({type(error).__name__}: {error})", cure) from error
    return Folder(path, {one.key: one for one in captions}, settings, left)


def write_lists(folder: Folder, drafts: Drafts) -> None:
    """Write the questions, what was left out, keywords and counts as tables; all are derived from the replies."""
    compared = folder.compared(drafts.items)
    questions = [
        (item.id, item.image, item.kind, item.altered, _text(item, "en"), item.pair.en.answer,
         _text(item, "zh"), item.pair.zh.answer, compared[item.id].outcome if item.id in compared else "")
        for item in drafts.items
    ]  # fmt: skip
    outcomes = [("parity", outcome, n) for outcome, n in counts(compared).items() if n]
    left = [(one.id, one.step, one.reason, one.detail) for one in (*folder.left, *drafts.left)]
    tables: tuple[tuple[str, Sequence[str], Sequence[Sequence[object]]], ...] = (
        (QUESTIONS, ("id", "image", "kind", "altered", "en", "answer_en", "zh", "answer_zh", "parity"), questions),
        (LEFT, ("id", "step", "reason", "detail"), left),
        (KEYWORDS, ("keyword", "questions"), list(drafts.keywords.items())),
        (COUNTS, ("step", "reason", "count"), [*counts_of(Drafts((), (*folder.left, *drafts.left), {})), *outcomes]),
        (COMPARED, ("id", "outcome", "reason", "reply", "en", "zh"), _compared_rows(drafts.items, compared)),
    )
    for name, columns, rows in tables:
        write_csv(folder.path / name, columns, rows, end="\r\n")


def _compared_rows(items: Sequence[Item], compared: Mapping[str, Comparison]) -> list[tuple[str, ...]]:
    """Return a row for each question that was compared: those that differ first, then those without a verdict."""
    order = {DIFFERS: 0, UNPARSED: 1}
    found = sorted((item for item in items if item.id in compared), key=lambda i: order.get(compared[i.id].outcome, 2))
    return [
        (item.id, one.outcome, one.reason, one.prediction.reply.reply[:200], _text(item, "en"), _text(item, "zh"))
        for item in found
        for one in [compared[item.id]]
    ]


def _text(item: Item, language: str) -> str:
    """Return a question in one language, with its options if it is a single-choice question."""
    half = item.pair.halves[language]
    return worded(half, language) if item.kind == SINGLE_CHOICE else half.question


def lines(folder: Folder, drafts: Drafts) -> list[str]:
    """Return what a terminal shows of a folder: questions by kind, balance, and what was left out."""
    kinds = {kind: sum(item.kind == kind for item in drafts.items) for kind in KINDS}
    found = [f"{sum(kinds.values())} questions in both languages: " + ", ".join(f"{k} {n}" for k, n in kinds.items())]
    if (share := share_true(drafts.items)) is not None:
        altered = sum(item.altered for item in drafts.items)
        found.append(f"  True {100 * share:.1f} %, {altered} statements altered to be False")
    if kinds["single_choice_question"]:
        found.append("  letters " + ", ".join(f"{letter} {n}" for letter, n in letters(drafts.items).items()))
    counted = counts_of(Drafts((), (*folder.left, *drafts.left), {}))
    found += [f"  {line}" for line in summary(folder.compared(drafts.items), len(drafts.items))]
    found += [f"  left out: {step}: {reason} {n}" for step, reason, n in counted]
    if drafts.keywords:
        most = list(drafts.keywords.items())[:10]
        found.append("  keywords: " + ", ".join(f"{word} {n}" for word, n in most))
    tables = (QUESTIONS, LEFT, KEYWORDS, COUNTS, COMPARED)
    return [*found, f"wrote {', '.join(str(folder.path / name) for name in tables)}"]


# A user's table of captions and images: read, checked row by row, and its images copied beside the drafts.
IMAGES = "images"
"""Folder of the copied images in the folder of the drafts."""

STEP = "caption"

TABLE = Table(
    "captions", "a CSV file or workbook with the columns image and caption, and optionally id, group, modality, "
    "subspecialty, text_in_image and licence", ("image", "caption"),
    ("id", "group", "modality", "subspecialty", "text_in_image", "licence"),
)  # fmt: skip

_YES, _NO = ("yes", "true", "1", "x", "是"), ("no", "false", "0", "否")

LICENCE = "that of the images"


def read_captions(path: Path) -> tuple[list[Caption], list[Left]]:
    """Return the captions of a table, and what of it is left out: by row, with its reason.

    Image paths are relative to the table's folder. An unknown modality is left empty and listed.

    Raises:
        BadArgument: The table cannot be read, lacks a column, or has no caption that can be used.
    """
    kept: dict[str, Caption] = {}
    left: list[Left] = []
    phantom = (path.parent / NOTE).is_file()
    for line, row in TABLE.read(path):
        found = _caption(row, path.parent, phantom)
        if isinstance(found, Caption) and found.key in kept:
            found = "same_id", found.key
        if isinstance(found, Caption):
            kept[found.key] = found
            left += _lost(found.key, row)
        else:
            left.append(Left(f"{path.name}:{line}", STEP, *found))
    if not kept:
        reasons = ", ".join(sorted({one.reason for one in left})) or "no row"
        raise BadArgument("captions", str(path), f"a caption with an image ({reasons})", "correct the table")
    return list(kept.values()), left


def _caption(row: dict[str, str], folder: Path, phantom: bool) -> Caption | tuple[str, str]:
    """Return the caption of a row, or reason and detail."""
    name, text = from_csv(cell(row, "image")), " ".join(from_csv(cell(row, "caption")).split())
    if not text:
        return "no_caption", name
    path = PurePosixPath(name.replace("\\", "/"))
    if (
        not name
        or path.is_absolute()
        or ".." in path.parts
        or not Path(os.path.realpath(folder / path)).is_relative_to(os.path.realpath(folder))
    ):
        return "no_image", f"{name or 'empty'}: expected a path below the folder of the table"
    with suppress(ValueError, OSError):  # listed below
        path = PurePosixPath(in_any_form(folder, str(path)).relative_to(folder).as_posix())
    try:
        bare = blank(read_bytes(folder / path))
    except UNREADABLE as error:
        return "no_image", f"{name}: {type(error).__name__}"
    stated = cell(row, "modality")
    return Caption(
        key=from_csv(cell(row, "id")) or str(path),
        image=f"{IMAGES}/{path}",
        text=text,
        sha256=hashlib.sha256(bare).hexdigest(),
        group=from_csv(cell(row, "group")) or str(path),
        modality="" if unknown_words(stated) else stated,
        licence=from_csv(cell(row, "licence")) or LICENCE,
        tags=_tags(row),
        phantom=phantom,
    )


def _tags(row: dict[str, str]) -> dict[str, str]:
    flag = cell(row, "text_in_image").casefold()
    found = {"subspecialty": from_csv(cell(row, "subspecialty"))}
    found["text_in_image"] = "yes" if flag in _YES else "no" if flag in _NO else ""
    return {name: value for name, value in found.items() if value}


def _lost(key: str, row: dict[str, str]) -> list[Left]:
    """Return the cells of a row that are not understood; the caption is kept without them."""
    found, flag = [], cell(row, "text_in_image")
    if unknown_words(cell(row, "modality")):
        found.append(Left(key, STEP, "unknown_modality", cell(row, "modality")))
    if flag and flag.casefold() not in (*_YES, *_NO):
        found.append(Left(key, STEP, "unknown_flag", f"text_in_image: {flag}"))
    return found


def copy_images(captions: Sequence[Caption], table: Path, folder: Path) -> None:
    """Copy the images of captions, without metadata, and the note of phantoms into the folder of the drafts."""
    for caption in captions:
        target = folder / caption.image
        if not (target.is_file() and sha256_of(target) == caption.sha256):
            source = table.parent / caption.image.removeprefix(f"{IMAGES}/")
            with write_durably(target) as beside:
                beside.write_bytes(blank(read_bytes(source)))
    check_link(table.parent, table.parent / NOTE)
    if (table.parent / NOTE).is_file() and not (folder / NOTE).exists():
        with write_durably(folder / NOTE) as beside:
            shutil.copyfile(table.parent / NOTE, beside)


# Reviewed questions from captions as a source of the one curation.
RELEASED = "released.jsonl"
"""In the folder of the drafts: the questions that a review has released, a line each."""


def write_released(path: Path, found: Sequence[Accepted], captions: Mapping[str, Caption]) -> None:
    """Write the questions of a review whole, a JSON line each; without one, remove the file of an earlier review."""
    if not found:
        remove(path)
        return
    rows = []
    for one in found:
        caption, item = captions[one.item.caption], one.item
        shared = ("image", "sha256", "group", "modality", "licence", "phantom")
        about = {name: getattr(caption, name) for name in shared} | {"kind": item.kind, "review": one.how}
        halves = {language: asdict(half) for language, half in item.pair.halves.items()}
        rows.append(about | {"altered": item.altered, "tags": dict(caption.tags), **halves})
    with write_durably(path) as beside:
        text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
        beside.write_bytes(text.encode("utf-8", "surrogatepass"))


class ReviewedCaptions(Source):
    """Questions that a model wrote from captions and people reviewed; keys are paths of the images.

    Ready questions of the tasks `binary_question`, `single_choice_question` and `open_question`, in Chinese and
    English, the two halves of a question with one number. Tags state the language, the review (``reviewed`` or
    ``sampled``), the subspecialty, and whether there is text in the image, where the table of captions does. Patients
    are groups.

    Args:
        root: Folder written by `draft captions`, with a review of its questions.
    """

    name = "captions"
    modality = ""
    licence = "that of the images"
    redistributable = False
    reference = "questions written by a model from captions and reviewed by people"

    def __init__(self, root: Path = UNPLACED) -> None:
        super().__init__(root)

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the folder was written by `draft captions`."""
        return (folder / FILE).is_file()

    def verify(self) -> None:
        """Check that there are reviewed questions.

        Raises:
            BadArgument: There are none: without a review of a sample no question becomes a record.
        """
        if not (self.root / RELEASED).is_file():
            cure = f"python -m lmod_train draft review-captions {self.root} --blank SHEET.csv"
            expected = f"a folder of questions with a review that has passed ({RELEASED} is missing)"
            raise BadArgument("--roots.captions", str(self.root), expected, f"let people review a sample: `{cure}`")

    def inputs(self) -> Mapping[str, Any]:
        """Return the SHA-256 of the released questions, and how many were reviewed, for the manifest."""
        rows = self._rows()
        return {"sha256": sha256_of(self.root / RELEASED), "review": dict(Counter(str(row["review"]) for row in rows))}

    def samples(self) -> SampleStream:
        """Yield a sample for each image with its questions; one that has changed since is left out and listed."""
        images = Curated(self.root)
        rows = sorted(self._rows(), key=lambda row: str(row["image"]))
        for image, several in groupby(rows, key=lambda row: str(row["image"])):
            own = list(several)
            path, first = images.file(image), own[0]
            if not path.is_file() or sha256_of(path) != first["sha256"]:
                yield Dropped(self.name, image, image, "read", "image_changed", "not the image of the caption")
                continue
            yield Sample(
                source=self.name,
                key=image.partition("/")[2],
                modality=str(first["modality"]),
                image=path,
                group=str(first["group"]),
                licence=str(first["licence"]),
                phantom=bool(first["phantom"]),
                asked=tuple(_questions(own)),
            )

    def _rows(self) -> list[dict[str, Any]]:
        """Return the rows of the file of released questions.

        Raises:
            ArtifactError: A line is damaged.
        """
        path = self.root / RELEASED
        check_link(self.root, path)
        try:
            rows = [json_of_line(line) for line in lines_of(path) if line.strip()]
            for row in rows:
                _check(row)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            cure = (
                f"read the sheets again: `python -m lmod_train draft review-captions {self.root} --sheets A.csv B.csv`"
            )
            raise ArtifactError(path, f"cannot be read ({type(error).__name__}: {error})", cure) from error
        return rows


def _check(row: Mapping[str, Any]) -> None:
    """Refuse a row that does not hold a question in both languages.

    Raises:
        ValueError: It does not.
        KeyError: A value is missing.
    """
    texts = ("image", "sha256", "group", "modality", "licence", "review")
    if row["kind"] not in KINDS or not all(isinstance(row[name], str) for name in texts):
        raise ValueError("a row is no question")
    for language in ("en", "zh"):
        half = _half(row[language])
        if half.options and half.right < 0:
            raise ValueError("an answer is no option")


def _half(row: Mapping[str, Any]) -> Half:
    return Half(str(row["question"]), tuple(map(str, row["options"])), str(row["answer"]))


def _questions(rows: Sequence[Mapping[str, Any]]) -> Iterator[Question]:
    """Yield both halves of each question about an image, numbered by kind."""
    numbers: Counter[str] = Counter()
    for row in rows:
        kind = str(row["kind"])
        numbers[kind] += 1
        for language in ("zh", "en"):
            half = _half(row[language])
            words = worded(half, language) if kind == KINDS[1] else half.question
            tags = {**row["tags"], "language": language, "review": str(row["review"])}
            yield Question(
                kind, prompt(words), half.options, half.answer, language,
                variant=f"{numbers[kind]}-{language}", tags=tags,
            )  # fmt: skip


# Written questions as drafts that people review, and the pairs that a review releases.
OTHERS = 3
"""Answers of other images that stand beside that of an open question in a review."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A question that a review has released in both languages.

    Attributes:
        item: The question, as corrected.
        how: ``reviewed`` if people have read both halves, otherwise ``sampled``.
    """

    item: Item
    how: str


def to_review(items: Sequence[Item], captions: Mapping[str, Caption], seed: int = 0) -> list[Drafted]:
    """Return two drafts for each question, one a language; the stages of their review are kinds and languages.

    An open question is shown with its answer among answers of other images, so that a reviewer who agrees has found
    it. Reviewers do not see the caption.

    Args:
        items: Questions.
        captions: Key -> caption of each.
        seed: Seed of the other answers and of their order.
    """
    found = [
        _drafted(item, language, half, captions[item.caption], items, seed)
        for item in items
        for language, half in item.pair.halves.items()
    ]
    return sorted(found, key=lambda one: one.id)


def review_id(item: Item, language: str) -> str:
    """Return the id of one half in a review; it ends in the stage, the kind with the language."""
    return "/".join(["question", SOURCE, quote(item.caption), str(item.number), f"{item.kind}-{language}"])


def _drafted(item: Item, language: str, half: Half, caption: Caption, items: Sequence[Item], seed: int) -> Drafted:
    stage = f"{item.kind}-{language}"
    options = half.options or _among_others(item, language, half, items, seed)
    record = Record(
        review_id(item, language), "question", "", 1, SOURCE, item.caption, caption.modality, (item.image,),
        (item.image,), (caption.sha256,), "test", caption.group or item.image, language, prompt(half.question), (),
        half.answer, chain_step=stage, phantom=caption.phantom, licence=caption.licence,
    )  # fmt: skip
    draft = Draft(half.question, options, ascii_uppercase[options.index(half.answer)], "")
    return Drafted(record, draft, Facts(stage, half.answer))


def _among_others(item: Item, language: str, half: Half, items: Sequence[Item], seed: int) -> tuple[str, ...]:
    """Return an open answer among different answers to open questions about other images, in a seeded order."""
    own = compared(half.answer)
    others = {
        compared(text): text
        for other in items
        if other.kind == OPEN and other.image != item.image
        for text in [other.pair.halves[language].answer]
        if compared(text) not in own and own not in compared(text)
    }
    drawn = sorted(others.values(), key=lambda text: shuffle_key(seed, "other", item.id, text))[:OTHERS]
    return tuple(sorted([half.answer, *drawn], key=lambda text: shuffle_key(seed, "place", item.id, text)))


def faults_of_drafts(drafts: Sequence[Drafted]) -> list[Fault]:
    """Return what is wrong with a question in one language as a reviewer has corrected it: empty or equal options."""
    found = []
    for one in drafts:
        plain = [compared(option) for option in one.draft.options]
        if not all(plain) or len({*plain}) < len(plain):
            found.append(Fault(one.id, one.stage, "options", "empty or equal options"))
    return found


def halves_of(items: Sequence[Item], ids: Collection[str]) -> list[str]:
    """Return the ids, in a review, of both halves of the questions with some ids."""
    return [review_id(item, language) for item in items if item.id in ids for language in item.pair.halves]


def accepted(
    items: Sequence[Item], review: Review, differing: Collection[str] = ()
) -> tuple[list[Accepted], dict[str, str]]:
    """Return the questions of which both halves are released, and id of each other one -> the reason.

    Args:
        items: All questions.
        review: Of the drafts that `to_review` made of them.
        differing: Ids of those whose languages a judge calls different: not released unless people have read both.
    """
    released = {one.drafted.id: one for one in review.released}
    found: list[Accepted] = []
    left: dict[str, str] = {}
    for item in items:
        ids = {language: review_id(item, language) for language in item.pair.halves}
        lacking = [language for language, id in ids.items() if id not in released]
        if lacking:
            left[item.id] = f"not released: {', '.join(lacking)}"
            continue
        halves = {language: _half_reviewing(released[id].drafted.draft, item) for language, id in ids.items()}
        corrected = replace(item, pair=replace(item.pair, en=halves["en"], zh=halves["zh"]))
        faults = faults_of(corrected.pair)
        read = all(released[id].how == REVIEWED for id in ids.values())
        if item.id in differing and not read:
            left[item.id] = "a judge calls its languages different, and it is not on the sheet: write a new one"
        elif faults:
            left[item.id] = f"as corrected: {faults[0][0]}: {faults[0][1]}"
        else:
            found.append(Accepted(corrected, REVIEWED if read else "sampled"))
    return found, left


def _half_reviewing(draft: Draft, item: Item) -> Half:
    return Half(draft.question, () if item.kind == OPEN else draft.options, draft.right)
