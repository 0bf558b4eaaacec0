"""What is asked of a table, and how it is read: ``table.yaml`` holds both.

The file is written beside the records. It can be edited, and named in the place of the table.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_beside
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import dump_yaml, read_yaml
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.modalities import MODALITIES
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.cells.diagnoses import condition_of, findings_of
from lmod_train.data.cells.ordered import in_order
from lmod_train.data.cells.values import flag_of, is_missing, number_of, side_of, values_of
from lmod_train.data.cells.vocabulary import WORDS
from lmod_train.data.sources.grid import Grid
from lmod_train.extensions.table.looks import kind_of, pieces_of
from lmod_train.extensions.table.meanings import AS_YOU_SAY, MEANINGS, Answers, Column
from lmod_train.extensions.table.places import structures_in
from lmod_train.scoring.language_pairs import LANGUAGES
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import IMAGE_TYPES, LESIONS, OPTIONS, Anatomy, term_name
from lmod_train.tasks.base import Task
from lmod_train.tasks.bilingual import OpenQuestion
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.own import Own
from lmod_train.tasks.parsing.own_choice import SEPARATOR
from lmod_train.tasks.question import ReadyQuestion
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging

_WORDS = package_data(__file__, "words.yaml")["plan"]


FILE = "table.yaml"
"""Name of the plan in a curated folder."""

_KEYS: list[str] = _WORDS["keys"]

_STATED = ("name", "modality", "licence", "redistributable", "sheet", "language", "visits", "page", "long")

_HEAD: str = _WORDS["head"]


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
        visits: Whether it is asked how grades have changed between the visits of an eye.
        long: Columns of findings and of their values, ``FINDING=VALUE``, of a table with one row a finding.
        page: Picture of a file of several: ``middle``, ``all``, a number from 1, or empty to list such files.
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
    visits: bool = False
    page: str = ""
    long: str = ""

    def __post_init__(self) -> None:
        if self.page not in ("", "middle", "all") and not re.fullmatch("[1-9][0-9]{0,5}", self.page):
            cure = "`--page middle` reads one picture of each file, `--page all` every one"
            raise BadArgument("--page", self.page, "middle, all, or a number from 1", cure)
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
            visits=stated.get("visits") is True,
            page=str(stated.get("page") or ""),
            long=str(stated.get("long") or ""),
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
        cure = "name the table itself"
        raise BadArgument("--table", str(file), f"{expected} ({type(error).__name__}: {error})", cure) from error


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


def curating_by(file: Path, plan: Plan, out: Path) -> str:
    """Return the command that curates by a plan of one's own."""
    words = ["python", "-m", "lmod_train", "curate", "--table", str(file), "--out", str(out)]
    inside = is_below(file, plan)
    words += [] if inside else ["--follow_links"]
    return shlex.join([*words, "--redistributable"] if plan.redistributable and not inside else words)


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
        words = {**column.words, **{cell: "unknown" for cell, why in column.bad.items() if why == AS_YOU_SAY}}
        one |= {"words": words} if words and column.is_used and column.meaning != "age" else {}
        described[column.name] = one
    content: dict[str, Any] = {
        **{name: os.fspath(path) if path else None for name, path in (("table", plan.table), ("images", plan.images))},
        **{name: getattr(plan, name) for name in _STATED},
        **({"notes": list(notes)} if notes else {}),
        "columns": described,
        "questions": [dict(question) for question in plan.questions],
    }
    named = ", ".join(MEANINGS)
    head = _HEAD.format(file=out / FILE, meanings=named, scales=", ".join(_scales()))
    with write_beside(out / FILE) as part:
        written = dump_yaml(content, width=120)
        part.write_text(head + written, encoding="utf-8")
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


