"""Read a Markdown table as lines: what its head says of a column is a label, and never an answer."""

from __future__ import annotations

import re

from lmod_train.parsing.cues import any_of
from lmod_train.vocabulary import phrases as said

_CELL = r"[^|\n]{1,60}"
_TABLE = re.compile(
    rf"(?:^|(?<=\n))\|(?P<head>{_CELL}(?:\|{_CELL}){{1,5}})\|\s?\n\|[ :|-]{{3,60}}(?:\n|$)"
    r"(?P<rows>(?:\|[^\n]{1,2000}(?:\n|$)){1,30})"
)
_SUBJECT = re.compile(rf"(?:{any_of(said.SUBJECT_HEADS_EN, said.SUBJECT_HEADS_ZH)})", re.IGNORECASE)
_VALUE = re.compile(rf"(?:{any_of(said.VALUE_HEADS_EN, said.VALUE_HEADS_ZH)})\??", re.IGNORECASE)
_ASIDE = re.compile(
    rf"(?:{any_of([*said.EXPLANATION_LABELS, *said.ASIDE_HEADS_EN], said.ASIDE_HEADS_ZH)})", re.IGNORECASE
)


def untabled(text: str) -> str:
    r"""Return the text with tables of a known form as lines.

    Of names and their answers ("| Condition | Present |") the head is left out: its "present" answers nothing. Of one
    column beside explanations ("| Stage | Explanation |") each row is written as "label: value".

    Example:
        >>> untabled("| Condition | Present |\n|---|---|\n| AMD | No |")
        '| AMD | No |'
        >>> untabled("| Stage | Why |\n|---|---|\n| 2 | many dots |")
        'Stage: 2; Explanation: many dots'
    """
    return _TABLE.sub(_lines, text)


def _lines(table: re.Match[str]) -> str:
    head = _cells(table["head"])
    kinds = [bool(_VALUE.fullmatch(cell)) for cell in head[1:] if not _ASIDE.fullmatch(cell)]
    if _SUBJECT.fullmatch(head[0]) and kinds and all(kinds):
        return table["rows"]
    asked = [i for i, cell in enumerate(head) if not _ASIDE.fullmatch(cell)]
    if len(asked) != 1:
        return table[0]
    return "\n".join(_line(head[asked[0]], asked[0], _cells(row)) for row in table["rows"].split("\n"))


def _line(label: str, asked: int, cells: list[str]) -> str:
    """Return the asked cell of a row behind its label, the others as its explanation; of an empty line, nothing."""
    if not any(cells):
        return ""
    others = ", ".join(cell for i, cell in enumerate(cells) if i != asked)
    return f"{label}: {cells[asked] if asked < len(cells) else ''}; Explanation: {others}"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]
