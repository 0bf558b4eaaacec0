r"""Find lists of names and what governs them: the heading above, or a sentence behind that speaks of all items.

A heading holds for its list up to the next heading or paragraph, in every layout: bullets, numbers, one line with
commas, nested lists. It denies ("Excluded diagnoses"), asserts ("Findings") or leaves open ("Differential").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from lmod_train.core.vocabulary import compiled, phrases
from lmod_train.tasks.parsing.cues import CORRECTION, FINAL
from lmod_train.tasks.parsing.forms import any_condition, plain, term_of
from lmod_train.tasks.parsing.option_signs import TEXT
from lmod_train.tasks.parsing.reply_layouts import CellKind
from lmod_train.tasks.parsing.slots import TRUTH_WORDS, kinds_of

Polarity = Literal["denied", "open", "asserted", ""]
"""What a heading says of its items; empty for one that says nothing known."""

_CUT = re.compile(r"(?<![0-9])[.!](?=\s|$)|。|;(?=\s{0,3}[*_]{0,2}[^\n:;,.]{2,60}:)")
_BULLET = compiled("headings.bullet")
_HEAD, _TITLE, _BRACKETED, _DASHED = (compiled(f"headings.{n}") for n in ("head", "title", "bracketed", "dashed"))
_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z])")
_SHORT_HEAD, _LONGEST_LINE = re.compile(r"[^\s]{1,30}(?:\s[^\s]{1,30}){0,4}"), 60
_WORDS_OF_AN_ITEM, _MOST_LINES = 7, 60


@dataclass(slots=True)
class Listed:
    """A list: its heading, what is said of its items, the span of all of it, and the items without bullets."""

    heading: str
    polarity: Polarity
    start: int
    end: int
    items: list[str] = field(default_factory=list)
    in_line: bool = False


@dataclass(slots=True)
class _Line:
    """A line, or a sentence or field within one, without bullet."""

    text: str
    start: int
    end: int
    indent: int
    bullet: str
    first: bool


def lists(signs: str, kind_of: Callable[[str], CellKind]) -> Iterator[Listed]:
    r"""Yield the lists of a text in order, without overlap.

    Args:
        signs: The text with its signs normalised in place.
        kind_of: Returns what a word is; behind the key of an answer stands a value.

    Example:
        >>> def read(text):
        ...     return [(found.polarity, found.items) for found in lists(text, lambda word: "")]
        >>> read("Absent:\n- AMD\n- DR\n\nPresent: drusen, scar."), read("- AMD\n- DR\nNone of these is present.")
        ([('denied', ['AMD', 'DR']), ('asserted', ['drusen', 'scar'])], [('denied', ['AMD', 'DR'])])
    """
    lines = list(_lines(signs))
    at = 0
    while at < len(lines):
        heading = _heading(lines, at)
        found, after = _gathered(lines, at, signs, *heading) if heading else _headless(lines, at, signs)
        if _is_list(found, kind_of):
            yield found
            at = after
        else:
            at = after if found.items or not heading else at + 1


def _lines(signs: str) -> Iterator[_Line]:
    start = 0
    for whole in signs.split("\n"):
        lead = _BULLET.match(whole)
        at, indent, bullet = (lead.end(), len(lead["indent"]), _kind_of_bullet(lead["mark"])) if lead else (0, 0, "")
        first = True
        for cut in [*(m.span() for m in _CUT.finditer(whole, at)), (len(whole), len(whole))]:
            text = whole[at : cut[0]]
            if any(c.isalnum() for c in text):
                begin = at + len(text) - len(text.lstrip())
                yield _Line(text.strip(), start + begin, start + cut[1], indent, bullet if first else "", first)
                first = False
            at = cut[1]
        start += len(whole) + 1


def _kind_of_bullet(mark: str | None) -> str:
    """Return a bullet with one digit, letter or numeral for all of them; empty for none."""
    return re.sub(r"\w+", "1" if (mark or "").strip(" ()")[:1].isdecimal() else "x", (mark or "").strip())


def _heading(lines: list[_Line], at: int) -> tuple[str, str] | None:
    """Return the heading of a line and what follows it in the line; None for a line without one."""
    line = lines[at]
    found = (
        (_TITLE.fullmatch(line.text) if line.first else None) or _HEAD.match(line.text) or _BRACKETED.match(line.text)
    )
    if found is None and (dashed := _DASHED.match(line.text)) and polarity_of(dashed["head"]):
        found = None if plain(dashed["head"]) in TRUTH_WORDS else dashed
    head, rest = line.text, ""
    if found is not None:
        head, rest = found["head"], line.text[found.end() :].strip(" *_\"'")
    elif not (line.first and at + 1 < len(lines) and len(line.text) <= 80 and _is_above_list(line, lines[at + 1])):
        return None
    head = head.strip(" *_\"'#=<>《》▶")
    named = any_condition().search(head) or _SIGN.search(head)
    announces = polarity_of(head) not in ("denied", "open") and (
        FINAL.search(f"{head}:") or CORRECTION.search(f"{head}:")
    )
    return (
        None
        if named or announces or _of_all(rest) or not re.search(r"[^\W\d_]{2}|[\u4e00-\u9fff]", head)
        else (head, rest)
    )


def _is_above_list(line: _Line, below: _Line) -> bool:
    """Return whether a line without a colon is the heading of the line below: of bullets, or a title over a name."""
    deeper = below.bullet and (below.bullet != line.bullet or below.indent > line.indent)
    title = (
        _SHORT_HEAD.fullmatch(line.text)
        and not is_bare(line.text)
        and not re.search("[:=|,]", line.text)
        and not is_sentence(line.text)
    )
    over = not below.bullet and title and plain(line.text) not in TRUTH_WORDS and is_bare(below.text)
    return below.first and bool(polarity_of(line.text)) and bool(deeper or over)


def _gathered(lines: list[_Line], at: int, signs: str, heading: str, rest: str) -> tuple[Listed, int]:
    """Return the list of a heading, in its line or below it, and the number of the line behind it."""
    said = polarity_of(heading)
    label = _SHORT_HEAD.fullmatch(heading) and not is_sentence(heading) and not _LETTER.search(heading)
    if not said and label and _KINDS[-1][1].search(heading):
        said = "open"  # "Diagnosis withdrawn"
    found = Listed(heading, said, lines[at].start, lines[at].end, split_items(rest), in_line=bool(rest))
    after, bulleted = at + 1, False
    while not rest and after < min(len(lines), at + _MOST_LINES):
        line = lines[after]
        if line.first:
            inner = _heading(lines, after)
            announced = FINAL.search(f"{line.text}:") or CORRECTION.search(f"{line.text}:")
            ends = line.text.endswith(":") if inner is None else polarity_of(inner[0]) or not line.bullet
            apart = signs.count("\n", found.end, line.start) > 1 + (not found.items)
            loose = not line.bullet and (
                apart or len(line.text) > _LONGEST_LINE or re.search("[:;]", line.text) or _of_all(line.text)
            )
            if announced or ends or loose or (found.items and bool(line.bullet) is not bulleted):
                break
            bulleted = bool(line.bullet)
            own = split_items(inner[1]) if inner else []  # "- Vascular: occlusion, haemorrhage"
            found.items += own if any(map(is_bare, own)) else split_items(line.text)
        elif not found.items:
            break
        found.end, after = line.end, after + 1
    return found, _with_verdict(found, lines, after, signs)


def _headless(lines: list[_Line], at: int, signs: str) -> tuple[Listed, int]:
    """Return a list without a heading, which is one if a sentence behind it speaks of all its items."""
    found = Listed("", "", lines[at].start, lines[at].start)
    after = at
    while after < min(len(lines), at + _MOST_LINES):
        line = lines[after]
        names, colon, rest = line.text.rpartition(":")
        if said := _of_all(rest if colon else line.text):
            found.items += split_items(names)
            found.polarity, found.end = said if len(found.items) > 1 else "", line.end
            return found, after + 1
        short = line.bullet or all(map(_is_short, split_items(line.text)))
        if (after > at and _heading(lines, after)) or (
            line.first and (bool(line.bullet) is not bool(lines[at].bullet) or not short)
        ):
            break
        found.items += split_items(line.text)
        found.end, after = line.end, after + 1
    after = _with_verdict(found, lines, after, signs)
    return (found if found.polarity else Listed("", "", 0, 0)), max(after, at + 1)


def _with_verdict(found: Listed, lines: list[_Line], after: int, signs: str) -> int:
    """Let the sentence behind a list say of its items what it says of all; return the number of the line behind it."""
    if found.items and (said := _of_all(found.items[-1])):
        *found.items, last = found.items
        found.items += split_items(last.rpartition(":")[0])
        found.polarity = said
    elif found.items and after < len(lines) and signs.count("\n", found.end, lines[after].start) <= 2:
        line = lines[after]
        if len(line.text) <= 2 * _LONGEST_LINE and (said := _of_all(line.text)) and _heading(lines, after) is None:
            found.polarity, found.end = said, line.end
            return after + 1
    return after


def _is_list(found: Listed, kind_of: Callable[[str], CellKind]) -> bool:
    """Return whether a heading governs items and is no answer with its reason, nor a sentence about one name."""
    named, short = sum(map(is_bare, found.items)), all(map(_is_short, found.items))
    if not (found.heading or found.polarity) or all(map(kinds_of, found.items)):
        return False  # "Absent: yes" is a field
    if not found.polarity:
        if kind_of(found.heading):
            return False  # "Explanation: as seen, no drusen"
        return len(found.items) > 1 and named > 0 and short and not any(map(kinds_of, found.items))
    if found.in_line and kind_of(found.heading) == "heading":
        return short and named > 0 and len(found.items) > 2 - (named > 1)  # "Diagnosis: glaucoma" is a field
    if found.polarity == "asserted" or plain(found.heading) in TRUTH_WORDS:
        alone = found.in_line and kinds_of(found.heading) and not any(map(kinds_of, found.items))  # "可见:黄斑"
        return short and (named > 0 or bool(alone and plain(found.heading) not in TRUTH_WORDS))
    if not found.in_line:
        return True
    if _SHORT_HEAD.fullmatch(found.heading) and not is_sentence(found.heading):
        return named > 0 or (short and found.polarity == "denied")
    return named > 0 and bool(len(found.items) > 1 or _FOLLOWING.search(found.heading))


_BETWEEN, _AND, _LEADING = compiled("headings.between"), compiled("headings.and"), compiled("headings.leading")


def split_items(text: str) -> list[str]:
    """Return the items of a line; "and" divides names of which one is known.

    Example:
        >>> split_items("1. AMD, DR and glaucoma"), split_items("pale and large")
        (['AMD', 'DR', 'glaucoma'], ['pale and large'])
    """
    items = []
    for part in _BETWEEN.split(text.replace("**", "")):
        parts = [_LEADING.sub("", one) for one in _AND.split(part)]
        known = all(term_of(plain(one)) is not None for one in parts)
        items += [] if known else [_LEADING.sub("", part)]
        items += parts if known or (len(parts) > 1 and any(map(is_bare, parts))) else []
    return [item.strip() for item in items if any(c.isalnum() for c in item)]


_DISEASE, _SIGN = re.compile(phrases("headings.disease"), re.IGNORECASE), re.compile(TEXT)
_PERSON, _FOLLOWING = compiled("headings.person"), compiled("headings.following")
_VERB, _VERB_ZH = compiled("headings.verb"), compiled("headings.verb_zh")


def is_bare(item: str) -> bool:
    """Return whether an item is the name of a disease or an option's sign, with few words around it.

    Example:
        >>> [is_bare(text) for text in ("Early glaucoma", "keratitis", "The cup is large and so is the disc")]
        [True, True, False]
    """
    return _is_short(item) and any(name.search(item) for name in (any_condition(), _SIGN, _DISEASE))


def _is_short(item: str) -> bool:
    """Return whether an item is a name of a few words, and no sentence."""
    return len(item.split()) <= _WORDS_OF_AN_ITEM and not _VERB.search(item) and not _VERB_ZH.search(item)


def is_sentence(text: str) -> bool:
    """Return whether a heading speaks of somebody or has a verb: then a lone name behind it is no list."""
    return bool(_PERSON.search(text) or _VERB.search(text)) and not _FOLLOWING.search(text)


_ORDER: tuple[tuple[Polarity, str], ...] = (
    ("denied", "settled"), ("open", "undecided"), ("denied", "denies"), ("open", "open"), ("asserted", "asserts"),
)  # fmt: skip
_FILLERS = re.compile(phrases("headings.fillers"), re.IGNORECASE)
_KINDS = [(said, re.compile(phrases(f"headings.{name}"), re.IGNORECASE)) for said, name in _ORDER]
_CONTRAST, _EITHER, _WHOLE_EYE = (compiled(f"headings.{name}") for name in ("contrast", "either", "whole_eye"))
_ALL_DENIED, _ALL_ASSERTED = compiled("headings.all_denied"), compiled("headings.all_asserted")


@lru_cache(maxsize=4096)
def polarity_of(heading: str) -> Polarity:
    """Return what a heading, key or column says of the names below it; of a sentence, its last part counts.

    Example:
        >>> [polarity_of(text) for text in ("Excluded diagnoses", "To be excluded", "Differential", "Findings", "Eye")]
        ['denied', 'open', 'open', 'asserted', '']
        >>> [polarity_of(text) for text in ("No haemorrhage, but these are present", "不能排除", "可排除的诊断")]
        ['asserted', 'open', 'denied']
    """
    heading = re.sub(r"\s?\([^()]*\)$", "", heading)
    last = _CONTRAST.split(re.split("[,;]", heading.replace("_", " ").strip(" ,;"))[-1])[-1]
    said: Polarity = next((said for said, pattern in _KINDS if pattern.search(last)), "")
    if said == "asserted" and re.search(r"[^\W\d]", _FILLERS.sub(" ", _KINDS[-1][1].sub(" ", last))):
        return ""  # "Diagnosis withdrawn": an assertion is earned by all words of a heading
    either = _EITHER.search(heading) or (said == "denied" and _WHOLE_EYE.search(last))  # "not normal: glaucoma"
    return "" if either else said


def _of_all(text: str) -> Polarity:
    return "denied" if _ALL_DENIED.match(text) else "asserted" if _ALL_ASSERTED.match(text) else ""