def compared(columns: Sequence[Column], questions: Sequence[Mapping[str, Any]]) -> Mapping[str, Sequence[str]]:
    """Return label -> grades, from the least to the most severe, whose change between visits can be asked."""
    stated = {c.meaning for c in columns if not c.doubt}
    own = {f"table/{q['name']}": tuple(q["choices"]) for q in questions if q["kind"] == "grade"}
    return {scale.name: scale.levels for scale in SCALES if scale.name in stated} | own


# The tasks that ask about a table: the benchmark's where its labels are known, and questions of the table's own.
MOST_CHOICES = 30
"""Choices above which a question is not one of choices, or its choices are to be stated."""

LONGEST_CHOICE = 80
"""Characters of a choice above which the cells are free text."""


QUESTIONS: Mapping[str, Mapping[str, str]] = WORDS["questions"]
"""Language -> what is asked about -> the question; ours."""


def asked_of(
    grid: Grid, columns: Sequence[Column], modality: str, names: Sequence[str], language: str = "en"
) -> list[dict[str, Any]]:
    """Return the questions of the table's own, as a plan holds them.

    They are about the columns that the user names, about grades, and about diagnoses that four-way diagnosis does not
    ask about, so that no image is left out.

    Args:
        grid: The table.
        columns: What its columns mean.
        modality: Of the images.
        names: Columns that are asked about, by name or meaning.
        language: Of the questions.

    Raises:
        BadArgument: There is no such column, or it has no values to ask about.
    """
    named = [c for name in names for c in _of_both_eyes(columns, _named(columns, name))]
    stated = {word for c in columns if c.meaning == "modality" for word in c.words.values()} or {modality}
    modality = modality if stated == {modality} else ""
    chosen = [*named, *(c for c in columns if c not in named and (c.meaning == "grade" or _is_wider(c, modality)))]
    merged: dict[str, dict[str, Any]] = {}
    for column in chosen:
        question = _question_questions(grid, column, language)
        if len(question.get("choices", "ab")) < 2:
            if column not in named or column.eye:
                continue
            found = ", ".join(question["choices"]) or "none"
            expected = f"a column with at least two different values; it has {found}"
            raise BadArgument("--ask", column.name, expected, "ask about another column")
        known = merged.setdefault(question["name"], question)
        if known is not question and "choices" in known:  # of the other eye
            known["choices"] = _in_order(column, {*known["choices"], *question["choices"]})
    return list(merged.values())


def _is_wider(column: Column, modality: str) -> bool:
    """Return whether a column has diagnoses that four-way diagnosis does not ask about."""
    words = {word for word in column.words.values() if word}
    return (
        column.meaning == "diagnosis" and len(words) > 1 and not (modality == "CFP" and words <= set(FourWay.choices))
    )


def _named(columns: Sequence[Column], name: str) -> Column:
    askable = [c for c in columns if c.meaning not in ("image", "patient", "name") and not c.doubt]
    found = [c for c in askable if name in (c.name, c.meaning) or identifier(c.name) == name]
    if not found:
        known = ", ".join(c.name for c in columns if c.meaning not in ("image", "patient", "ignore"))
        raise BadArgument("--ask", name, f"a column of the table: {known}", "name one of them")
    return found[0]


def _of_both_eyes(columns: Sequence[Column], named: Column) -> list[Column]:
    return [named, *(c for c in columns if named.eye and c is not named and c.eye and label_of(c) == label_of(named))]


def identifier(name: str) -> str:
    """Return a column's name as that of a task and a file: in ASCII letters, digits and underscores.

    Example:
        >>> identifier("Image quality (1-5)"), identifier("Hip\u00f3tese"), identifier("\u773c\u538b")
        ('image_quality_1_5', 'hipotese', 'q_47b4d0')
    """
    ascii_only = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    text = re.sub(r"\W+", "_", ascii_only).strip("_")
    if not text:
        return f"q_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
    return text if text.isidentifier() else f"q_{text}"


