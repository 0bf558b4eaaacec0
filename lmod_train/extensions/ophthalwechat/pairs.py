"""The questions of one image, each joined with its translation, and the image files that rows name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lmod_train.core.types import Message, Part, Question
from lmod_train.data.sources.row_ids import BadRow, id_of
from lmod_train.data.sources.spelling import plain_name
from lmod_train.data.sources.spellings import Words, folded, plain
from lmod_train.extensions.ophthalwechat.questions import Asked, Row
from lmod_train.extensions.ophthalwechat.words import modality_of, shown

LANGUAGES = ("zh", "en")


@dataclass(frozen=True, slots=True)
class Placed:
    """A question with its place in a workbook.

    Attributes:
        asked: The question.
        place: Workbook, sheet and row, in words.
        pair: Name that the question shares with its translation; empty if none is stated.
    """

    asked: Asked
    place: str
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A question that is left out, or that is kept without its translation: its place, the reason and the detail."""

    place: str
    reason: str
    detail: str


def questions_of(found: Sequence[Placed], tags: Mapping[str, str], problems: list[Problem]) -> tuple[Question, ...]:
    """Return the questions of an image, numbered by kind in the order of the workbook.

    A question and its translation have one number. Of two equal questions with one answer the first is kept; with two
    answers, neither.

    Args:
        found: Every question of the image, in order.
        tags: Tags of each question, besides its language.
        problems: Gets an entry for each question that is left out or lacks its translation.
    """
    kept = _without_doubles(found, problems)
    numbers: Counter[str] = Counter()
    asked: list[Question] = []
    for together in _pairs(kept, problems):
        numbers[together[0].asked.task] += 1
        asked += [_question(one.asked, numbers[one.asked.task], tags) for one in together]
    return tuple(asked)


def _question(asked: Asked, number: int, tags: Mapping[str, str]) -> Question:
    return Question(
        task=asked.task,
        messages=(Message("user", (Part("image"), Part("text", asked.words))),),
        choices=asked.choices,
        answer=asked.answer,
        language=asked.language,
        variant=f"{number}-{asked.language}",
        tags={**tags, "language": asked.language},
    )


def _without_doubles(found: Sequence[Placed], problems: list[Problem]) -> list[Placed]:
    same: defaultdict[tuple[object, ...], list[Placed]] = defaultdict(list)
    for one in found:
        asked = one.asked
        options = frozenset(asked.choices) if asked.task == "single_choice_question" else frozenset()
        same[asked.task, asked.language, _compared(asked.stem), options].append(one)
    out: set[str] = set()
    for several in same.values():
        answers = {_compared(one.asked.answer) for one in several}
        for one in several if len(answers) > 1 else several[1:]:
            out.add(one.place)
            first = next(other.place for other in several if other is not one)
            reason = "two answers" if len(answers) > 1 else "same question twice"
            problems.append(Problem(one.place, reason, f"{shown(one.asked.stem)}, as in {first}"))
    return [one for one in found if one.place not in out]


def _compared(text: str) -> str:
    """Return the letters and digits of a text in half width and lower case, which two equal questions share."""
    return "".join(c for c in folded(text) if c.isalnum())


def _pairs(kept: Sequence[Placed], problems: list[Problem]) -> Iterator[list[Placed]]:
    """Yield each question with its translation, in the order of the first of them; alone if it has none."""
    together: defaultdict[tuple[str, str], list[Placed]] = defaultdict(list)
    for one in kept:
        together[one.asked.task, one.pair or f"\0{one.place}"].append(one)
    for (_, pair), several in together.items():
        if pair.startswith("\0"):
            yield several
            continue
        reason, detail = _unpaired(several)
        if reason:
            problems.append(Problem(several[0].place, reason, f"pair {shown(pair)}: {detail}"))
        yield from [several] if not reason else ([one] for one in several)


def _unpaired(several: Sequence[Placed]) -> tuple[str, str]:
    """Return reason and detail why questions of one name are no question with its translation; empty if they are."""
    languages = [one.asked.language for one in several]
    if len(several) == 1:
        (missing,) = {*LANGUAGES} - {*languages}
        return "one language missing", f"only {languages[0]}, no {missing}; the question is kept alone"
    if sorted(languages) != sorted(LANGUAGES):
        places = ", ".join(one.place for one in several[1:4])
        return "pair twice", f"{len(several)} questions ({', '.join(languages)}), also {places}; each is kept alone"
    if len({one.asked.place for one in several}) > 1:
        answers = " and ".join(shown(one.asked.answer) for one in several)
        return "two answers in a pair", f"{answers}; both questions are kept, each alone"
    return "", ""


def in_order(found: Iterable[Placed]) -> list[Placed]:
    """Return questions paired by their order: the third Chinese with the third English one of a kind.

    Kinds with different numbers of both languages are not paired, nor questions that state a pair.
    """
    several = list(found)
    counts = Counter((one.asked.task, one.asked.language) for one in several)
    numbers: Counter[tuple[str, str]] = Counter()
    paired = []
    for one in several:
        task, language = one.asked.task, one.asked.language
        numbers[task, language] += 1
        equal = len({counts[task, other] for other in LANGUAGES}) == 1
        name = one.pair or (f"#{numbers[task, language]}" if equal else "")
        paired.append(Placed(one.asked, one.place, name))
    return paired


# The images of OphthalWeChat: rows of the workbook of images, joined by their address, and the user's files.
KINDS_OF_FILE = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".gif"}


CONDITION = "eye_condition"
"""Tag of the condition that a table states of an image."""


