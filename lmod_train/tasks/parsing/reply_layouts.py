"""Find the tags, tables, check boxes and fields of a reply.

Tags and tables become groups of keys and values, as JSON does (`lmod_train.tasks.parsing.objects`): a row of a table is
an object whose keys are the heads of the columns. Boxes and ticks become choices, lines ``key: value`` fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lmod_train.core.vocabulary import compiled
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.objects import Group, Node, Word
from lmod_train.tasks.parsing.slots import kinds_of

_TAG = compiled("layouts.tag", 0)

_LONGEST_CONTENT = 4000

_LONGEST_ROW = 4000

_RULE = re.compile(r"[ \t]{0,9}\|?(?:\s?:?-{1,60}:?\s?\|?){1,12}[ \t]{0,9}$", re.MULTILINE)

_BOX = compiled("layouts.box", 0)

_ALONE = re.compile(r"[^\W_]\s{0,2}[:：]\s{0,3}[^\w\s]{1,2}\s{0,3}$|^[\s*•-]{0,6}\([+-]\)")  # "Scar: ✅", "(-) scar"

_PARENTHESISED = compiled("layouts.parenthesised")
_LEGEND, _EXPLAINED = compiled("layouts.legend"), compiled("layouts.explained")

_LABEL_END = re.compile(r"\s-\s|[;\n]|\s[(]|:\s|[.。](?:\s|$)|[,|]")

_FIELD = compiled("layouts.field", 0)

_DASHED = compiled("layouts.dashed", 0)

_PAIR = compiled("layouts.pair", 0)

_HEADING = compiled("layouts.heading", 0)

_SEPARATOR = compiled("layouts.separator", 0)

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
    r"""Return the closed pairs of tags with known names; neighbours are members of one group.

    Example:
        >>> (group,) = tags("<condition>AMD</condition>\n<present>no</present> <b>x</b>", lambda name: name != "b")
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
            key = of if of and is_known(of) else f"{tag['name']} {of}" if re.search("[0-9]", of) else tag["name"]
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


CellKind = Literal["heading", "key", "either", "name", "word", ""]
"""What a word is: the key of an answer, another known key, a key that may also be an answer ("present"), the name of
something asked about, an answer, or unknown."""

_HEADS = ("heading", "key", "either", "name")


def tables(plain: str, kind_of: Callable[[str], CellKind]) -> list[tuple[Group, list[Group]]]:
    r"""Return each table as a whole with its rows as groups; a table of keys and values is one group.

    The first row is the head if a rule follows it or all its cells are keys or names. Rows begin with a bar, or have
    bars, commas or semicolons between as many cells. Without a head, two columns are keys and values.

    Args:
        plain: The text with its signs normalised.
        kind_of: Returns what a cell is.

    Example:
        >>> def read(text):
        ...     keys = dict.fromkeys(("Condition", "Present"), "key") | dict.fromkeys(("AMD", "DR"), "name")
        ...     return [[(k, v.text) for k, v in row.members] for row in tables(text, lambda w: keys.get(w, ""))[0][1]]
        >>> read("| Condition | Present |\n|---|---|\n| AMD | No |\n| DR | Yes |")
        [[('Condition', 'AMD'), ('Present', 'No')], [('Condition', 'DR'), ('Present', 'Yes')]]
        >>> read("| Field | Value |\n|---|---|\n| Condition | AMD |\n| Present | No |"), read("AMD,DR\nNo,Yes")
        ([[('Condition', 'AMD'), ('Present', 'No')]], [[('AMD', 'No'), ('DR', 'Yes')]])
    """
    found = []
    for start, end, rows, ruled in _tables(plain, kind_of):
        if (groups := _rows(rows, ruled, kind_of)) or ruled:  # a head without rows says nothing
            found.append((Group(start=start, end=end), groups))
    return found