def label_of(column: Column) -> str:
    """Return the name of the label that holds a column's own words; the columns of the two eyes have one."""
    if column.meaning == "diagnosis":
        return "table/diagnosis"
    name = _without_eye(column)
    return f"table/{identifier(name if any(map(str.isalnum, name)) else 'value')}"


def _without_eye(column: Column) -> str:
    """Return the name of a column, of one of an eye without the side."""
    return " ".join(p for p in pieces_of(column.name) if not side_of(p)) if column.eye else column.name


def answering(question: Mapping[str, Any], columns: Sequence[Column]) -> list[Column]:
    """Return the columns whose cells answer a question: the one that it names, and that of the other eye.

    Raises:
        BadArgument: There is no such column.
    """
    named = next((c for c in columns if c.name == question.get("column")), None)
    if named is None:
        expected = f"a column of the table: {', '.join(c.name for c in columns)}"
        cure = "edit its `column` in table.yaml"
        raise BadArgument(f"question {question['name']}", question.get("column"), expected, cure)
    return [c for c in columns if label_of(c) == label_of(named)]


def own_word(column: Column, cell: str, kind: str) -> str | None:
    """Return the value of a cell as its question has it; None without one."""
    if (is_missing(cell) and cell not in column.words) or cell in column.bad:
        return None
    if kind == "yes_no":
        return {"yes": "yes", "no": "no"}.get(column.words.get(cell) or flag_of(cell) or "")
    if kind == "number":
        number = number_of(column.words.get(cell, cell).removesuffix("%").strip())
        return None if number is None else f"{number:.15g}"
    return sayable(column.words.get(cell, cell))


def is_choice(question: Mapping[str, Any], word: str | None) -> bool:
    """Return whether a value is one of the choices of its question, or several of them."""
    known = set(question.get("choices") or ())
    return word is not None and (not known or set(filter(None, word.split("; "))) <= known)


def sayable(word: str) -> str | None:
    """Return a cell as a choice that a reply can name: in one line, without `` / ``; None without letters and digits.

    Example:
        >>> sayable("AMD / DR"), sayable(" mild "), sayable("+")
        ('AMD/DR', 'mild', None)
    """
    return " ".join(word.split()).replace(" / ", "/") if any(map(str.isalnum, word)) else None


def _question_questions(grid: Grid, column: Column, language: str) -> dict[str, Any]:
    values = values_of(grid.column(column.name))
    stated = values_of([word if (word := column.words.get(cell)) else cell for cell in grid.column(column.name)])
    name = label_of(column).removeprefix("table/")
    question: dict[str, Any] = {"name": name, "words": _words(column, language), "column": column.name}
    question |= {"language": language} if language != "en" else {}
    ordered = column.meaning == "own" and in_order(column.name, stated.count)
    kind = "grade" if ordered else {"grade": "grade", "diagnosis": "choice"}.get(column.meaning) or kind_of(stated)
    if kind not in ("grade", "choice"):
        return question | {"kind": kind}
    words = _in_order(column, {w for cell in {*values.count, *column.words} if (w := own_word(column, cell, kind))})
    if column.meaning == "diagnosis" and any(SEPARATOR in word for word in words):
        question["words"], kind = QUESTIONS[language]["several"], "several"
        words = sorted({part for word in words for part in word.split(SEPARATOR)})
    if len(words) > MOST_CHOICES or any(len(word) > LONGEST_CHOICE for word in words):
        return question | {"kind": "open"}
    return question | {"kind": kind, "choices": words}


def _in_order(column: Column, words: Iterable[str]) -> list[str]:
    return in_order(column.name, words) or sorted(words, key=_order)


def _order(level: str) -> tuple[float, str]:
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level


def _words(column: Column, language: str) -> str:
    name = re.sub(r"[_\s]+", " ", _without_eye(column)).strip()
    return QUESTIONS[language]["diagnosis" if column.meaning == "diagnosis" else "column"].format(name=name)