@dataclass(slots=True)
class Picture:
    """An image with what its rows state.

    Attributes:
        id: Of its first row.
        place: Workbook, sheet and row, in words.
        ids: Of all its rows, which have one address.
        files: Names of files that its rows state.
        modality: Of the vocabulary; empty if it is not known.
        subspecialty: Of the vocabulary; empty if it is not known.
        article: Empty if it is not stated.
        condition: As stated, on one line; empty if it is not.
    """

    id: str
    place: str
    ids: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    modality: str = ""
    subspecialty: str = ""
    article: str = ""
    condition: str = ""

    @property
    def tags(self) -> dict[str, str]:
        """Tags of its questions; a condition is no subset of the scores, as there are hundreds."""
        return {key: name for key, name in (("subspecialty", self.subspecialty), (CONDITION, self.condition)) if name}


def image_id(text: str) -> str:
    """Return the id of an image as a key; the name of an image file without its ending.

    Raises:
        BadRow: It cannot be part of a path.

    Example:
        >>> image_id("12"), image_id("post3/7.JPG")
        ('12', 'post3/7')
    """
    stem, _, ending = text.rpartition(".")
    return id_of(stem if f".{ending}".casefold() in KINDS_OF_FILE else text)


def address(text: str) -> str:
    """Return the address of an image without what differs between equal ones.

    Example:
        >>> address("http://mmbiz.qpic.cn/a/640?wx_fmt=png#x") == address(" https://mmbiz.qpic.cn/a/640?wx_fmt=png")
        True
    """
    return text.strip().partition("#")[0].partition("://")[2] or text.strip()


class Pictures:
    """Images by id and by address; rows of one address are one image."""

    def __init__(self) -> None:
        self.by_id: dict[str, Picture] = {}
        self._by_address: dict[str, Picture] = {}

    def __iter__(self) -> Iterator[Picture]:
        """Yield each image once, in the order of the rows."""
        return iter({id(picture): picture for picture in self.by_id.values()}.values())

    def add(self, row: Row, place: str, words: Words) -> list[tuple[str, str]]:
        """Add a row of the workbook of images; return reason and detail of what is left out of it.

        Raises:
            BadRow: The row is of no image, or of one that has a row already.
        """
        stated, file, url = row.text("image"), row.text("file"), row.text("url")
        key = image_id(stated or file) if stated or file else ""
        if not key:
            row.text("image", required=True)
        if key in self.by_id:
            raise BadRow("same id twice", f"{key} is the id of {self.by_id[key].place} too")
        own, problems = _read(row, key, place, words)
        shared = self._by_address.get(address(url)) if url else None
        self.by_id[key] = picture = shared or own
        picture.ids.append(key)
        picture.files += [file] if file else []
        if url:
            self._by_address.setdefault(address(url), picture)
        if shared is not None:
            problems += _joined(shared, own)
        return problems

    def find(self, text: str, url: str) -> Picture | None:
        """Return the image that a question names by its id or its address; None if there is no row of it."""
        if text:
            return self.by_id.get(image_id(text))
        return self._by_address.get(address(url)) if url else None


def _read(row: Row, key: str, place: str, words: Words) -> tuple[Picture, list[tuple[str, str]]]:
    problems = []
    found, subspecialty = row.text("modality"), row.text("subspecialty")
    modality = modality_of(found, words) if found else ""
    if modality is None:
        detail = (
            f"{shown(found)}, names of lmod_train/core/vocabulary/modalities.toml expected; see the option `modalities`"
        )
        problems.append(("unknown modality", detail))
    name = words["subspecialties"].get(plain(subspecialty), "")
    if subspecialty and not name:
        expected = f"expected one of {', '.join(dict.fromkeys(words['subspecialties'].values()))}"
        problems.append(("unknown subspecialty", f"{shown(subspecialty)}, {expected}; see the option `subspecialties`"))
    condition = " ".join(row.text("condition").split())[:200]
    return Picture(key, place, [], [], modality or "", name, row.text("article")[:200], condition), problems


def _joined(first: Picture, other: Picture) -> list[tuple[str, str]]:
    """Return what differs between two rows of one address; what the first does not state is taken from the other."""
    problems = []
    for name in ("modality", "subspecialty", "article", "condition"):
        ours, theirs = getattr(first, name), getattr(other, name)
        if ours and theirs and ours != theirs:
            detail = f"{name} {shown(theirs)}, but {shown(ours)} in {first.place} of the same address, which counts"
            problems.append(("rows of one address differ", detail))
        elif theirs and not ours:
            setattr(first, name, theirs)
    return problems


def files_by_name(root: Path, files: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the end of a path, with or without the ending of the file -> the image files of it, in their order.

    Example:
        >>> list(files_by_name(Path("raw"), [Path("raw/images/12.JPG")]))
        ['12.jpg', '12', 'images/12.jpg', 'images/12']
    """
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for file in files:
        if file.suffix.casefold() in KINDS_OF_FILE:
            parts = [plain_name(part) for part in file.relative_to(root).parts]
            ends = ["/".join(parts[-n:]) for n in range(1, len(parts) + 1)]
            for name in (name for end in ends for name in (end, end.rpartition(".")[0])):
                found[name].append(file)
    return dict(found)


def file_of(picture: Picture, files: Mapping[str, list[Path]]) -> Path | None:
    """Return the file of an image: one that its rows name, else the one that has an id as its name; None for none.

    Raises:
        BadRow: Several files have the name.
    """
    for name in (*picture.files, *picture.ids):
        found = files.get("/".join(plain_name(part) for part in name.replace("\\", "/").split("/")), [])
        if len(found) > 1:
            others = ", ".join(file.name for file in found[:3])
            raise BadRow("several files", f"{len(found)} files have the name {shown(name)}: {others}; keep one")
        if found:
            return found[0]
    return None
