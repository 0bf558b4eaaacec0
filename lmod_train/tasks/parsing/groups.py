"""Read what keys and values that stand together say: the members of objects and lists, the rows of tables.

Each gives slots: what is asked about, what is said of it, and what stands beside it and is never an answer. A key, a
column or the cell before a row may have a polarity: then it says something of the names beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.keys import CAMEL, NEUTRAL, OWN_NAMES, Role, is_name, is_number, role_of
from lmod_train.tasks.parsing.lists import Polarity, is_bare, polarity_of, split_items
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.objects import Group, Word, objects
from lmod_train.tasks.parsing.reply_layouts import state_of
from lmod_train.tasks.parsing.slots import TRUTH_WORDS, kinds_of

Layout = Literal["object", "tag", "table", "box", "list", "line"]
Span = tuple[int, int]
TICKED, EMPTY = "✓", "☐"
"""Values of a name with a ticked and with an empty box."""
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


def of_group(group: Group, parent: str, layout: Layout, spans: tuple[Span, ...], depth: int = 0) -> Iterator[Slot]:
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
            yield from of_denied("", slot) if slot.role == "denied" else (slot,)  # {"absent": ["drusen"]}
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
        yield from of_group(node, below, layout, spans, depth + 1)


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
    if not is_row and "answer" not in roles:
        yield from (Slot(name, said, "", layout, spans) for name, said in _of_explanations(members, roles))
    extra = {plain(key): value for (key, value), role in zip(members, roles, strict=True) if role == "extra"}
    by_role = [(key, value, role) for (key, value), role in zip(members, roles, strict=True) if role != "extra"]
    about = about_of(by_role)
    if is_row and (said := list(_of_row(members))):
        yield from (Slot(name, value, "", layout, spans, extra) for name, value in said)
        return
    only = by_role[0][2] if len(by_role) == 1 else ""
    if (
        not re.search("[0-9]", parent)
        and (only in ("subject", "type") or (is_row and only == "diagnosis"))
        and any(is_number(key) or polarity_of(key) == "open" for key in extra)
    ):
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
            yield from of_denied(about[1] if about else parent, Slot("", value, role, layout, spans, extra))
            continue
        own = "" if parent and role == "answer" else CAMEL.sub(" ", key)  # {"scar": {"value": false}}
        name = about[1] if about and role else own if is_name(plain(key)) else f"{parent} {own}".strip()
        yield Slot(name, value, role, layout, spans, extra)
        if role in ("answer", "diagnosis") and len(items := split_items(value)) > 1 and all(map(is_bare, items)):
            yield from (Slot(item, said, "", layout, spans, extra) for item, said in of_items(items, "asserted"))


def _of_explanations(members: Sequence[tuple[str, str]], roles: Sequence[Role]) -> Iterator[tuple[str, str]]:
    """Yield the names that keys of explanations list: ``{"findings": "drusen, scar"}``."""
    for (key, value), role in zip(members, roles, strict=True):
        items = split_items(value) if role == "extra" and polarity_of(key) == "asserted" else []
        if all(map(is_bare, items)):
            yield from of_items(items, "asserted")


def _of_row(members: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the names of a row with what its cells, or columns such as "Present" and "Absent", say of them."""
    head, first = members[0]
    if len(members) == 1 and polarity_of(head):  # a table of one column
        yield from of_items(split_items(first), polarity_of(head))
        return
    of_list = len(members) == 2 and plain(first) not in TRUTH_WORDS and role_of(members[1][0]) != "extra"
    if of_list and polarity_of(first) and any(map(is_bare, items := split_items(members[1][1]))):
        yield from of_items(items, polarity_of(first))  # "| Absent | AMD, DR |"
        return
    named = [(key, value) for key, value in members if any(map(is_bare, split_items(value)))]
    columns = [polarity_of(key) for key, _ in named if plain(key) not in TRUTH_WORDS]
    if len(columns) == len(members) > 1 and all(columns) and "denied" in columns:
        for key, value in members:  # "| Found | Not found |"
            yield from of_items(split_items(value), polarity_of(key))
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
    if polar and names and names[0].strip() and not state_of(names[0]) and not _TICK.fullmatch(names[0].strip()):
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
    if _TICK.fullmatch(value.strip()):
        return "yes"
    if state := state_of(value):
        return "yes" if state == "on" else "no"
    kinds = kinds_of(value)
    return kinds[0] if kinds in (("yes",), ("no",)) else ""


def of_denied(name: str, slot: Slot) -> Iterator[Slot]:
    """Yield what a column or key such as "absent" says of a name, or of the names that are its value."""
    if truth := _truth(slot.value):
        yield replace(slot, name=name, value=_OPPOSITE[truth], role="" if name else "answer")
    elif not kinds_of(slot.value):
        for item, said in of_items(split_items(slot.value), "denied"):
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


def about_of(members: Sequence[tuple[str, str, Role]]) -> tuple[str, str, Role] | None:
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
    blank = [one for one in members if not one[1].strip() or _TICK.fullmatch(one[1].strip()) or state_of(one[1])]
    columns = [(key, value) for key, value, role in blank if not role or kinds_of(key)]
    if len(columns) < sum(not role for _, _, role in members):
        truths = [(key, value) for key, value, _ in members if plain(key) in TRUTH_WORDS]
        columns = [(key, value) for key, value in truths if not value.strip() or kinds_of(value)]
    if len(columns) < 2 or len({plain(key) for key, _ in columns}) < len(columns):
        return None
    on = ((key, _TICK.fullmatch(value.strip()) or state_of(value) == "on") for key, value in columns)
    ticked = [key for (key, is_on), (_, value) in zip(on, columns, strict=True) if is_on or kinds_of(value) == ("yes",)]
    return ticked if 0 < len(ticked) < len(columns) else ["?"]


UNSAID = "?"
"""Value of a name of which nothing is said: an item under "Differential", or under a heading that is not known."""
_NEGATED = compiled("structure.negated")
_REASON = compiled("structure.reason")
_UNSURE, _ELSEWHERE = compiled("structure.unsure"), compiled("structure.elsewhere")


def of_items(items: Iterable[str], said: Polarity) -> Iterator[tuple[str, str]]:
    """Yield the name of each item of a list, and what its heading and itself say of it."""
    for item in items:
        name = _REASON.split(item, maxsplit=1)[0].strip(" *_\"'")
        value = {"denied": "no", "asserted": "yes"}.get(said, UNSAID)
        if bare := _NEGATED.fullmatch(name):
            name, value = bare["name"], UNSAID if said == "open" else "no"
        own = _truth(item[len(name) :].strip(" :-()"))
        if value == "yes" and not is_bare(name):
            continue
        value = own or value if said != "denied" else value
        unsure = _ELSEWHERE.search(item) or (value == "yes" and _UNSURE.search(item))
        yield name, UNSAID if unsure else value
