"""Decode the structure of a reply: JSON, tags, tables, check boxes and lines ``key: value``.

Structure is decoded before prose is read, from text with its markup. Every layout gives *slots*: what is asked about,
what is said of it, and what stands beside it and is never an answer (explanation, confidence). Objects, tags, tables
and boxes are consumed whole. A line is consumed only if a reader finds an answer or an abstention in its value;
otherwise it stays in the prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.cues import CORRECTION, FINAL, final_statement
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.keys import (
    CAMEL,
    NEUTRAL,
    OWN_NAMES,
    Role,
    is_closed,
    is_known,
    is_name,
    is_number,
    kind_of,
    role_of,
)
from lmod_train.tasks.parsing.lists import Polarity, is_bare, is_sentence, lists, polarity_of, split_items
from lmod_train.tasks.parsing.normalise import in_place, normalise
from lmod_train.tasks.parsing.objects import Group, Word, objects
from lmod_train.tasks.parsing.reply_layouts import (
    BoxList,
    Field,
    box_lists,
    fields,
    marked_rows,
    pairs,
    short_label,
    state_of,
    tables,
    tags,
)
from lmod_train.tasks.parsing.slots import TRUTH_WORDS, kinds_of

Layout = Literal["object", "tag", "table", "box", "list", "line"]
Span = tuple[int, int]
PLACE = "\ua490"
"""Sign that stands in the prose for each part that was taken out."""
TICKED, EMPTY = "✓", "☐"
"""Values of a name with a ticked and with an empty box."""
_LONGEST_NAME = 60
_WORDS_OF_A_LABEL = 7
_NESTED = 3
"""Objects within the text of a value (arguments of a tool call) are read up to this depth."""
_TICK = re.compile(rf"[xX{entry('characters.marks')['yes']}{entry('characters.boxes')['on']}]\ufe0f?")


@dataclass(frozen=True, slots=True)
class Slot:
    """What a reply says of a name.

    Attributes:
        name: What is asked about: the value of a key such as ``condition``; else the key itself behind the names of the
            objects around it; empty for a value alone.
        value: What is said of it, as written; `TICKED` or `EMPTY` for the label of a box.
        role: Role of the key of the value.
        layout: Where it was found.
        spans: Places in the text of all that the slot consists of.
        extra: Further keys beside it, which are no answers, with their values.
    """

    name: str
    value: str
    role: Role
    layout: Layout
    spans: tuple[Span, ...]
    extra: Mapping[str, str] = field(default_factory=dict)


_LEFT_BULLET = re.compile(r"(?:^|(?<=\n))[ \t]{0,9}(?:[-*•]|[0-9]{1,2}[.)])[ \t]{0,3}$")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A reply with its structure: the whole `text`, all `slots`, and the spans that are consumed in any case."""

    text: str
    slots: tuple[Slot, ...]
    whole: tuple[Span, ...]

    def prose(self, lines: Iterable[Slot] = ()) -> str:
        """Return the text with a `PLACE` in the stead of all that is consumed, `lines` included."""
        parts, at = [], 0
        for start, end in self._taken(lines):
            if start >= at:
                parts += [_LEFT_BULLET.sub("", self.text[at:start]), f"\n{PLACE}\n"]
            at = max(at, end)
        return "".join([*parts, self.text[at:]])

    def place_of(self, slot: Slot, lines: Iterable[Slot] = ()) -> int:
        """Return how many signs `PLACE` stand before that of a slot in its prose."""
        first = min(start for start, _ in slot.spans)
        return sum(end <= first for _, end in self._taken(lines))

    def _taken(self, lines: Iterable[Slot]) -> list[Span]:
        return sorted({*self.whole, *(span for slot in lines for span in slot.spans)})


