"""Cases of X-PCR with several images of one eye, and their cross-modality questions.

The released layout of ``multimodal_cases/case_001/`` was not seen. What is read is ours: image files and one JSON file
with the modality of each image and the questions.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lmod_train.core.raw import read_json
from lmod_train.core.types import ImageFile, Message, Part, Question, Sample
from lmod_train.core.vocabulary.modalities import combined
from lmod_train.data.sources.clutter import files_below
from lmod_train.data.sources.row_ids import BadRow, id_of
from lmod_train.data.sources.spelling import plain_name
from lmod_train.data.sources.spellings import plain, shown
from lmod_train.data.sources.xpcr.questions import BadPair, Marked, StatedQuestion, read_pair
from lmod_train.data.sources.xpcr.rows import Read, modality_of, pairs_of, spelled
from lmod_train.data.sources.xpcr.words import (
    CASE_FIELDS,
    MODALITIES,
    PAIR_FIELDS,
    Words,
    renamed,
    unknown_fields,
)

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
    given = renamed(value, CASE_FIELDS, words.fields)
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
    return Read(sample, problems, tuple(unknown_fields(value, CASE_FIELDS, words.fields)))


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
            pairs[place] = read_pair(value, words.kinds, words, marked)
        except BadPair as error:
            problems[error.reason].append(f"question {place}: {error.detail}")
            continue
        for reason, detail in pairs[place].problems:
            problems[reason].append(f"question {place}: {detail}")
        for name in unknown_fields(value, PAIR_FIELDS, words.fields) if isinstance(value, dict) else ():
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