def _tables(plain: str, kind_of: Callable[[str], CellKind]) -> Iterator[tuple[int, int, list[list[Word]], bool]]:
    """Yield start, end, rows of cells, and whether there is a head, of each run of lines with cells."""
    rows: list[list[Word]] = []
    start = end = at = 0
    ruled = False
    sign = ""
    lines = [*plain.splitlines(keepends=True), ""]
    for i, line in enumerate(lines):
        bare = line.rstrip("\n")
        if rows and "-" in line and "|" in line and _RULE.fullmatch(bare):
            ruled, end = ruled or len(rows) == 1, at + len(bare)
        else:
            here = sign or _sign_of_cells(bare, lines[i + 1] if i + 1 < len(lines) else "", kind_of)
            row = _cells(bare, at, here) if here and here in bare[:_LONGEST_ROW] else []
            barred = here == "|" and bare.lstrip().startswith("|")
            if row and (barred or not rows or len(row) == len(rows[0])) and not _are_fields(bare, row):
                start, sign = (start, sign) if rows else (at, here)
                rows.append(row)
                end = at + len(bare)
            elif rows:
                yield start, end, rows, ruled
                rows, ruled, sign = [], False, ""
        at += len(line)


def _sign_of_cells(line: str, below: str, kind_of: Callable[[str], CellKind]) -> str:
    """Return the sign between the cells of a first row, empty if the line is none."""
    if line.lstrip().startswith("|") or (" | " in line and (" | " in below or ("|" in below and _RULE.match(below)))):
        return "|"
    for sign in "|,;\t":
        cells = [cell.strip(" *_\"'") for cell in line[:_LONGEST_ROW].split(sign)]
        kinds = [kind_of(cell) for cell in cells]
        if len(cells) > 1 and below.count(sign) == len(cells) - 1 and _is_head(kinds):
            return sign
    return ""


def _is_head(kinds: Sequence[CellKind]) -> bool:
    """Return whether cells are the heads of columns; "absent" is one behind a key: "name,absent"."""
    return all(kind in _HEADS for kind in kinds) or (kinds[0] in ("heading", "key") and all(kinds))


def _are_fields(line: str, row: Sequence[Word]) -> bool:
    """Return whether a line is one of fields, "Region ID: 1 | Type: iris"."""
    return not line.lstrip().startswith("|") and all(re.search("[:=]", cell.text) for cell in row)


def _cells(line: str, at: int, sign: str) -> list[Word]:
    parts = line[:_LONGEST_ROW].rstrip().split(sign)
    cells, place = [], at
    for i, cell in enumerate(parts):
        if cell.strip() or sign != "|" or 0 < i < len(parts) - 1:
            cells.append(Word(cell.strip(" \t*_\"'"), place, place + len(cell)))
        place += len(cell) + 1
    return cells


def _rows(rows: list[list[Word]], ruled: bool, kind_of: Callable[[str], CellKind]) -> list[Group]:
    kinds = [kind_of(cell.text) for cell in rows[0]]
    is_row = "name" in kinds and "either" in kinds  # "| AMD | present |"
    headed = ruled or (len(rows) > 1 and _is_head(kinds) and not is_row)
    pairs = len(rows[0]) == 2 and all(len(row) <= 2 for row in rows)
    keyed = any(kind_of(row[0].text) in ("heading", "key") for row in rows[1:])
    if pairs and (not headed or keyed or len(rows) == 1):
        of_heading = kinds[0] == "heading" and kinds[1] not in ("heading", "key", "either")
        first = headed and not (is_row or kinds[1] in ("word", "name") or of_heading)
        both: list[tuple[str, Node]] = [(row[0].text, row[1]) for row in rows[first:] if len(row) == 2]
        return [Group(both)] if both else []
    if headed:
        heads = [cell.text for cell in rows[0]]
        return [Group(list(zip(heads, row, strict=False)), is_row=True) for row in rows[1:]]
    named = [(row, [cell for cell in row[1:] if kind_of(cell.text) == "word"]) for row in rows if len(row) > 2]
    return [Group([(row[0].text, said[0])]) for row, said in named if len(said) == 1]