@lru_cache(maxsize=8)  # the answer, the confidence and the words they were read from come from one text
def decode(text: str) -> Decoded:
    r"""Return the slots of a reply without thinking.

    Example:
        >>> def slots(text):
        ...     return [(slot.name, slot.value) for slot in decode(text).slots]
        >>> slots('{"condition": "AMD", "present": false, "confidence": 0.9}'), slots("<AMD>TRUE</AMD>")
        ([('AMD', 'false')], [('AMD', 'TRUE')])
        >>> slots("| Condition | Present |\n|---|---|\n| AMD | No |"), slots("Condition: AMD; Present: No")
        ([('AMD', 'no')], [('AMD', 'No')])
        >>> slots("- [ ] TRUE\n- [x] FALSE"), slots("The macula is flat.")
        ([('', 'FALSE'), ('TRUE', '☐')], [])
    """
    text = text.replace(PLACE, " ")
    signs = _BRACKETED.sub(lambda m: f"{m['lead']} {m['key']}:" if kind_of(m["key"]) else m[0], in_place(text))
    slots: list[Slot] = []
    whole: list[Span] = []

    def is_free(span: Span) -> bool:
        return all(end <= span[0] or start >= span[1] for start, end in whole)

    def take(group: Group, layout: Layout, rows: Sequence[Group]) -> None:
        span = (group.start, group.end)
        if is_free(span):
            whole.append(span)
            if _QUOTED.search(signs, max(0, span[0] - 100), span[0]):
                return
            slots.extend(slot for row in rows for slot in _of_group(row, "", layout, (span,)))

    for group in objects(signs, text):
        take(group, "object", [group])
    for group in tags(signs, is_known) if "</" in signs else []:
        if not _is_one_answer(group):
            take(group, "tag", [group])
    boxed = []
    for table, rows in tables(_without(signs, whole), kind_of):
        denied = any(polarity_of(key) == "denied" for row in rows[:1] for key, _ in row.members)
        choices = [] if denied else marked_rows(rows)
        if len(choices) > 1 or (choices and not kinds_of(choices[0].label.strip(" ?"))):
            boxed.append(BoxList("", choices, table.start, table.end))
        else:
            take(table, "table", rows)
    for boxes in [*boxed, *box_lists(_without(signs, [(one.start, one.end) for one in boxed]))]:
        span = (boxes.start, boxes.end)
        if (boxes in boxed or _answers(boxes)) and is_free(span):
            whole.append(span)
            slots += [Slot(name, value, role, "box", (span,)) for name, value, role in _of_boxes(boxes)]
    for listed in lists(_without(signs, whole), kind_of):
        span = (listed.start, listed.end)
        if listed.polarity:
            whole.append(span)
        layout: Layout = "list" if listed.polarity else "line"
        for name, value in _of_items(listed.items, listed.polarity):
            slots.append(Slot(name, value, "", layout, (span,)))
            if value == "yes":
                slots.append(Slot("", name, "answer", layout, (span,)))
    slots += [*_of_lines(_without(signs, whole)), *_chosen(slots)]
    slots = [replace(slot, name=normalise(slot.name)) for slot in sorted(slots, key=lambda slot: slot.spans)]
    return Decoded(text, tuple(slots), tuple(sorted(whole)))


def _chosen(slots: Sequence[Slot]) -> Iterator[Slot]:
    """Yield the one name that a table or object affirms while it denies all others, as an answer."""
    by_span: dict[tuple[Span, ...], list[Slot]] = {}
    for slot in slots:
        if slot.name and not (slot.role and role_of(slot.name)) and slot.layout in ("table", "object", "box"):
            by_span.setdefault(slot.spans, []).append(slot)
    for together in by_span.values():
        said = [kinds_of(slot.value) for slot in together]
        if said.count(("yes",)) == 1 and said.count(("no",)) == len(said) - 1 > 0:
            one = together[said.index(("yes",))]
            yield replace(one, name="", value=one.name, role="answer")


_BRACKETED = re.compile(r"(?m)(?P<lead>^[ \t]{0,9})\[(?P<key>[^\[\]\n:]{2,20})\](?=[ \t]{0,3}[^\s\[:(])")  # "[性别]男"
_QUOTED = compiled("structure.quoted")


