"""How a table is read: the options of ``curate --table`` and what was understood, as ``table.yaml`` holds them.

The file is written beside the records. It can be edited, and named in the place of the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_beside
from lmod_train.core.raw import read_yaml
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.table.meanings import MEANINGS, Answers, Column
from lmod_train.data.table.values import condition_of
from lmod_train.scoring.languages import LANGUAGES

FILE = "table.yaml"
"""Name of the plan in a curated folder."""

_KEYS = (
    "table",
    "images",
    "name",
    "modality",
    "licence",
    "redistributable",
    "sheet",
    "notes",
    "language",
    "columns",
    "questions",
)

_HEAD = """\
# How `curate --table` read the table. Edit it, and use it again in place of the table: --table {file}
# columns: means is one of {meanings},
#   the name of a disease (a column of yes and no) or of a scale ({scales}); `?` is still to be said.
#   words: cell -> word that it stands for; other cells are read as without the file.
# questions: name, words (the question as it is asked), column (whose cells are the answers),
#   kind (choice, yes_no, grade, number, several, open), choices in their order, unit, language (en, zh),
#   synonyms (choice -> other words of replies), paraphrases.
# notes: what was left out of the table or is hidden in it, as it was printed; nothing is read from them.
"""


@dataclass(frozen=True)
class Plan:
    """How a table is read.

    Attributes:
        table: The table.
        images: Folder of the images; None if the table holds them.
        name: Name of the source in records.
        modality: Of the images.
        licence: Under which images and labels came.
        redistributable: Whether they may be passed on.
        sheet: Sheet of a workbook; empty for the fullest.
        answers: What the user said of columns and cells.
        questions: Each with ``name``, ``words``, ``column``, ``kind`` and what else `lmod_train.tasks.own.Own` takes.
        language: Of the questions that curation words itself, and of questions in the table: en or zh.
    """

    table: Path
    images: Path | None
    name: str
    modality: str
    licence: str = "not stated"
    redistributable: bool = False
    sheet: str = ""
    answers: Answers = field(default_factory=Answers)
    questions: tuple[Mapping[str, Any], ...] = ()
    language: str = "en"

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise BadArgument("--name", self.name, "letters, digits and underscores, no digit first", "`--name clinic`")
        if self.language not in LANGUAGES:
            raise BadArgument("--language", self.language, f"one of {', '.join(LANGUAGES)}", "`--language zh`")
        for column, meaning in self.answers.columns.items():
            if meaning not in MEANINGS and condition_of(meaning) is None and meaning not in _scales():
                expected = f"one of {', '.join(MEANINGS)}, a disease, or a scale ({', '.join(_scales())})"
                known = [*MEANINGS, *_scales(), *(term.name for term in CONDITIONS)]
                near = get_close_matches(meaning.casefold(), known, n=1)
                cure = f"did you mean `--column {near[0]}={column}`?" if near else f"`--column ignore={column}`"
                raise BadArgument(f"--column {meaning}={column}", meaning, expected, cure)


def _scales() -> tuple[str, ...]:
    return tuple(scale.name for scale in SCALES)


def is_plan(file: Path) -> bool:
    """Return whether a file is a plan and no table."""
    return file.suffix.casefold() in (".yaml", ".yml")


def read_plan(file: Path) -> Plan:
    """Return a plan; its paths are as they were typed, or beside the file.

    Raises:
        BadArgument: The file is missing or not a plan.
    """
    expected = "a table, or the table.yaml that `curate --table` wrote"
    try:
        stated = read_yaml(file)
        _check_keys(stated, _KEYS, "the file")
        for name, one in (stated.get("columns") or {}).items():
            _check_keys(one, ("means", "doubt", "words"), f"columns: {name}")
        columns = {
            name: one for name, one in (stated.get("columns") or {}).items() if one.get("means") not in (None, "?")
        }
        return Plan(
            table=_found(file, stated["table"]),
            images=_found(file, stated["images"]) if stated.get("images") else None,
            name=_text(stated["name"]),
            modality=_text(stated["modality"]),
            licence=_text(stated.get("licence", "not stated")),
            redistributable=stated.get("redistributable") is True,
            sheet=_text(stated.get("sheet") or ""),
            language=_text(stated.get("language", "en")),
            answers=Answers(
                {str(name): str(one["means"]) for name, one in columns.items()},
                {
                    str(n): {str(c): str(w) for c, w in one["words"].items()}
                    for n, one in columns.items()
                    if one.get("words")
                },
            ),
            questions=tuple(map(_question, stated.get("questions") or ())),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadArgument(
            "--table", str(file), f"{expected} ({type(error).__name__}: {error})", "name the table itself"
        ) from error


_TEXTS = frozenset({"name", "words", "column", "kind", "label", "unit", "language"})
_LISTS = frozenset({"choices", "paraphrases", "sources"})


def _question(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question of the plan whose values have the types that `lmod_train.tasks.own.Own` takes."""
    question = dict(stated.items())
    for key in ("name", "words", "kind"):
        _text(question[key])
    for key, value in question.items():
        if key in _TEXTS:
            _text(value)
        elif key in _LISTS:
            _texts(value)
        elif key == "synonyms":
            for choice, words in value.items():
                _texts([choice, *_texts(words)])
        else:
            raise ValueError(f"a question has no {key!r}")
    return question


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list of texts, found {str(value)[:60]!r}")
    return list(map(_text, value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {str(value)[:60]!r}")
    return value


def is_below(file: Path, plan: Plan) -> bool:
    """Return whether the table and the images of a plan lie in the folder of its file, links followed."""
    named = [plan.table, *([plan.images] if plan.images else [])]
    return all(path.resolve().is_relative_to(file.parent.resolve()) for path in named)


def _check_keys(held: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Refuse a misspelt key, which would be passed over.

    Raises:
        ValueError: There is one.
    """
    if unknown := [str(key) for key in held if key not in known]:
        raise ValueError(f"{where} has the key {unknown[0]!r}; known are {', '.join(known)}")


def _found(file: Path, named: str) -> Path:
    beside = file.parent / named
    return beside if not Path(named).exists() and beside.exists() else Path(named)


def write_plan(out: Path, plan: Plan, columns: Sequence[Column], notes: Sequence[str] = ()) -> Path:
    """Write a plan into a curated folder and return its path.

    Args:
        out: The folder.
        plan: How the table is read.
        columns: What its columns mean.
        notes: What was left out of the table, or is hidden in it.
    """
    described: dict[str, Any] = {}
    for column in columns:
        one: dict[str, Any] = {"means": "?" if column.doubt else column.meaning}
        one |= {"doubt": column.doubt} if column.doubt else {}
        one |= {"words": dict(column.words)} if column.words and column.is_used and column.meaning != "age" else {}
        described[column.name] = one
    content = {
        "table": os.fspath(plan.table),
        "images": os.fspath(plan.images) if plan.images else None,
        "name": plan.name,
        "modality": plan.modality,
        "licence": plan.licence,
        "redistributable": plan.redistributable,
        "sheet": plan.sheet,
        "language": plan.language,
        **({"notes": list(notes)} if notes else {}),
        "columns": described,
        "questions": [dict(question) for question in plan.questions],
    }
    named = ", ".join(MEANINGS)
    head = _HEAD.format(file=out / FILE, meanings=named, scales=", ".join(_scales()))
    with write_beside(out / FILE) as part:
        part.write_text(
            head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8"
        )
    return out / FILE


def with_options(plan: Plan, columns: Sequence[str], values: Sequence[str], header: Sequence[str] = ()) -> Plan:
    """Return a plan with what the options ``--column MEANING=NAME`` and ``--value COLUMN:CELL=WORD`` say.

    Args:
        plan: The plan.
        columns: Options ``--column``.
        values: Options ``--value``.
        header: Names of the columns of the table.

    Raises:
        BadArgument: One has another form.
    """
    meanings, words = dict(plan.answers.columns), {n: dict(w) for n, w in plan.answers.values.items()}
    for text in columns:
        meaning, equals, name = text.partition("=")
        if not (meaning and equals and name):
            raise BadArgument("--column", text, "MEANING=NAME, such as patient=ID", "`--column patient=ID`")
        meanings[name] = meaning
    for place, typed in typed_words(values, header).items():
        words[place] = words.get(place, {}) | typed
    return replace(plan, answers=Answers(meanings, words))


def typed_words(values: Sequence[str], header: Sequence[str] = ()) -> dict[str, dict[str, str]]:
    """Return (name of a column, or meaning) -> cell -> word of options ``--value COLUMN:CELL=WORD``.

    Args:
        values: The options.
        header: Names of the columns, which may hold a colon.

    Raises:
        BadArgument: One has another form, or no word.
    """
    words: dict[str, dict[str, str]] = {}
    for text in values:
        named = max((name for name in header if text.startswith(f"{name}:")), key=len, default="")
        place, colon, rest = (named, ":", text[len(named) + 1 :]) if named else text.partition(":")
        cell, equals, word = rest.rpartition("=")
        if not (place and colon and equals and word):
            raise BadArgument("--value", text, "COLUMN:CELL=WORD, such as sex:1=male", "`--value sex:1=male`")
        words.setdefault(place, {})[cell] = word
    return words
