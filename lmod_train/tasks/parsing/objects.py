"""Read JSON-like objects in a reply: one pass with a stack, in linear time, of whatever a model writes as JSON.

Read are single and curly quotes, keys and values without quotes, ``=`` for ``:``, ``;`` for ``,``, trailing commas,
comments, quotes within quotes, Python's ``True`` and ``None``, and objects that were cut off, of which the members that
are closed by a comma or bracket count. Libraries for such JSON keep the last of two equal keys and give no places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lmod_train.core.vocabulary import compiled, phrases

DEEPEST = 24
"""Depth of nesting beyond which an object is not read."""


@dataclass(slots=True)
class Word:
    """A value that is neither an object nor a list, without its quotes."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Group:
    """An object, with `members` as pairs of key and value; or a list, whose keys are empty; `is_row` for a
    row of a table, whose keys are the heads of the columns.
    """

    members: list[tuple[str, Node]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    is_list: bool = False
    is_row: bool = False


Node = Word | Group

_KEY = phrases("objects.key")
_OPENS = compiled("objects.opens", 0)
_LATEX = re.compile(r"\\[a-zA-Z]{1,20}$")
_BLANK = re.compile(r"(?:\s{1,200}|//[^\n]{0,300}|/\*[^*]{0,300}\*/){0,20}")
_BARE_KEY = re.compile(rf"(?P<key>[0-9]{{1,9}}|{_KEY})\s{{0,3}}(?P<sign>[:=])")
_SIGN = re.compile(r"\s{0,40}[:=]{1,2}>?")
_ENDS = re.compile(r"\s{0,200}(?:[,;:=}\])]|$|\n\s{0,200}[\"'}\]]|[\"']{2,3})")
_BARE_VALUE = re.compile(r"(?:(?!//|/\*)[^,;}\])\n{\[]|\)(?!\s{0,9}[\],])){1,400}")
_ESCAPES = {"n": "\n", "t": " ", "r": " ", "b": " ", "f": " "}
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<one>.))", re.DOTALL)
_FENCE = re.compile(r"\s{0,40}(?:'''|~~~)")  # back quotes count as quotes where a reply is normalised


def objects(plain: str, text: str) -> list[Group]:
    r"""Return the outermost objects and lists of a text, in order.

    Args:
        plain: The text with its signs normalised in place (see `lmod_train.tasks.parsing.normalise.in_place`).
        text: The text as written, which tells which quotes belong together.

    Example:
        >>> def read(text):
        ...     return [[(key, node.text) for key, node in group.members] for group in objects(text, text)]
        >>> read('so {"AMD": false, \'DR\': None, } and {glaucoma = no; why: "a "flat" cup"}')
        [[('AMD', 'false'), ('DR', 'null')], [('glaucoma', 'no'), ('why', 'a "flat" cup')]]
        >>> read('The eye {left} shows [1] a disc'), read('{"AMD": false, "why": "the mac')
        ([], [[('AMD', 'false')]])
    """
    found: list[Group] = []
    at = 0
    while opening := _OPENS.search(plain, at):
        if _LATEX.search(plain, max(0, opening.start() - 21), opening.start()):
            at = opening.start() + 1
            continue
        group, at = _Reader(plain, text, opening.start()).read()
        found.append(group)
    return found


