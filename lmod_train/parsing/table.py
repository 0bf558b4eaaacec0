"""Flatten Markdown tables to lines, so that the head of a column is a label and never an answer."""

from __future__ import annotations

import re

from lmod_train.parsing.cues import any_of
from lmod_train.vocabulary import labels

_CELL = r"[^|\n]{1,60}"
_TABLE = re.compile(
    rf"(?:^|(?<=\n))\|(?P<head>{_CELL}(?:\|{_CELL}){{1,5}})\|\s?\n\|[ :|-]{{3,60}}(?:\n|$)"
    r"(?P<rows>(?:\|[^\n]{1,2000}(?:\n|$)){1,30})"
)
_QUESTION = re.compile(rf"(?:{any_of(labels.QUESTION_COLUMNS_EN, labels.QUESTION_COLUMNS_ZH)})", re.IGNORECASE)
_ANSWER = re.compile(rf"(?:{any_of(labels.ANSWER_COLUMNS_EN, labels.ANSWER_COLUMNS_ZH)})\??", re.IGNORECASE)
_OTHER = re.compile(
    rf"(?:{any_of([*labels.EXPLANATION_LABELS, *labels.OTHER_COLUMNS_EN], labels.OTHER_COLUMNS_ZH)})", re.IGNORECASE
)


def flatten_tables(text: str) -> str:
    r"""Return the text with tables of two known forms as lines.

    A table of questions and answers ("| Condition | Present |") loses its head, as its "present" is no answer. In a
    table of one column beside explanations ("| Stage | Explanation |") each row becomes "label: value".

    Example:
        >>> flatten_tables("| Condition | Present |\n|---|---|\n| AMD | No |")
        '| AMD | No |'
        >>> flatten_tables("| Stage | Why |\n|---|---|\n| 2 | many dots |")
        'Stage: 2; Explanation: many dots'
    """
    return _TABLE.sub(_lines, text)


def _lines(table: re.Match[str]) -> str:
    head = _cells(table["head"])
    are_answers = [bool(_ANSWER.fullmatch(cell)) for cell in head[1:] if not _OTHER.fullmatch(cell)]
    if _QUESTION.fullmatch(head[0]) and are_answers and all(are_answers):
        return table["rows"]
    columns = [i for i, cell in enumerate(head) if not _OTHER.fullmatch(cell)]
    if len(columns) != 1:
        return table[0]
    return "\n".join(_line(head[columns[0]], columns[0], _cells(row)) for row in table["rows"].split("\n"))


def _line(label: str, column: int, cells: list[str]) -> str:
    """Return the cell of a column behind its label, and the other cells as its explanation; empty for an empty row."""
    if not any(cells):
        return ""
    others = ", ".join(cell for i, cell in enumerate(cells) if i != column)
    return f"{label}: {cells[column] if column < len(cells) else ''}; Explanation: {others}"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]
