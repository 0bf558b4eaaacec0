"""Decode the structure of a reply: JSON, tags, tables, check boxes and lines ``key: value``.

Structure is decoded before prose is read, from text with its markup. Every layout gives *slots*: what is asked about,
what is said of it, and what stands beside it and is never an answer (explanation, confidence). Objects, tags, tables
and boxes are consumed whole. A line is consumed only if a reader finds an answer or an abstention in its value;
otherwise it stays in the prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.cues import CORRECTION, FINAL, final_statement
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.groups import EMPTY, TICKED, Layout, Slot, Span, about_of, of_denied, of_group, of_items
from lmod_train.tasks.parsing.keys import OWN_NAMES, Role, is_closed, is_known, kind_of, role_of
from lmod_train.tasks.parsing.lists import is_bare, is_sentence, lists, polarity_of
from lmod_train.tasks.parsing.normalise import in_place, normalise
from lmod_train.tasks.parsing.objects import Group, objects
from lmod_train.tasks.parsing.reply_layouts import (
    BoxList,
    Field,
    box_lists,
    by_legend,
    fields,
    marked_rows,
    pairs,
    short_label,
    tables,
    tags,
)
from lmod_train.tasks.parsing.slots import kinds_of

PLACE = "\ua490"
"""Sign that stands in the prose for each part that was taken out."""
_LONGEST_NAME, _WORDS_OF_A_LABEL = 60, 7

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
    text = by_legend(text.replace(PLACE, " "))
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
            slots.extend(slot for row in rows for slot in of_group(row, "", layout, (span,)))

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
        for name, value in of_items(listed.items, listed.polarity):
            slots.append(Slot(name, value, "", layout, (span,)))
            if value == "yes":
                slots.append(Slot("", name, "answer", layout, (span,)))
        if listed.polarity == "asserted":
            slots += [Slot("", item, "answer", layout, (span,)) for item in listed.items if not is_bare(item)]
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


def _answers(boxes: BoxList) -> bool:
    """Return whether boxes or ticks are an answer, and no decoration of sentences."""
    states = {choice.state for choice in boxes.choices}
    if not boxes.name and not any(choice.label for choice in boxes.choices):
        return not any(choice.is_box for choice in boxes.choices)  # a tick alone; "(X)" is a letter
    if any(polarity_of(c.label) and not kinds_of(c.label) and not is_bare(c.label) for c in boxes.choices):
        return False  # "■ Absent" is a heading
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
    about = about_of([(one.key, one.value, _role_in_line(one)) for one in together])
    for one in together:
        role = _role_in_line(one)
        if role == "extra" or (one.key, one.value, role) == about or final_statement(normalise(one.value)) is not None:
            continue
        span = (one.start, one.end)
        if about is None or not role:
            value, end = _whole_sentence(one, role, signs, together)
            value = _SURE.sub("", value) if role or OWN_NAMES.fullmatch(plain(one.key)) else value
            slot = Slot(one.key, value, role, "line", ((one.start, end),))
            yield from of_denied("", slot) if role == "denied" else (slot,)
            continue
        asked = next(other for other in together if (other.key, other.value) == about[:2])
        slot = Slot(about[1], one.value, role, "line", tuple(sorted(((asked.start, asked.end), span))))
        yield from of_denied(about[1], slot) if role == "denied" else (slot,)


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