class _Reader:
    """Reads one outermost object; every step moves forward."""

    def __init__(self, plain: str, text: str, at: int) -> None:
        self.plain, self.text, self.at = plain, text, at
        self.stack: list[tuple[Group, str]] = []  # open groups, with the key under which each stands
        self.key = ""
        self.outermost = Group()

    def read(self) -> tuple[Group, int]:
        """Return the object and the place behind it."""
        start = self.at
        self._open()
        self.outermost = self.stack[0][0]
        while self.stack and self._step():
            pass
        end = max(self.at, start + 1)
        self._close_all(end)
        self.outermost.start, self.outermost.end = start, end
        return self.outermost, end

    def _open(self) -> None:
        self.stack.append((Group(start=self.at, is_list=self.plain[self.at] in "[("), self.key))
        self.at += 1

    def _close_all(self, end: int) -> None:
        while self.stack:
            self._close(end)

    def _close(self, end: int) -> None:
        group, key = self.stack.pop()
        group.end = end
        if self.stack and group.members:
            self.stack[-1][0].members.append((key, group))

    def _step(self) -> bool:
        """Read one member or bracket; return whether there may be more."""
        if _FENCE.match(self.plain, self.at):
            return False
        sign = self._next()
        if sign in ",;":
            self.at += 1
            return True
        if sign in "}])":
            self.at += 1
            self._close(self.at)
            return bool(self.stack)
        self.key = ""
        if not self.stack[-1][0].is_list and not self._read_key():
            return self._lone_word()
        return self._read_value()

    def _next(self) -> str:
        """Skip blanks and comments; return the sign behind them, a zero character at the end of the text."""
        blank = _BLANK.match(self.plain, self.at)
        self.at = blank.end() if blank else self.at
        return self.plain[self.at] if self.at < len(self.plain) else "\0"

    def _read_key(self) -> bool:
        if self._next() in "\"'":
            found = self._quoted(of_key=True)
            if found is None:
                return False
            word, end = found
            sign = _SIGN.match(self.plain, end)
            if sign is None:
                return False
            self.key, self.at = word.text, sign.end()
            return True
        bare = _BARE_KEY.match(self.plain, self.at)
        if bare is None:
            return False
        self.key, self.at = bare["key"].strip(), bare.end()
        if self.plain.startswith(">", self.at):
            self.at += 1
        return True

    def _lone_word(self) -> bool:
        """Read a value without a key, as in ``{"GLAUCOMA"}``; text without a key goes on with the value before it."""
        group = self.stack[-1][0]
        if self._next() in "\"'" and (found := self._quoted()) is not None:
            word, self.at = found
            if self._is_closed():
                group.members.append(("", word))
                return True
            return False
        more = _BARE_VALUE.match(self.plain, self.at)
        last = group.members[-1][1] if group.members else None
        if more is None or not isinstance(last, Word):
            return False
        last.text, last.end, self.at = f"{last.text}, {more[0].strip()}", more.end(), more.end()
        return self._is_closed()

    def _read_value(self) -> bool:
        sign = self._next()
        if sign in "{[" or (sign == "(" and self.stack[-1][0].is_list):
            if len(self.stack) >= DEEPEST:
                return False
            self._open()
            return True
        if sign in "\"'":
            found = self._quoted()
            if found is None:
                return False
            word, self.at = found
        else:
            bare = _BARE_VALUE.match(self.plain, self.at)
            if bare is None:
                return sign in ",;}]"  # an empty value
            word = Word(self.text[bare.start() : bare.end()].strip(" \t\"'"), bare.start(), bare.end())
            word.text = "null" if word.text in ("None", "nil", "undefined", "NaN") else word.text
            self.at = bare.end()
        if not self._is_closed():
            return False
        self.stack[-1][0].members.append((self.key, word))
        return True

    def _is_closed(self) -> bool:
        """Return whether a member is closed: by a sign, a line break with another member behind it, or a fence."""
        fenced, start = _FENCE.match(self.plain, self.at), self.at
        sign = self._next()
        if fenced or sign in ",;}]" or (sign == ")" and self.stack[-1][0].is_list):
            self.at = start
            return True
        broken = "\n" in self.plain[start : self.at]
        return broken and (sign in "\"'" or _BARE_KEY.match(self.plain, self.at) is not None)

    def _quoted(self, of_key: bool = False) -> tuple[Word, int] | None:
        """Return the quoted word that starts here, and the place behind it; None if it is never closed.

        A quote closes only in front of a sign, so that quotes within the word do not.
        """
        mark = self.text[self.at]
        closing = {"“": "”", "‘": "’", "「": "」", "『": "』"}.get(mark, mark)
        at = self.at + 1
        if self.text.startswith(mark * 3, self.at):
            at = self.at + 3
        start = at
        while (end := self.text.find(closing, at)) >= 0:
            escaped = self.text[end - 1] == "\\" and self.text[end - 2 : end] != "\\\\"
            if not escaped and (_SIGN.match(self.plain, end + 1) if of_key else _ENDS.match(self.plain, end + 1)):
                behind = end + 1
                while self.text.startswith(closing, behind):
                    behind += 1
                return Word(_ESCAPE.sub(_unescaped, self.text[start:end]), start, end), behind
            if of_key and end - start > 200:
                return None
            at = end + 1
        self.at = self.at if of_key else len(self.text)
        return None


def _unescaped(found: re.Match[str]) -> str:
    if found["code"]:
        return chr(int(found["code"], 16))
    return _ESCAPES.get(found["one"], found["one"])
