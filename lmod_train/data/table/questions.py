"""The tasks that ask about a table: the benchmark's where its labels are known, and questions of the table's own."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.modalities import MODALITIES
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.sources.grid import Grid
from lmod_train.data.table.boxes import structures_in
from lmod_train.data.table.looks import kind_of
from lmod_train.data.table.meanings import Column
from lmod_train.data.table.values import condition_of, findings_of, flag_of, is_missing, number_of, values_of
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

MOST_CHOICES = 30
"""Choices above which a question is not one of choices, or its choices are to be stated."""

LONGEST_CHOICE = 80
"""Characters of a choice above which the cells are free text."""


WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "diagnosis": "Which diagnosis does this image show?",
        "several": "Which diagnoses does this image show?",
        "condition": "Does this image show {name}?",
        "column": "Based on the image, what is: {name}?",
    },
    "zh": {
        "diagnosis": "这张图像显示的是哪种诊断？",
        "several": "这张图像显示了哪些诊断？",
        "condition": "这张图像是否显示{name}？",
        "column": "根据这张图像，“{name}”是什么？",
    },
}
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
    named = [_named(columns, name) for name in names]
    chosen = [*named, *(c for c in columns if c not in named and (c.meaning == "grade" or _is_wider(c, modality)))]
    merged: dict[str, dict[str, Any]] = {}
    for column in chosen:
        question = _question(grid, column, language)
        if len(question.get("choices", "ab")) < 2:
            if column not in named:
                continue
            found = ", ".join(question["choices"]) or "none"
            expected = f"a column with at least two different values; it has {found}"
            raise BadArgument("--ask", column.name, expected, "ask about another column")
        known = merged.setdefault(question["name"], question)
        if known is not question and "choices" in known:  # of the other eye
            known["choices"] = sorted({*known["choices"], *question["choices"]})
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
    name = re.sub(r"(?i)\b(?:left|right|od|os|ou|links|rechts)\b", "", column.name) if column.eye else column.name
    return f"table/{identifier(name if any(map(str.isalnum, name)) else 'value')}"


def answering(question: Mapping[str, Any], columns: Sequence[Column]) -> list[Column]:
    """Return the columns whose cells answer a question: the one that it names, and that of the other eye.

    Raises:
        BadArgument: There is no such column.
    """
    named = next((c for c in columns if c.name == question.get("column")), None)
    if named is None:
        expected = f"a column of the table: {', '.join(c.name for c in columns)}"
        raise BadArgument(
            f"question {question['name']}", question.get("column"), expected, "edit its `column` in table.yaml"
        )
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


def sayable(word: str) -> str | None:
    """Return a cell as a choice that a reply can name: in one line, without `` / ``; None without letters and digits.

    Example:
        >>> sayable("AMD / DR"), sayable(" mild "), sayable("+")
        ('AMD/DR', 'mild', None)
    """
    return " ".join(word.split()).replace(" / ", "/") if any(map(str.isalnum, word)) else None


def _question(grid: Grid, column: Column, language: str) -> dict[str, Any]:
    values = values_of(grid.column(column.name))
    stated = values_of([word if (word := column.words.get(cell)) else cell for cell in grid.column(column.name)])
    name = label_of(column).removeprefix("table/")
    question: dict[str, Any] = {"name": name, "words": _words(column, language), "column": column.name}
    question |= {"language": language} if language != "en" else {}
    kind = {"grade": "grade", "diagnosis": "choice"}.get(column.meaning) or kind_of(stated)
    if kind not in ("grade", "choice"):
        return question | {"kind": kind}
    words = sorted(
        {word for cell in {*values.count, *column.words} if (word := own_word(column, cell, kind))}, key=_order
    )
    if column.meaning == "diagnosis" and any(SEPARATOR in word for word in words):
        question["words"], kind = WORDS[language]["several"], "several"
        words = sorted({part for word in words for part in word.split(SEPARATOR)})
    if len(words) > MOST_CHOICES or any(len(word) > LONGEST_CHOICE for word in words):
        return question | {"kind": "open"}
    return question | {"kind": kind, "choices": words}


def _order(level: str) -> tuple[float, str]:
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level


def _words(column: Column, language: str) -> str:
    name = re.sub(r"[_\s]+", " ", column.name).strip()
    return WORDS[language]["diagnosis" if column.meaning == "diagnosis" else "column"].format(name=name)


def _flag_question(condition: str, language: str) -> Own:
    """Return the question whether an image shows a condition that the benchmark's tasks do not ask about."""
    chinese = next((term.chinese for term in CONDITIONS if term.name == condition), ()) if language == "zh" else ()
    words = WORDS[language]["condition"].format(name=chinese[0] if chinese else condition)
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
