"""The questions of X-PCR's rows: spellings, category, words, options and answer, or why one cannot be asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from lmod_train.core.package_data import package_data, package_table
from lmod_train.data.sources.spellings import Words, folded, plain, shown, spellings

LONGEST_QUESTION, LONGEST_OPTION, MOST_OPTIONS = 4000, 1000, 26
"""Characters of a question and of an option; options are named by the letters A to Z."""

Marked = Literal["drop", "strip"]
"""What becomes of a question with ``(Correct)`` inside an option."""

_OPTIONS = re.compile(r"\n\s*options\s*:", re.IGNORECASE)

_ITEM = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*([,\]])""", re.DOTALL)

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|.)", re.DOTALL)

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}

_CORRECT = re.compile(r"\s*[(\[\uff08]\s*correct(?:\s+answer)?\s*[)\]\uff09]", re.IGNORECASE)

_PLACEHOLDER = re.compile(r"\{answer\b", re.IGNORECASE)


def table_of(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a CSV file of this folder: ``sources`` or ``taxonomy``, Tables 1 and 2 of the supplement."""
    return package_table(__file__, f"{name}.csv")


@cache
def _diseases() -> dict[str, tuple[str, str]]:
    """Return plain name -> disease, empty for a name of several, and category of X-PCR's taxonomy."""
    named = {
        plain(name): ("", group)
        for group, names in package_data(__file__, "words.yaml")["questions"]["categories"].items()
        for name in (group, *names)
    }
    for row in table_of("taxonomy"):
        named |= {plain(row[key]): (row["full_name"], row["category"]) for key in ("full_name", "abbreviation")}
    return named


def disease_tags(names: Iterable[str]) -> dict[str, str]:
    """Return the tags ``disease`` and ``category`` of a case by the names of its diagnoses.

    A tag is absent where no name is one of X-PCR's Table 2, or where several are of different ones.

    Example:
        >>> disease_tags(["PDR", "yes"]), disease_tags(["glaucoma"]), disease_tags(["PDR", "glaucoma"])
        ({'disease': 'Proliferative diabetic retinopathy', 'category': 'DR'}, {'category': 'GLA'}, {})
    """
    found = {_diseases()[key] for name in names if (key := plain(name)) in _diseases()}
    parts = {"disease": {disease for disease, _ in found} - {""}, "category": {category for _, category in found}}
    return {tag: min(some) for tag, some in parts.items() if len(some) == 1 == len(parts["category"])}


def dataset_tags(path: str) -> dict[str, str]:
    """Return the tag ``dataset`` of an image of the release: number and name in X-PCR's Table 1, if its path has them.

    Example:
        >>> dataset_tags("CFP/12 ODIR-5K/Training Images/2909_right.jpg"), dataset_tags("CFP/mine/1.jpg")
        ({'dataset': '12 ODIR-5K'}, {})
    """
    known = _datasets()
    found = {known[plain(part)] for part in re.split(r"[/\\]", path) if plain(part) in known}
    return {"dataset": found.pop()} if len(found) == 1 else {}


@cache
def _datasets() -> dict[str, str]:
    """Return plain number and name of each data set in Table 1 -> as printed."""
    return {plain(name): name for row in table_of("sources") for name in [f"{row['index']} {row['dataset']}"]}


@cache
def dataset_of(source: str) -> dict[str, str]:
    """Return the tag ``dataset`` of a source of this package, if one row of Table 1 has its name."""
    name = {"fairseg": "harvardfairseg"}.get(source, source)
    rows = [row for row in table_of("sources") if re.sub(r"\W", "", row["dataset"]).casefold() == name]
    return {"dataset": f"{rows[0]['index']} {rows[0]['dataset']}"} if len(rows) == 1 else {}


class BadPair(ValueError):
    """A question that cannot be asked; carries the reason and the detail of its line in dropped.csv."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True)
class StatedQuestion:
    """One question.

    Attributes:
        category: Stage or kind.
        text: The question without its options.
        options: Texts of the options in their order.
        answer: The option that is right.
        level: ``R``, ``A`` or ``S``; empty if not stated.
        impact: ``1`` to ``5``; empty if not stated.
        aspect: What of the stage is asked about, in the words of the source such as ``Clarity``; empty if not stated.
        problems: (reason, detail) of a level or impact that fits nothing and is left out.
    """

    category: str
    text: str
    options: tuple[str, ...]
    answer: str
    level: str = ""
    impact: str = ""
    aspect: str = ""
    problems: tuple[tuple[str, str], ...] = ()


def category_of(pair: object, known: Mapping[str, str], words: Words) -> str:
    """Return the stage or kind of a question.

    Raises:
        BadPair: The question is no object, or its category fits nothing.
    """
    if not isinstance(pair, dict):
        raise BadPair("not a question", f"{shown(pair)}, expected an object with {', '.join(PAIR_FIELDS[:5])}")
    named = renamed(pair, PAIR_FIELDS, words["fields"]).get("category")
    found = known.get(plain(named)) if isinstance(named, str) else None
    if found is None:
        names = ", ".join(dict.fromkeys(known.values()))
        raise BadPair("unknown category", f"{shown(named)}, expected one of {names}; see the option `categories`")
    return found


def read_pair(pair: object, known: Mapping[str, str], words: Words, marked: Marked = "drop") -> StatedQuestion:
    """Return a question as it can be asked.

    Args:
        pair: As the file has it.
        known: Plain spelling -> stage or kind.
        words: Spellings of the other fields.
        marked: ``strip`` removes ``(Correct)`` from options, ``drop`` leaves such a question out.

    Raises:
        BadPair: It cannot be asked.
    """
    category = category_of(pair, known, words)
    assert isinstance(pair, dict)  # checked by `category_of`
    given = renamed(pair, PAIR_FIELDS, words["fields"])
    _check_type(given.get("question_type"), words)
    whole = _text("question", given.get("question"))
    question, options = _divided(whole, given.get("options"))
    answer = _text("answer", given.get("answer"))
    if any(_CORRECT.search(option) for option in options):
        if marked == "drop":
            raise BadPair("right option marked", "an option contains (Correct); `marked: strip` removes it")
        options, answer = [_CORRECT.sub("", o) for o in options], _CORRECT.sub("", answer)
    options, letters = _without_letters([" ".join(option.split()) for option in options])
    _check_options(options)
    right = _right(" ".join(answer.split()), options, letters)
    level, impact = (_graded(name, given.get(name), words) for name in ("level", "impact"))
    problems = tuple(found for found in (level, impact) if isinstance(found, tuple))
    named = ["" if isinstance(found, tuple) else found for found in (level, impact)]
    said = given.get("sub_label")
    aspect = " ".join(said.split())[:80] if isinstance(said, str) else ""
    return StatedQuestion(category, question, tuple(options), right, named[0], named[1], aspect, problems)


def listed_options(text: str) -> list[str]:
    r"""Return the options of a list as Python or JSON write it, without evaluating it.

    Raises:
        BadPair: It is no list of quoted texts.

    Example:
        >>> listed_options(" ['good', \"the eye's lens\"]")
        ['good', "the eye's lens"]
    """
    rest = text.strip()
    if not rest.startswith("["):
        raise BadPair("unreadable options", f"{shown(rest)}, expected a list of quoted texts in brackets")
    found: list[str] = []
    at, end = 1, ","
    while end == ",":
        item = _ITEM.match(rest, at)
        if item is None or len(found) > MOST_OPTIONS:
            raise BadPair("unreadable options", f"after {len(found)} options: {shown(rest[at : at + 60])}")
        found.append(_ESCAPE.sub(_unescaped, item[1] if item[1] is not None else item[2]))
        at, end = item.end(), item[3]
    if rest[at:]:
        raise BadPair("unreadable options", f"words behind the list: {shown(rest[at:])}")
    return found


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadPair(f"no {name}", f"{shown(value)}, expected text")
    if len(value) > LONGEST_QUESTION + MOST_OPTIONS * LONGEST_OPTION:
        raise BadPair("text too long", f"{name} of {len(value):,} characters")
    if any("\ud800" <= c <= "\udfff" or (c < " " and c not in "\n\t\r") for c in value):
        raise BadPair("unreadable text", f"{name} with control characters or broken UTF-8: {shown(value)}")
    if _PLACEHOLDER.search(value):
        raise BadPair("placeholder in the words", f"{name} contains {{answer ...}}, which stands for an earlier answer")
    return value


def _divided(whole: str, given: object) -> tuple[str, list[str]]:
    """Return the question without its options, and the options."""
    marks = list(_OPTIONS.finditer(whole))
    if marks:
        question, options = whole[: marks[-1].start()], listed_options(whole[marks[-1].end() :])
    elif isinstance(given, dict) and all(isinstance(key, str) for key in given):
        question, options = whole, [f"{key}. {_text('option', value)}" for key, value in given.items()]
    elif isinstance(given, list) and given:
        question, options = whole, given
    else:
        raise BadPair("no options", f"expected `Options: ['...', ...]` behind the question, found {shown(whole)}")
    for option in options:
        _text("option", option)
    if not question.strip():
        raise BadPair("no question", "the text before the options is empty")
    if len(question) > LONGEST_QUESTION:
        raise BadPair("text too long", f"question of {len(question):,} characters, expected up to {LONGEST_QUESTION:,}")
    return question.strip(), options


def _without_letters(options: list[str]) -> tuple[list[str], list[str]]:
    """Return the options without letters in front, and the letters, if each begins with its own (``A. good``)."""
    letters = [chr(ord("A") + n) for n in range(min(len(options), MOST_OPTIONS))]
    lettered = len(letters) == len(options) and all(
        len(o) > 1 and o[0].upper() == letter and o[1] in ".):" for o, letter in zip(options, letters, strict=True)
    )
    return ([o[2:].strip() for o in options], letters) if lettered else (options, [])


def _check_options(options: list[str]) -> None:
    if not 2 <= len(options) <= MOST_OPTIONS:
        raise BadPair("number of options", f"{len(options)}, expected 2 to {MOST_OPTIONS}")
    if not all(any(c.isalnum() for c in option) for option in options):
        raise BadPair("empty option", "an option has no letter and no digit")
    if max(map(len, options)) > LONGEST_OPTION:
        raise BadPair("text too long", f"an option of {max(map(len, options)):,} characters")
    alike = [folded(option) for option in options]
    twice = next((option for option in alike if alike.count(option) > 1), None)
    if twice is not None:
        raise BadPair("two equal options", shown(twice))


def _right(answer: str, options: list[str], letters: list[str]) -> str:
    """Return the option that the answer names: by its text, or by its letter and both if the release has letters."""
    named = answer[:1].upper() if len(answer) == 1 or answer[1:2] in (".", ")", ":") else ""
    words = folded(answer[2:])
    found = {option for option in options if folded(option) == folded(answer)}
    found |= {
        option
        for letter, option in zip(letters, options, strict=False)
        if letter == named and words in ("", folded(option))
    }
    if len(found) == 1:
        return found.pop()
    reason = "answer names two options" if found else "answer not among the options"
    raise BadPair(reason, f"{shown(answer)}, options {'; '.join(map(shown, options[:6]))}")


def _check_type(stated: object, words: Words) -> None:
    known = stated is None or (isinstance(stated, str) and (not stated.strip() or plain(stated) in words["types"]))
    if not known:
        expected = f"expected {', '.join(dict.fromkeys(words['types'].values()))}; see the option `question_types`"
        raise BadPair("unknown question type", f"{shown(stated)}, {expected}")


def _graded(name: str, stated: object, words: Words) -> str | tuple[str, str]:
    """Return level or impact, empty if not stated, or (reason, detail) if it fits nothing."""
    known = words["levels"] if name == "level" else words["impacts"]
    if stated is None or stated == "":
        return ""
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    word = f"{stated:g}" if is_number else stated.strip().removesuffix(".0") if isinstance(stated, str) else ""
    found = known.get(plain(word)) if name == "level" or word.isdigit() else None  # -3 is not 3
    names = ", ".join(dict.fromkeys(known.values()))
    return found or (f"unknown {name}", f"{shown(stated)}, expected one of {names}; the question is kept without it")


# Spellings of the names in X-PCR's files: fields, stages, kinds of cross-modality questions, levels, modalities.
ROW_FIELDS = ("id", "modality", "image", "image_path", "qa_pairs")
"""Fields of a row, as seen in the released files; an image is in one of the two image fields."""

PAIR_FIELDS = ("category", "question", "answer", "sub_label", "question_type", "options", "level", "impact")
"""Fields of a question; the last three were not seen in the release, whose page has ``Image Quality`` as a category and
``Clarity`` as its sub_label (https://huggingface.co/datasets/Fantasy666/X-PCR, seen 2026-11-28)."""

CASE_FIELDS = ("id", "images", "qa_pairs", "group")
"""Fields of a case with several images; ours, as the released layout was not seen."""

STAGES: Mapping[str, tuple[str, ...]] = package_data(__file__, "words.yaml")["questions"]["stages"]
"""Stage -> further spellings of a question's category; of those in the release, ``Image Quality`` alone was seen."""

KINDS: Mapping[str, tuple[str, ...]] = package_data(__file__, "words.yaml")["questions"]["kinds"]
"""Kind of a cross-modality question (supplement, section 6.2) -> further spellings of its category."""

LEVELS: Mapping[str, tuple[str, ...]] = package_data(__file__, "words.yaml")["questions"]["levels"]

IMPACTS: Mapping[str, tuple[str, ...]] = {str(n): () for n in range(1, 6)}

MODALITIES: Mapping[str, tuple[str, ...]] = package_data(__file__, "words.yaml")["questions"]["modalities"]
"""Modality -> further spellings; the last two are not in the release: drawn rows have them, a user's rows may."""

TYPES: Mapping[str, tuple[str, ...]] = package_data(__file__, "words.yaml")["questions"]["types"]
"""The question type that is read; ``single_choice`` in the release."""


def words(
    categories: Mapping[str, str] | None = None,
    fields: Mapping[str, str] | None = None,
    question_types: Mapping[str, str] | None = None,
    modalities: Mapping[str, str] | None = None,
    levels: Mapping[str, str] | None = None,
) -> Words:
    """Return the spellings with the user's; arguments are those of `lmod_train.extensions.xpcr.source.Xpcr`.

    Raises:
        BadArgument: A spelling stands for no name.
    """
    both = spellings({**STAGES, **KINDS}, "categories", categories)
    named = dict.fromkeys((*ROW_FIELDS, *PAIR_FIELDS, *CASE_FIELDS), ())
    return {
        "fields": spellings(named, "fields", fields),
        "stages": {word: name for word, name in both.items() if name in STAGES},
        "kinds": {word: name for word, name in both.items() if name in KINDS},
        "types": spellings(TYPES, "question_types", question_types),
        "modalities": spellings(MODALITIES, "modalities", modalities),
        "levels": spellings(LEVELS, "levels", levels),
        "impacts": spellings(IMPACTS, "impacts", None),
    }


def renamed(given: Mapping[object, object], expected: tuple[str, ...], known: Mapping[str, str]) -> dict[str, object]:
    """Return a row or question with our names of its fields; of two fields of one name the first.

    Fields that have no name among `expected` are left out; see `unknown_fields`.

    Example:
        >>> renamed({"ID": 3, "colour": 1}, ROW_FIELDS, words()['fields'])
        {'id': 3}
    """
    found: dict[str, object] = {}
    for name, value in given.items():
        ours = known.get(plain(name)) if isinstance(name, str) else None
        if ours in expected:
            found.setdefault(ours, value)
    return found


def unknown_fields(given: Mapping[object, object], expected: tuple[str, ...], known: Mapping[str, str]) -> list[str]:
    """Return the fields of a row or question that `renamed` leaves out, cut at 60 characters."""
    return [shown(name) for name in given if not isinstance(name, str) or known.get(plain(name)) not in expected]


def names_of(field: str, known: Mapping[str, str]) -> frozenset[str]:
    """Return the plain spellings of a field.

    Example:
        >>> sorted(names_of("image", words(fields={"The Photo": "image"})['fields']))
        ['image', 'thephoto']
    """
    return frozenset(word for word, name in known.items() if name == field)
