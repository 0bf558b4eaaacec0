"""The marked fields of a reply with questions in two languages: questions and answers, in their order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_MARK = re.compile(
    r"(?:(?<=[\s,.;:?!)\]|\"'])|(?<=[，。；：？！）】、”’])|\A)"
    r"(?:(?P<question>Question|QUESTION|Statement|问题|问)|(?P<q>Q)|(?P<answer>Answer|ANSWER|答案|回答|答)|(?P<a>A))"
    r"[ \t]?(?:[(（](?:English|Chinese|EN|ZH|CN|中文|英文)[)）])?[ \t]?(?P<number>[0-9]{1,3})?[ \t]?[:：]"
)
_OPENED = re.compile(r"(?:\A|[\n,.;:?!)|，。；：？！）】、])[ \t\"'“”]{0,3}\Z")
_BEFORE = re.compile(r"(?:\A|[\n.。;；!！])[ \t]{0,3}[(（]?(?P<number>[0-9]{1,3})[)）.、．:：]?[ \t]{0,3}\Z")
_NUMBERING = re.compile(
    r"(?:(?<=\n)|(?<=[。！；，])|(?<=[.!;,][ \t]))[ \t]{0,3}[(（]?[0-9]{1,3}[)）.、．:：]?[ \t]{0,3}\Z"
)
_BLOCK = re.compile(r"\n[ \t]*(?:\n|[-=_]{3,}|\(?[0-9]{1,3}[.)、)]|(?:Image|Pair|Chinese|English|图|中文|英文)\b)")
_MARKUP = re.compile(r"\*{1,3}|_{2,3}|`{1,3}|^[ \t]{0,8}(?:#{1,6}[ \t]|[>•\-][ \t])", re.MULTILINE)
_EDGES = " \t\n,，;；:：|"
_BEHIND = 60
"""Characters before a mark in which its numbering is looked for."""


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a reply behind a mark.

    Attributes:
        role: What the mark announces.
        text: Words up to the next mark, without numbering.
        number: Number of the question, e.g. of ``2. Question:`` or ``Q2:``; 0 if none is stated.
    """

    role: Literal["question", "answer"]
    text: str
    number: int = 0


def fields_of(reply: str, lettered: bool) -> list[Field]:
    r"""Return the fields of a reply; text before the first mark belongs to none.

    Args:
        reply: Without thinking.
        lettered: Whether ``A:`` announces an option and not an answer.

    Example:
        >>> found = fields_of("1. Question: Is it pale? Answer: True.\n问：苍白：答：对。", lettered=False)
        >>> [(field.role, field.text, field.number) for field in found]
        [('question', 'Is it pale?', 1), ('answer', 'True.', 0), ('question', '苍白', 0), ('answer', '对。', 0)]
    """
    text = _MARKUP.sub("", reply.replace("\r", ""))
    marks = [mark for mark in _MARK.finditer(text) if _counts(mark, text, lettered)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [_field(mark, text, end) for mark, end in zip(marks, ends, strict=False)]


def _counts(mark: re.Match[str], text: str, lettered: bool) -> bool:
    """Return whether a mark announces a field: one letter only does behind punctuation or on a new line."""
    if mark["a"] and lettered:
        return False
    if not (mark["q"] or mark["a"]):
        return True
    before = text[max(0, mark.start() - _BEHIND) : mark.start()]
    return _OPENED.search(before) is not None or _BEFORE.search(before) is not None


def _field(mark: re.Match[str], text: str, end: int) -> Field:
    is_question = bool(mark["question"] or mark["q"])
    numbered = _BEFORE.search(text[max(0, mark.start() - _BEHIND) : mark.start()])
    number = int(mark["number"] or (numbered["number"] if numbered and is_question else 0))
    words = _NUMBERING.sub("", text[mark.end() : end].rstrip(" \t"))
    if not is_question:
        words = _BLOCK.split(words.lstrip(), maxsplit=1)[0]
    return Field("question" if is_question else "answer", " ".join(words.split()).strip(_EDGES), number)