def _without(text: str, spans: Iterable[Span]) -> str:
    """Return the text with a sign and line breaks in the stead of some spans, so that every place stays."""
    for start, end in spans:
        text = f"{text[:start]}{PLACE}{chr(10) * (end - start - 1)}{text[end:]}"
    return text


def _is_one_answer(group: Group) -> bool:
    """Return whether tags hold an answer alone, ``<answer>...</answer>``: cleaning makes it a final answer."""
    return len(group.members) == 1 and plain(group.members[0][0]) == "answer"


def _of_group(group: Group, parent: str, layout: Layout, spans: tuple[Span, ...], depth: int = 0) -> Iterator[Slot]:
    """Yield the slots of an object, list or row.

    Args:
        group: The object.
        parent: Names of the objects around it that announce nothing, as that of a disease.
        layout: Its layout.
        spans: Its place.
        depth: How many objects within the text of a value are around it.
    """
    words = _zipped([(key, node) for key, node in group.members if isinstance(node, Word)], group)
    inner = [(key, node) for key, node in group.members if isinstance(node, Group)]
    for key, word in list(words):
        if depth < _NESTED and word.text.lstrip()[:1] in ("{", "["):  # the arguments of a tool call
            found = objects(in_place(word.text), word.text)
            inner += [(key, one) for one in found]
            if found:
                words.remove((key, word))
    if group.is_list and len(words) == 2 and not inner and _is_pair(words[0][1].text, words[1][1].text):
        yield Slot(words[0][1].text, words[1][1].text, "answer", layout, spans)  # ["AMD", "FALSE"]
    elif group.is_list:
        for _, word in words:
            slot = Slot(parent, word.text, role_of(parent) or "answer", layout, spans)
            yield from _denied("", slot) if slot.role == "denied" else (slot,)  # {"absent": ["drusen"]}
    else:
        for members in _repeated([(key, word.text) for key, word in words]):
            yield from _of_members(members, parent, layout, spans, group.is_row)
    for key, node in inner:
        role = role_of(key)
        of_words = node.is_list and any(isinstance(own, Word) for _, own in node.members)
        if role == "extra" and (of_words or not _CONTAINER.search(plain(key))):
            continue
        if role in ("answer", "diagnosis") and not node.is_list:  # {"result": {"label": "AMD", "score": 0.9}}
            node.members = [(key if role_of(own) == "type" else own, one) for own, one in node.members]
        neutral = role or role_of(parent) or NEUTRAL.fullmatch(plain(key))
        named = is_name(plain(key))  # {"disc": {"increased_cup_to_disc_ratio": ...}}
        below = key if (of_words and role) or named else "" if neutral else f"{parent} {key}".strip()
        yield from _of_group(node, below, layout, spans, depth + 1)


