"""Find the tags, tables, check boxes and fields of a reply.

Tags and tables become groups of keys and values, as JSON does (`lmod_train.parsing.objects`): a row of a table is an
object whose keys are the heads of the columns. Boxes and ticks become choices, lines ``key: value`` fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lmod_train.parsing.objects import Group, Node, Word
from lmod_train.vocabulary.characters import BOXES, MARKS

_TAG = re.compile(
    r"<\s?(?P<close>/)?\s?(?P<name>[^\W\d][\w .:\-]{0,40}?)"
    r"(?:\s[\w-]{1,20}\s?=\s?[\"']?(?P<of>[^\"'<>\n=]{1,60})[\"']?)?(?:\s[\w-]{1,20}\s?=\s?[\"']?[^\"'<>\n=]{1,60}[\"']?){0,3}\s?>"
)
_LONGEST_CONTENT = 4000
_LONGEST_ROW = 4000
_RULE = re.compile(r"[ \t]{0,9}\|?(?:\s?:?-{2,60}:?\s?\|?){1,12}[ \t]{0,9}$", re.MULTILINE)
_ON, _OFF = "".join(BOXES["on"]), "".join(BOXES["off"])
_BOX = re.compile(
    rf"\[\s?(?P<x>[xX*{MARKS['yes']}])\s?\]|(?P<none>\[[ _]?\])|\(\s?(?P<radio>[xX*{MARKS['yes']}●])\s?\)|(?P<hollow>\([ _]?\))"
    rf"|(?P<on>[{_ON}])\ufe0f?|(?P<off>[{_OFF}])\ufe0f?|(?P<yes>[{MARKS['yes']}])\ufe0f?|(?P<no>[{MARKS['no']}])\ufe0f?"
)
_LABEL_END = re.compile(r"\s-\s|[;\n]|\s[(]|:\s|[.。](?:\s|$)|[,|]")
_BULLET = r"(?:(?:[-*•>#+]{1,6}|[0-9]{1,2}[.)])\s{1,3}){0,3}"
_FIELD = re.compile(
    rf"\s{{0,9}}{_BULLET}[*_\"'(\[#|{{]{{0,5}}\s?(?P<key>(?:\d{{1,3}}(?=\s?[*_\"'\])]{{0,4}}\s?[:=])|[^\W\d_])[^\n:=;|?!。]{{0,80}}?|[#])"
    r"(?P<tail>[*_\"')\]]{0,5})\s{0,3}(?:[-=]{1,2}>|[:=|]{1,2})[*_]{0,3}"
)
_DASHED = re.compile(rf"\s{{0,9}}{_BULLET}[*_\"'(\[]{{0,5}}(?P<key>[^\W\d_][^\n:=;|?!。,-]{{0,40}}?)[*_\"')\]]{{0,5}}\s-{{1,2}}\s")
_CSV = re.compile(r"\s{0,3}[\"']?(?P<key>[^\W\d][^\n,:;|\"']{1,40})[\"']?,\s?[\"']?(?P<value>(?i:true|false|yes|no))[\"']?(?=,)")
_HEADING = re.compile(rf"\s{{0,3}}{_BULLET}[*_\"'#]{{0,5}}\s?(?P<key>[^\W\d_][^\n:=;|?!。.,]{{0,40}}?)[*_\"'#]{{0,5}}\s{{0,3}}$")
_SEPARATOR = re.compile(r"[;\n]|\s\|\s(?=[^\n:=|]{1,40}[:=])|\s-{1,2}\s(?=[^\W\d_][^\n:=|]{0,30}[:=])|(?<=\?)\s{1,3}(?=[^\W\d_][^\n:=?]{0,30}[:=])|(?<!\b[A-Ha-h])(?<!\b[0-9])(?<!\.)\.(?=\s|$)|\.(?=\s[^\W\d_][^\n:=|.;]{0,40}[:=])|。")
_COMMA = re.compile(r",(?=\s{0,3}[*_\"'(]{0,3}[^\W\d_][^\n:=;,|?!.。]{0,40}(?:[-=]>|[:=]))")


@dataclass(slots=True)
class Field:
    """A key and its value in a line, with the span of both and of the value alone."""

    key: str
    value: str
    start: int
    end: int
    value_start: int


@dataclass(slots=True)
class Choice:
    """A box with its label: ``on``, ``off``, or ``no`` for a cross."""

    label: str
    state: str
    is_box: bool


@dataclass(slots=True)
class BoxList:
    """Boxes in one line or in lines below each other, with the text in front of the first."""

    name: str
    choices: list[Choice]
    start: int
    end: int


def tags(plain: str, is_known: Callable[[str], bool]) -> list[Group]:
    """Return the closed pairs of tags with known names; neighbours are members of one group.

    Example:
        >>> (group,) = tags("<condition>AMD</condition>\\n<present>no</present> <b>x</b>", lambda name: name != "b")
        >>> [(key, node.text) for key, node in group.members]
        [('condition', 'AMD'), ('present', 'no')]
        >>> tags("<AMD> <TRUE>", lambda name: True)
        []
    """
    open_: list[tuple[str, Group, int, str]] = []
    groups: list[Group] = []
    top = Group()
    for tag in _TAG.finditer(plain):
        name = " ".join(tag["name"].casefold().split())
        if not is_known(tag["name"]):
            continue
        if not tag["close"]:
            open_ = open_[-8:]
            of = (tag["of"] or "").strip()
            key = of if is_known(of) else f"{tag['name']} {of}" if re.search("[0-9]", of) else tag["name"]
            open_.append((name, Group(start=tag.start()), tag.end(), key))
            continue
        if not any(name == one[0] for one in open_):
            continue
        while open_[-1][0] != name:
            open_.pop()
        _, own, inner, key = open_.pop()
        content = plain[inner : tag.start()]
        own.end = tag.end()
        node: Node = own if own.members else Word(content.strip(), inner, tag.start())
        if not own.members and len(content) > _LONGEST_CONTENT:
            continue
        if open_:
            open_[-1][1].members.append((key, node))
            continue
        if not top.members or plain[top.end : own.start].strip(" \n\t;,.-*"):
            top = Group(start=own.start)
            groups.append(top)
        top.members.append((key, node))
        top.end = tag.end()
    return groups


def tables(plain: str, is_key: Callable[[str], bool], is_answer: Callable[[str], bool], is_heading: Callable[[str], bool]) -> list[tuple[Group, list[Group]]]:
    r"""Return each table as a whole with its rows as groups; a table of keys and values is one group.

    A table has a rule below its head, or begins its rows with a bar. Without a head, two columns are keys and values.

    Args:
        plain: The text with its signs normalised.
        is_key: Whether a word is a known key; then the first column of a table with two columns may hold the keys.
        is_answer: Whether a word is an answer, so that it is no head.
        is_heading: Whether a word is the key of an answer, so that the cell beside it is one.

    Example:
        >>> def read(text):
        ...     (table,) = tables(text, lambda word: word in ("Condition", "Present"), str.isdigit, lambda word: False)
        ...     return [[(key, node.text) for key, node in row.members] for row in table[1]]
        >>> read("| Condition | Present |\n|---|---|\n| AMD | No |\n| DR | Yes |")
        [[('Condition', 'AMD'), ('Present', 'No')], [('Condition', 'DR'), ('Present', 'Yes')]]
        >>> read("| Field | Value |\n|---|---|\n| Condition | AMD |\n| Present | No |"), read("| AMD | No |")
        ([[('Condition', 'AMD'), ('Present', 'No')]], [[('AMD', 'No')]])
    """
    found = []
    for start, end, rows, ruled in _tables(plain):
        if (groups := _rows(rows, ruled, is_key, is_answer, is_heading)) or ruled:  # a head without rows says nothing
            found.append((Group(start=start, end=end), groups))
    return found


def _tables(plain: str) -> Iterator[tuple[int, int, list[list[Word]], bool]]:
    """Yield start, end, rows of cells, and whether there is a rule, of each run of lines with bars."""
    rows: list[list[Word]] = []
    start = end = 0
    ruled = False
    at = 0
    for line in [*plain.splitlines(keepends=True), ""]:
        is_rule = "-" in line and _RULE.fullmatch(line.rstrip("\n")) is not None and "|" in line
        row = [] if is_rule or "|" not in line[:_LONGEST_ROW] else _cells(line, at)
        row = [] if row and not line.lstrip().startswith("|") and all(re.search("[:=]", cell.text) for cell in row) else row
        barred = len(row) > 0 and (
            line.lstrip().startswith("|") or (bool(rows) and len(row) == len(rows[0])) or _has_more(plain, at + len(line))
        )
        if is_rule and rows:
            ruled, end = ruled or len(rows) == 1, at + len(line.rstrip("\n"))
        elif barred:
            start = start if rows else at
            rows.append(row)
            end = at + len(line.rstrip("\n"))
        else:
            if rows:
                yield start, end, rows, ruled
            rows, ruled = [], False
        at += len(line)


def _has_more(plain: str, at: int) -> bool:
    """Return whether a table goes on at `at`: with a rule, or with another line of cells."""
    end = plain.find("\n", at, at + _LONGEST_ROW)
    line = plain[at : end if end >= 0 else at + _LONGEST_ROW]
    return " | " in line or (_RULE.match(plain, at) is not None and "|" in line)


def _cells(line: str, at: int) -> list[Word]:
    parts = line[:_LONGEST_ROW].rstrip().split("|")
    cells, place = [], at
    for i, cell in enumerate(parts):
        if cell.strip() or 0 < i < len(parts) - 1:
            cells.append(Word(cell.strip(" \t*_\"'"), place, place + len(cell)))
        place += len(cell) + 1
    return cells


def _rows(
    rows: list[list[Word]],
    ruled: bool,
    is_key: Callable[[str], bool],
    is_answer: Callable[[str], bool],
    is_heading: Callable[[str], bool],
) -> list[Group]:
    width = len(rows[0])
    ruled = ruled or (len(rows) > 1 and all(is_key(cell.text) for cell in rows[0]))
    pairs = width == 2 and all(len(row) <= 2 for row in rows)
    if pairs and (not ruled or any(is_key(row[0].text) and not is_answer(row[0].text) for row in rows[1:]) or len(rows) == 1):
        head = ruled and not (is_answer(rows[0][1].text) or (is_heading(rows[0][0].text) and not is_key(rows[0][1].text)))
        return [Group([(row[0].text, row[1]) for row in rows[head:] if len(row) == 2])]
    if not ruled:
        return [Group([("", cell) for cell in row], is_list=True) for row in rows] if width > 2 else []
    heads = [cell.text for cell in rows[0]]
    return [Group(list(zip(heads, row, strict=False)), is_row=True) for row in rows[1:]]


def box_lists(plain: str) -> list[BoxList]:
    """Return the lists of check boxes and ticks.

    Example:
        >>> def read(text):
        ...     return [(boxes.name, [(c.label, c.state) for c in boxes.choices]) for boxes in box_lists(text)]
        >>> read("- [x] GLAUCOMA\\n- [ ] NON-GLAUCOMA"), read("AMD: TRUE ☐ FALSE ☑")
        ([('', [('GLAUCOMA', 'on'), ('NON-GLAUCOMA', 'off')])], [('AMD', [('TRUE', 'off'), ('FALSE', 'on')])])
    """
    lists: list[BoxList] = []
    at = 0
    for line in plain.splitlines(keepends=True):
        found = _of_line(line.rstrip("\n"), at)
        if found is not None:
            last = lists[-1] if lists else None
            if last and not found.name and not plain[last.end : found.start].strip():
                last.choices += found.choices
                last.end = found.end
            else:
                lists.append(found)
        at += len(line)
    hollow = {"off"}
    for one in lists:
        if hollow & {c.state for c in one.choices if c.is_box}:  # beside empty boxes a crossed one is ticked
            for choice in one.choices:
                choice.state = "on" if choice.state == "no" and choice.is_box else choice.state
    return lists


def _of_line(line: str, at: int) -> BoxList | None:
    marks = [m for m in _BOX.finditer(line[:2000])]
    if not marks:
        return None
    before = line[: marks[0].start()].strip(" \t-*•>_.")
    behind = line[marks[-1].end() :].strip(" \t*_.;,|")
    name = re.split(r"[:?]\s{0,3}$", before)[0].strip(" *_\"'") if re.search(r"[:?]$", before) else ""
    leads = not before or bool(name) or re.fullmatch(r"[0-9]{1,2}[.)]", before) is not None
    if not leads and behind:
        return None  # a mark within a sentence
    choices = []
    for i, mark in enumerate(marks):
        if leads:
            label = line[mark.end() : marks[i + 1].start() if i + 1 < len(marks) else len(line)]
        else:
            label = line[marks[i - 1].end() if i else 0 : mark.start()]
            key, colon, own = label.rpartition(":")
            if colon and i == 0 and own.strip():
                name, label = key.strip(" -*•>_\"'"), own
        choices.append(Choice(label.strip(" \t-*•>_.;,|/:\"'"), _state(mark), mark.lastgroup not in ("yes", "no") or mark[0][0] == "☒"))
    return BoxList(name, choices, at, at + len(line))


def _state(mark: re.Match[str]) -> str:
    return {"x": "on", "radio": "on", "on": "on", "yes": "on", "no": "no"}.get(mark.lastgroup or "", "off")


def short_label(label: str) -> str:
    """Return the label of a box without what follows it behind a dash, colon or bracket.

    Example:
        >>> short_label("GLAUCOMA - the cup is large"), short_label("B. No, too blurred")
        ('GLAUCOMA', 'B')
    """
    return _LABEL_END.split(label, maxsplit=1)[0].strip()


def fields(plain: str, is_heading: Callable[[str], bool]) -> Iterator[Field]:
    r"""Yield the fields ``key: value`` of all lines; several may stand on one line, behind semicolons or commas.

    A value ends at a semicolon, a full stop, or a comma with another key behind it. A key at the end of its line has its
    value on the next one; so has a heading that is the name of an answer.

    Args:
        plain: The text with its signs normalised.
        is_heading: Whether a line of this text alone is such a heading.

    Example:
        >>> def read(text):
        ...     return [(f.key, f.value) for f in fields(text, lambda word: word == "Answer")]
        >>> read("**Condition:** AMD; Present = No. All flat"), read("## Answer\nB. No, blurred")
        ([('Condition', 'AMD'), ('Present', 'No')], [('Answer', 'B. No, blurred')])
    """
    pending: Field | None = None
    for start, end in _pieces(plain):
        piece = plain[start:end]
        found = _FIELD.match(piece)
        if found is None and (listed := _CSV.match(piece)):
            yield Field(listed["key"], listed["value"], start + listed.start("key"), start + listed.end(), start + listed.start("value"))
            continue
        if found is None and (dashed := _DASHED.match(piece)) and is_heading(dashed["key"]):
            found = dashed
        if found is None:
            if pending is not None and piece.strip():
                value_start = start + len(piece) - len(piece.lstrip())
                yield Field(pending.key, _bare(piece), pending.start, end, value_start)
                pending = None
            elif (alone := _HEADING.fullmatch(piece)) and is_heading(alone["key"]):
                pending = Field(alone["key"], "", start, end, end)
            continue
        pending = None
        key_start = start + found.start("key")
        field = Field(found["key"].strip(" \"'*_(["), _bare(piece[found.end() :]), key_start, end, start + found.end())
        if field.value:
            yield field
        elif not piece[found.end() :].strip(" *_\"'"):
            pending = field


def _pieces(plain: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between the separators of fields."""
    at = 0
    edges = sorted([m.span() for m in _SEPARATOR.finditer(plain)] + [m.span() for m in _COMMA.finditer(plain)])
    for start, end in [*edges, (len(plain), len(plain))]:
        if start > at:
            yield at, start
        at = max(at, end)


def _bare(value: str) -> str:
    """Return a value without quotes and emphasis around it, and without a comment as in YAML."""
    return re.split(r"\s#\s", value, maxsplit=1)[0].strip(" \t*_\"'`,").strip()