def _flag_question(condition: str, language: str) -> Own:
    """Return the question whether an image shows a condition that the benchmark's tasks do not ask about."""
    chinese = next((term.chinese for term in CONDITIONS if term.name == condition), ()) if language == "zh" else ()
    words = QUESTIONS[language]["condition"].format(name=chinese[0] if chinese else condition)
    return Own(identifier(condition), words, "yes_no", label=condition, language=language)


def _anatomy(columns: Sequence[Column], modality: str) -> list[Task]:
    """Return the question about the boxes of a table, with its structures among the options; none without boxes."""
    found = structures_in(columns)
    if not found:
        return []
    shown = {modality, *(word for c in columns if c.meaning == "modality" for word in c.words.values())}
    meanings = {one.name: f"{one.meaning[:1].upper()}{one.meaning[1:]} images" for one in MODALITIES}
    types = {name: IMAGE_TYPES.get(name) or meanings.get(name, f"{name} images") for name in sorted(shown)}
    extra = [name for name in found if name not in LESIONS]
    known = {name: {term_name(word) for word in OPTIONS.get(name, ())} for name in types}
    options = {name: [*OPTIONS.get(name, ()), *(e for e in extra if e not in known[name])] for name in types}
    return [Anatomy(options, types, lesions=LESIONS)]


def tasks_of(
    columns: Sequence[Column], questions: Sequence[Mapping[str, Any]], modality: str, language: str = "en"
) -> list[Task]:
    """Return the tasks that ask about a table, those of the benchmark first.

    Args:
        columns: What its columns mean.
        questions: Of the table's own.
        modality: Of the images; four-way diagnosis is of fundus photographs.
        language: Of the questions that are no task of the benchmark.

    Raises:
        BadArgument: A question cannot be asked as it is stated.
    """
    if any(c.meaning == "question" for c in columns):
        has_options = any(c.meaning == "option" for c in columns)
        return [*([ReadyQuestion(language=language)] if has_options else []), OpenQuestion(language)]
    tasks: list[Task] = []
    found = {
        name for c in columns if c.meaning == "diagnosis" for w in c.words.values() for name in findings_of(w).present
    }
    flags = {name for c in columns if (name := condition_of(c.meaning))}
    if modality == "CFP" and len(found & set(FourWay.choices)) > 1:
        tasks.append(FourWay())
    if "glaucoma" in flags:
        tasks.append(Glaucoma())
    findings = [f.condition for f in FINDINGS if f.condition in flags - {"glaucoma"}]
    if findings:
        tasks.append(Conditions(findings))
    tasks += [_flag_question(name, language) for name in sorted(flags - {"glaucoma", *findings})]
    tasks += [Staging(s.name) for s in SCALES if any(c.meaning == s.name for c in columns)]
    if any(c.meaning == "sex" and c.words for c in columns):
        tasks.append(Sex())
    if any(c.meaning == "age" for c in columns):
        tasks.append(AgeGroup(scored_as="merged"))
    tasks += _anatomy(columns, modality)
    known = {task.name for task in tasks}
    names = [str(stated["name"]) for stated in questions]
    if twice := [name for name in names if names.count(name) > 1]:
        expected = "another name for each question"
        raise BadArgument(f"question {twice[0]}", twice[0], expected, "edit one `name` under `questions` in table.yaml")
    for stated in questions:
        if all(c.meaning == "ignore" for c in answering(stated, columns)):
            continue
        arguments = {name: value for name, value in stated.items() if name not in ("column", "label")}
        name = str(stated["name"])
        arguments |= {"name": f"own_{name}" if name in known else name, "label": f"table/{name}"}
        try:
            tasks.append(Own(**arguments))
        except (BadArgument, TypeError) as error:
            told = str(error).partition("\nNext:")[0]
            cure = "edit it under `questions` in table.yaml, or leave its column out: `--column ignore=NAME`"
            raise BadArgument(
                f"question {name}", stated.get("column"), f"one that can be asked ({told})", cure
            ) from error
    return tasks