def _repeated(members: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return the members apart where their first key comes again behind another one: tags of several conditions."""
    keys = [plain(key) for key, _ in members]
    starts = [0, *(i for i, key in enumerate(keys) if i and key == keys[0] != keys[i - 1])]
    return [members[start:end] for start, end in zip(starts, [*starts[1:], len(members)], strict=True)]


def _zipped(words: list[tuple[str, Word]], group: Group) -> list[tuple[str, Word]]:
    """Return the words of an object with those of two parallel lists, names and values, as pairs."""
    lists = [(key, node) for key, node in group.members if isinstance(node, Group) and node.is_list]
    if len(lists) == 2 and {role_of(key) for key, _ in lists} in ({"type", "answer"}, {"subject", "answer"}):
        names, values = sorted(lists, key=lambda pair: role_of(pair[0]) == "answer")
        both = list(zip(names[1].members, values[1].members, strict=False))
        if all(isinstance(one, Word) and isinstance(other, Word) for (_, one), (_, other) in both):
            group.members = [member for member in group.members if member not in lists]
            return words + [(one.text, other) for (_, one), (_, other) in both]  # type: ignore[union-attr, misc]
    return words


_CONTAINER = re.compile("finding|feature|observation|sign|analysis|detail|diagnos|所见|分析|特征|观察|诊断")
"""Keys of objects that may hold answers, although their text is an explanation."""


def _is_pair(first: str, second: str) -> bool:
    """Return whether a list of two words is a name with its value, or a number with its type."""
    named = kinds_of(second) and not kinds_of(first)
    return bool(named) or (first.strip().isdigit() and not second.strip().isdigit())


def _of_members(
    members: Sequence[tuple[str, str]], parent: str, layout: Layout, spans: tuple[Span, ...], is_row: bool
) -> Iterator[Slot]:
    """Yield the slots of keys and values that stand together."""
    roles = _roles([key for key, _ in members], is_row)
    if not is_row and "answer" not in roles:  # {"findings": "drusen, scar"}
        for i, (key, value) in enumerate(members):
            if (
                roles[i] == "extra"
                and polarity_of(key) == "asserted"
                and all(map(is_bare, items := split_items(value)))
            ):
                yield from (Slot(name, said, "", layout, spans) for name, said in _of_items(items, "asserted"))
    extra = {plain(key): value for (key, value), role in zip(members, roles, strict=True) if role == "extra"}
    by_role = [(key, value, role) for (key, value), role in zip(members, roles, strict=True) if role != "extra"]
    about = _about(by_role)
    if is_row and (said := list(_of_row(members))):
        yield from (Slot(name, value, "", layout, spans, extra) for name, value in said)
        return
    only = by_role[0][2] if len(by_role) == 1 else ""
    if (only in ("subject", "type") or (is_row and only == "diagnosis")) and any(map(is_number, extra)):
        yield Slot(by_role[0][1], UNSAID, "", layout, spans, extra)  # {"label": "AMD", "score": 0.01}
        return
    ticked = _ticked(by_role)
    if ticked is not None:
        subjects = [value for _, value, role in by_role if role in ("subject", "diagnosis", "id")]
        name = subjects[0] if subjects else parent
        yield from (Slot(name, value, "answer", layout, spans, extra) for value in ticked)
        return
    if len(by_role) > 1 and (chosen := [one for one in by_role if _CHOSEN.fullmatch(plain(CAMEL.sub(" ", one[0])))]):
        if any(kinds_of(value) == ("no",) for _, value, _ in chosen):
            return  # {"answer": "A", "correct": false}
        by_role = [one for one in by_role if one not in chosen or not kinds_of(one[1])]
    if len(corrected := [one for one in by_role if one[2] == "answer" and _CORRECTED.search(plain(one[0]))]) == 1:
        by_role = [one for one in by_role if one[2] != "answer" or one in corrected]
    has_answer = any(role == "answer" for _, _, role in by_role)
    for key, value, role in by_role:
        if (key, value, role) == about:
            continue
        if role == "id" and about is not None and about[2] != "id":
            continue
        if role == "type" and has_answer and (about is None or about[2] != "id"):
            continue
        if role == "denied":
            yield from _denied(about[1] if about else parent, Slot("", value, role, layout, spans, extra))
            continue
        own = "" if parent and role == "answer" else CAMEL.sub(" ", key)  # {"scar": {"value": false}}
        name = about[1] if about and role else own if is_name(plain(key)) else f"{parent} {own}".strip()
        yield Slot(name, value, role, layout, spans, extra)
        if role in ("answer", "diagnosis") and len(items := split_items(value)) > 1 and all(map(is_bare, items)):
            yield from (Slot(item, said, "", layout, spans, extra) for item, said in _of_items(items, "asserted"))


def _of_row(members: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the names of a row with what its cells, or columns such as "Present" and "Absent", say of them."""
    head, first = members[0]
    if len(members) == 1 and polarity_of(head):  # a table of one column
        yield from _of_items(split_items(first), polarity_of(head))
        return
    of_list = len(members) == 2 and plain(first) not in TRUTH_WORDS and role_of(members[1][0]) != "extra"
    if of_list and polarity_of(first) and any(map(is_bare, items := split_items(members[1][1]))):
        yield from _of_items(items, polarity_of(first))  # "| Absent | AMD, DR |"
        return
    of_row, heads = polarity_of(first), [key for key, _ in members[1:]]
    if heads and all(_truth(value) for _, value in members[1:]) and not any(polarity_of(key) for key in heads):
        if of_row in ("denied", "asserted") and plain(first) not in TRUTH_WORDS and not is_name(plain(head)):
            for key, value in members[1:]:
                yield key, _truth(value) if of_row == "asserted" else _OPPOSITE[_truth(value)]
            return
        if not any(role_of(key) or OWN_NAMES.fullmatch(plain(key)) for key in heads) and not polarity_of(head):
            yield from ((key, truth) for key, value in members if (truth := _truth(value)))
            return
    polar = {i: of for i, (key, value) in enumerate(members) if (of := _of_column(key, value))}
    truths = {i: truth for i in polar if (truth := _truth(members[i][1]))}
    said = {truth if polar[i] == "asserted" else _OPPOSITE[truth] for i, truth in truths.items()}
    rest = [(key, value) for i, (key, value) in enumerate(members) if i not in polar]
    names = [value for key, value in rest if role_of(key) != "extra"] or [value for _, value in rest]
    if polar and names and names[0].strip():
        yield names[0], said.pop() if len(said) == 1 else UNSAID


def _of_column(key: str, value: str) -> Polarity:
    """Return what a column says of the names in its rows; empty for one whose cells are no truths."""
    if len(key.split()) > _WORDS_OF_A_LABEL or plain(key) in TRUTH_WORDS or (value.strip() and not _truth(value)):
        return ""
    of = polarity_of(key)
    return of if of == "denied" or (of == "asserted" and kinds_of(key.strip(" ?"))) else ""


_OPPOSITE = {"yes": "no", "no": "yes"}


def _truth(value: str) -> str:
    """Return "yes" or "no" for a cell that says one of them, by a word or a mark; empty for any other."""
    if state := state_of(value):
        return "yes" if state == "on" else "no"
    kinds = kinds_of(value)
    return kinds[0] if kinds in (("yes",), ("no",)) else ""


def _denied(name: str, slot: Slot) -> Iterator[Slot]:
    """Yield what a column or key such as "absent" says of a name, or of the names that are its value."""
    if truth := _truth(slot.value):
        yield replace(slot, name=name, value=_OPPOSITE[truth], role="" if name else "answer")
    elif not kinds_of(slot.value):
        for item, said in _of_items(split_items(slot.value), "denied"):
            yield replace(slot, name=item, value=said, role="")


_CHOSEN = re.compile(r"(?:is )?(?:correct|selected|chosen|valid|right)")
_CORRECTED = re.compile(r"(?<![a-z])(?:final|corrected|revised|updated|amended)(?![a-z])|最终|修正|更正")


def _roles(keys: Sequence[str], is_row: bool) -> list[Role]:
    """Return the roles of keys; the first column of a table beside one of answers is what is asked about."""
    roles = [role_of(key) for key in keys]
    if is_row and roles[:1] == ["answer"] and "answer" in roles[1:]:
        roles[0] = "subject"
    named = {"subject", "diagnosis", "id"} & set(roles)
    unknown = is_row and roles[:1] in (["extra"], [""]) and not named
    if unknown and "answer" in roles[1:] and not is_name(plain(keys[0])):
        roles[0] = "subject"
    if roles.count("subject") > 1 and not {"answer", "diagnosis", "type"} & set(roles):  # "feature" and "finding"
        first = roles.index("subject")
        roles = ["answer" if role == "subject" and i > first else role for i, role in enumerate(roles)]
    return roles


_SAID_OF = (("subject", {"answer", "diagnosis", "type"}), ("diagnosis", {"answer"}), ("type", {"answer"}))


def _about(members: Sequence[tuple[str, str, Role]]) -> tuple[str, str, Role] | None:
    """Return the member that says what is asked about, if another one says something of it."""
    roles = ["answer" if role == "denied" else role for _, _, role in members]
    for one in members:
        numbered = one[2] == "id" and len(members) > 1 and re.search("[0-9]", one[1])
        if numbered and not ("subject" in roles and "answer" in roles):
            return one
    for wanted, others in _SAID_OF:
        if wanted in roles and others & set(roles):
            one = members[roles.index(wanted)]
            return None if wanted == "type" and kinds_of(one[1]) else one
    return None


def _ticked(members: Sequence[tuple[str, str, Role]]) -> list[str] | None:
    """Return the ticked ones of columns such as "Yes" and "No", "?" if none is; None without such columns."""
    blank = [(key, value, role) for key, value, role in members if not value.strip() or _TICK.fullmatch(value.strip())]
    columns = [(key, value) for key, value, role in blank if not role or kinds_of(key)]
    if len(columns) < sum(not role for _, _, role in members):
        truths = [(key, value) for key, value, _ in members if plain(key) in TRUTH_WORDS]
        columns = [(key, value) for key, value in truths if not value.strip() or kinds_of(value)]
    if len(columns) < 2 or len({plain(key) for key, _ in columns}) < len(columns):
        return None
    ticked = [key for key, value in columns if _TICK.fullmatch(value.strip()) or kinds_of(value) == ("yes",)]
    return ticked if 0 < len(ticked) < len(columns) else ["?"]


UNSAID = "?"
"""Value of a name of which nothing is said: an item under "Differential", or under a heading that is not known."""
_NEGATED = compiled("structure.negated")
_REASON = compiled("structure.reason")
_UNSURE = compiled("structure.unsure")


def _of_items(items: Iterable[str], said: Polarity) -> Iterator[tuple[str, str]]:
    """Yield the name of each item of a list, and what its heading and itself say of it."""
    for item in items:
        name = _REASON.split(item, maxsplit=1)[0].strip(" *_\"'")
        value = {"denied": "no", "asserted": "yes"}.get(said, UNSAID)
        if bare := _NEGATED.fullmatch(name):
            name, value = bare["name"], UNSAID if said == "open" else "no"
        own = _truth(item[len(name) :].strip(" :-()"))
        if value == "yes" and not is_bare(name):
            continue
        value = own or value if said == "asserted" else value
        yield name, UNSAID if value == "yes" and _UNSURE.search(item) else value


def _answers(boxes: BoxList) -> bool:
    """Return whether boxes or ticks are an answer, and no decoration of sentences."""
    states = {choice.state for choice in boxes.choices}
    if not boxes.name and not any(choice.label for choice in boxes.choices):
        return not any(choice.is_box for choice in boxes.choices)  # a tick alone; "(X)" is a letter
    if any(choice.is_box for choice in boxes.choices) or all(is_closed(choice.label) for choice in boxes.choices):
        return True
    short = all(len(c.label.split()) <= _WORDS_OF_A_LABEL and not is_sentence(c.label) for c in boxes.choices)
    if short and any(is_closed(choice.label) or is_bare(choice.label) for choice in boxes.choices):
        return True
    return len(boxes.choices) > 1 and len(states) > 1 and all(len(c.label) <= _LONGEST_NAME for c in boxes.choices)


def _of_boxes(boxes: BoxList) -> Iterator[tuple[str, str, Role]]:
    """Yield name, value and role of what a list of boxes states; "?" where all boxes are empty, or all are ticked."""
    on = [choice for choice in boxes.choices if choice.state == "on"]
    off = [choice for choice in boxes.choices if choice.state == "off"]
    crossed = [choice for choice in boxes.choices if choice.state == "no"]
    opposites = len({plain(choice.label).removeprefix("non ") for choice in crossed}) < len(crossed)
    if (off and not on) or (opposites and not on):
        yield boxes.name, "?", "answer"
        return
    for choice in on:
        own = None if boxes.name else _OWN_VALUE.search(choice.label)
        if own and kinds_of(own["value"]) and not kinds_of(label := choice.label[: own.start()].strip()):
            yield label, own["value"], ""  # "[x] AMD - no"
            continue
        short = short_label(choice.label)
        yield boxes.name, (short if is_closed(short) else choice.label) or TICKED, "answer"
    for choice in off:
        yield choice.label, EMPTY, ""
    for choice in crossed:
        said = kinds_of(short_label(choice.label))
        if not said:
            yield short_label(choice.label) or boxes.name, entry("characters.marks")["no"][0], ""
        elif not on:  # "❌ FALSE"; a cross before "TRUE" says two things
            yield boxes.name, choice.label if said == ("no",) else "?", "answer"


_OWN_VALUE = compiled("structure.own_value", 0)


def _of_lines(signs: str) -> Iterator[Slot]:
    """Yield the slots of the fields of all lines; fields go together up to one whose key comes again."""
    together: list[Field] = []
    known: set[str] = set()
    for one in pairs(signs, kind_of):
        yield Slot(one.key, one.value, "", "line", ((one.start, one.end),))
    for one in fields(signs, kind_of):
        key = plain(one.key)
        if FINAL.search(f"{one.key}:") or CORRECTION.search(f"{one.key}:") or _EARLIER.search(key):
            continue  # what follows replaces another answer, or is replaced: the prose grammar reads it
        if _AFTERTHOUGHT.match(signs, one.end) or one.value.startswith(PLACE):
            continue
        if key in known:
            yield from _of_fields(together, signs)
            together, known = [], set()
        together.append(one)
        known.add(key)
    yield from _of_fields(together, signs)


_EARLIER = compiled("structure.earlier", 0)
_AFTERTHOUGHT = compiled("structure.afterthought")


def is_requested(slot: Slot) -> bool:
    """Return whether a slot is a line of the requested format, which sentences explain and do not contradict."""
    return slot.layout == "line" and (slot.role != "" or OWN_NAMES.fullmatch(plain(slot.name)) is not None)


def _of_fields(together: Sequence[Field], signs: str) -> Iterator[Slot]:
    about = _about([(one.key, one.value, _role_in_line(one)) for one in together])
    for one in together:
        role = _role_in_line(one)
        if role == "extra" or (one.key, one.value, role) == about or final_statement(normalise(one.value)) is not None:
            continue
        span = (one.start, one.end)
        if about is None or not role:
            value, end = _whole_sentence(one, role, signs, together)
            value = _SURE.sub("", value) if role or OWN_NAMES.fullmatch(plain(one.key)) else value
            slot = Slot(one.key, value, role, "line", ((one.start, end),))
            yield from _denied("", slot) if role == "denied" else (slot,)
            continue
        asked = next(other for other in together if (other.key, other.value) == about[:2])
        slot = Slot(about[1], one.value, role, "line", tuple(sorted(((asked.start, asked.end), span))))
        yield from _denied(about[1], slot) if role == "denied" else (slot,)


_SURE = re.compile(r"\s?\((?:about |ca\.? )?[0-9]{1,3}\s?%[^()\n]{0,20}\)$")
"""How sure a model is of what it puts into a field: "Sex: MALE (55 %)"."""


def _whole_sentence(one: Field, role: Role, signs: str, others: Sequence[Field]) -> tuple[str, int]:
    """Return the value of a field and its end; a sentence goes on behind its full stop, to the next field or line."""
    if role not in ("answer", "diagnosis") or len(one.value.split()) < 4:
        return one.value, one.end
    ends = [at for at in (signs.find("\n", one.end), *(other.start for other in others)) if at >= one.end]
    end = min(ends, default=len(signs))
    return signs[one.value_start : end].strip(), end


def _role_in_line(one: Field) -> Role:
    """Return the role of a field's key; a subject is a name and no sentence."""
    role = role_of(one.key)
    return "" if role == "subject" and len(one.value) > 2 * _LONGEST_NAME else role