def by_legend(text: str) -> str:
    r"""Return a text with plain ticks and crosses for the signs that its legend explains, and without the legend.

    Example:
        >>> by_legend("Legend: ● absent, ○ present\n● glaucoma"), by_legend("1 = absent, 2 = present\nScar: 2")
        ('\n✗ glaucoma', '\nScar: ✓')
    """
    text = _PARENTHESISED.sub(r": \g<key>: \g<value>", text)
    lines = in_place(text).split("\n")
    explained = [list(_EXPLAINED.finditer(line)) for line in lines]
    legends = [
        i for i, own in enumerate(explained) if len(own) > 1 or (_LEGEND.match(lines[i]) and _BOX.search(lines[i]))
    ]
    signs = {m["mark"]: "✗" if m["no"] else "✓" for i in legends for m in explained[i]}
    alone = [rf"(?<=[:=|]\s){sign}(?=\s|$)" if sign.isdigit() else re.escape(sign) for sign in signs]
    left = ("" if i in legends else line for i, line in enumerate(text.split("\n")))
    return re.sub("|".join(alone) or "(?!)", lambda m: signs[m[0]], "\n".join(left)) if legends else text


def box_lists(plain: str) -> list[BoxList]:
    r"""Return the lists of check boxes and ticks.

    Example:
        >>> def read(text):
        ...     return [(boxes.name, [(c.label, c.state) for c in boxes.choices]) for boxes in box_lists(text)]
        >>> read("- [x] GLAUCOMA\n- [ ] NON-GLAUCOMA"), read("AMD: TRUE ☐ FALSE ☑")
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
    lists = [one for one in lists if len(one.choices) > 1 or not _ALONE.search(plain[one.start : one.end])]
    for one in lists:
        if any(c.state == "off" and c.is_box for c in one.choices):  # beside empty boxes a crossed one is ticked
            for choice in one.choices:
                choice.state = "on" if choice.state == "no" and choice.is_box else choice.state
    return lists


def _of_line(line: str, at: int) -> BoxList | None:
    marks = list(_BOX.finditer(line[:2000]))
    if not marks:
        return None
    before = line[: marks[0].start()].strip(" \t-*•>_.")
    behind = line[marks[-1].end() :].strip(" \t*_.;,|\"'")
    name = re.split(r"[:?]\s{0,3}$", before)[0].strip(" *_\"'") if re.search(r"[:?]$", before) else ""
    if all(re.search(r":\s{0,3}$", line[: mark.start()]) for mark in marks):
        name = ""  # "A: ☐ B: ☑"
    leads = not before or bool(name) or re.fullmatch(r"[\"']?[0-9]{0,2}[.)]?", before) is not None
    if not leads and (behind or marks[0][0][0] + (marks[0].lastgroup or "") in ("[plus", "[minus")):
        return None  # a mark within a sentence
    choices = []
    for i, mark in enumerate(marks):
        if leads:
            label = line[mark.end() : marks[i + 1].start() if i + 1 < len(marks) else len(line)]
        else:
            label = line[marks[i - 1].end() if i else 0 : mark.start()]
            key, colon, own = label.rstrip(" :").rpartition(":")
            if colon and i == 0 and own.strip():
                name, label = key.strip(" -*•>_\"'"), own
        label = re.sub(r"^\s{0,3}[0-9]{1,2}[.)]\s", "", label)
        is_box = mark.lastgroup not in ("yes", "no", "plus", "minus") or mark[0][0] == "☒"
        choices.append(Choice(label.strip(" \t-*•>_.;,|/:\"'"), _state(mark), is_box))
    return BoxList(name, choices, at, at + len(line))


def _state(mark: re.Match[str]) -> str:
    states = {"x": "on", "radio": "on", "on": "on", "yes": "on", "plus": "on", "no": "no", "minus": "no"}
    return states.get(mark.lastgroup or "", "off")


def state_of(cell: str) -> str:
    """Return ``on``, ``off`` or ``no`` for a cell that holds a box or mark and nothing else, else an empty text.

    Example:
        >>> state_of("[x]"), state_of("☐"), state_of("(-)"), state_of("present")
        ('on', 'off', 'no', '')
    """
    mark = _BOX.fullmatch(cell.strip())
    return _state(mark) if mark else ""


def marked_rows(rows: Sequence[Group]) -> list[Choice]:
    """Return the choices of a table with a mark in each row beside one other cell of words; none for other tables."""
    choices = []
    for row in rows:
        words = [node.text for _, node in row.members if isinstance(node, Word)]
        marks = [(word, _BOX.fullmatch(word.strip())) for word in words]
        labels = [word for word, mark in marks if mark is None and word.strip()]
        found = [mark for _, mark in marks if mark is not None]
        if len(labels) != 1 or len(words) != 2 or not row.is_row:
            return []
        is_box = not found or found[0].lastgroup not in ("yes", "no", "plus", "minus")
        choices.append(Choice(labels[0], _state(found[0]) if found else "off", is_box))
    return choices if any(choice.state == "on" or not choice.is_box for choice in choices) else []


def short_label(label: str) -> str:
    """Return the label of a box without what follows it behind a dash, colon or bracket.

    Example:
        >>> short_label("GLAUCOMA - the cup is large"), short_label("B. No, too blurred")
        ('GLAUCOMA', 'B')
    """
    return _LABEL_END.split(label, maxsplit=1)[0].strip()


def pairs(plain: str, kind_of: Callable[[str], CellKind]) -> Iterator[Field]:
    """Yield rows of a name and an answer, as in tables with commas and in calls of functions.

    Example:
        >>> kinds = {"AMD": "name", "no": "word"}
        >>> [(f.key, f.value) for f in pairs('report("AMD", "no")', lambda word: kinds.get(word, ""))]
        [('AMD', 'no')]
    """
    for found in _PAIR.finditer(plain):
        if kind_of(found["key"]) == "name" and kind_of(found["value"]) == "word":
            yield Field(found["key"], found["value"], found.start("key"), found.end(), found.start("value"))


def fields(plain: str, kind_of: Callable[[str], CellKind]) -> Iterator[Field]:
    r"""Yield the fields ``key: value`` of all lines; several may stand on one line, behind semicolons or commas.

    A value ends at a semicolon, a full stop, or a comma with another key behind it. A key at the end of its line has
    its value on the next one; so has a heading that is the name of an answer. A heading that names something is what
    the fields below it are about: a field with the key "condition".

    Args:
        plain: The text with its signs normalised.
        kind_of: Returns what a word is.

    Example:
        >>> def read(text):
        ...     return [(f.key, f.value) for f in fields(text, lambda word: "heading" if word == "Answer" else "")]
        >>> read("**Condition:** AMD; Present = No. All flat"), read("## Answer\nB. No, blurred")
        ([('Condition', 'AMD'), ('Present', 'No')], [('Answer', 'B. No, blurred')])
    """
    pending: Field | None = None
    titled: Field | None = None  # the name on the line above: "Glaucoma", then "- Ruled out: yes"
    for start, end in _pieces(plain):
        piece = plain[start:end]
        found = _FIELD.match(piece)
        if found is None and (dashed := _DASHED.match(piece)) and kind_of(dashed["key"]) == "heading":
            found = dashed
        if found is None:
            if pending is not None and piece.strip():
                value_start = start + len(piece) - len(piece.lstrip())
                yield Field(pending.key, _bare(piece), pending.start, end, value_start)
                pending = None
            elif alone := _HEADING.fullmatch(piece):
                kind = kind_of(alone["key"])
                if kind == "heading":
                    pending = Field(alone["key"], "", start, end, end)
                elif kind == "name" and re.match(r"\s{0,3}(?:#|\*\*)", piece):
                    yield Field("condition", alone["key"], start, end, start)
                elif kind == "name" and len(alone["key"]) > 1:  # no letter of an option
                    titled = Field("condition", alone["key"], start, end, start)
            continue
        if pending is not None and kind_of(pending.key) == "name":
            yield Field("condition", pending.key, pending.start, pending.end, pending.start)
        pending = None
        if piece[: found.end()].rstrip(" :=").endswith(("!", "≠")):
            continue
        key_start = start + found.start("key")
        key = found["key"].strip(" \"'*_([")
        key += ")" * (key.count("(") > key.count(")"))
        field = Field(key, _bare(piece[found.end() :]), key_start, end, start + found.end())
        inner = _FIELD.match(field.value) if kind_of(key) == "name" else None
        if inner and kind_of(inner["key"]) and kinds_of(field.value[inner.end() :]):  # "Glaucoma: ruled out: yes"
            titled = Field("condition", key, key_start, end, key_start)
            field = Field(inner["key"], _bare(field.value[inner.end() :]), key_start, end, field.value_start)
        if field.value:
            if titled is not None and kinds_of(field.value) and kind_of(field.key) != "name":
                yield titled
            titled = None
            yield field
        elif kind_of(key) == "name":
            titled, pending = Field("condition", key, key_start, end, key_start), field
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
