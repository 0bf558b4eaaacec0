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

_KINDS: tuple[tuple[Polarity, re.Pattern[str]], ...] = tuple(
    (said, re.compile(phrases(f"headings.{name}"), re.IGNORECASE))
    for said, name in (("denied", "settled"), ("open", "undecided"), ("denied", "denies"), ("open", "open"), ("asserted", "asserts"))
)
_CONTRAST = re.compile(
    r"(?<![a-z])(?:but|however|although|yet|so|thus|therefore|hence)(?![a-z])|但|不过|然而", re.IGNORECASE
)
_EITHER = re.compile(
    r"有无|有没有|是否|与否|(?<![a-z])(?:present|yes|positive|true|detected|seen) ?(?:/|or|vs\.?) ?(?:absent|no|negative|false|not)(?![a-z])",
    re.IGNORECASE,
)
"""A heading of which either answer stands below."""
_WHOLE_EYE = re.compile(r"(?<![a-z])(?:ab)?normal|(?<![a-z])healthy|正常|异常", re.IGNORECASE)
_ALL: tuple[tuple[Polarity, re.Pattern[str]], ...] = (
    ("denied", compiled("headings.all_denied")),
    ("asserted", compiled("headings.all_asserted")),
)


@lru_cache(maxsize=4096)
def polarity_of(heading: str) -> Polarity:
    """Return what a heading, key or column says of the names below it; of a sentence, its last part counts.

    Example:
        >>> [polarity_of(text) for text in ("Excluded diagnoses", "To be excluded", "Differential", "Findings", "Eye")]
        ['denied', 'open', 'open', 'asserted', '']
        >>> polarity_of("I see no haemorrhage, but these are present"), polarity_of("不能排除"), polarity_of("可排除的诊断")
        ('asserted', 'open', 'denied')
    """
    if _EITHER.search(heading):
        return ""
    last = _CONTRAST.split(re.split("[,;]", heading.replace("_", " ").strip(" ,;"))[-1])[-1]
    said = next((said for said, pattern in _KINDS if pattern.search(last)), "")
    return "" if said == "denied" and _WHOLE_EYE.search(last) else said  # "not normal: glaucoma"


@dataclass(slots=True)
class Listed:
    """A list: what is said of its items, each without bullet, and the span of heading, items and verdict."""

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
    bullet: bool
    first: bool


_CUT = re.compile(r"(?<![0-9])[.!](?=\s|$)|。|;(?=\s{0,3}[*_]{0,2}[^\n:;,.]{2,60}:)")
_BULLET = re.compile(r"(?P<indent>[ \t]{0,40})(?P<mark>(?:[-*•·>+]|\(?[0-9]{1,2}[.)]|\([a-z]\)|[ivx]{1,4}[.)])\s{1,4}|[•·])?")
_HEAD = re.compile(r"[*_#\"'(\[<\s]{0,6}(?P<head>[^\n:]{2,110}?)[*_\"')\]>]{0,4}\s?(?:(?<![0-9]):|:(?![0-9]))(?!//)[*_\"'\s]{0,6}")
_TITLE = re.compile(r"(?:#{1,6}\s{0,3}[*_]{0,2}|[*_]{2}|\[)\s?(?P<head>[^\n:*\]]{2,80}?)\s?(?:[*_]{1,2}|\]|#{0,6})\s{0,3}$")
_BRACKETED = re.compile(r"[*_]{0,2}\[\s?(?P<head>[^\n:\[\]]{2,40})\s?\][*_]{0,2}\s{0,3}(?=\S)")
_DASHED = re.compile(r"[*_]{0,2}(?P<head>[^\n:,-]{2,40}?)[*_]{0,2}\s-{1,2}\s{1,3}(?=\S)")
_BARE_WORDS, _LONGEST_ITEM = 7, 60
_MOST_LINES = 60


def lists(signs: str, kind_of: Callable[[str], CellKind]) -> Iterator[Listed]:
    r"""Yield the lists of a text in order, without overlap.

    Args:
        signs: The text with its signs normalised in place.
        kind_of: Returns what a word is; in the line of the key of an answer stands no list.

    Example:
        >>> def read(text):
        ...     return [(found.polarity, found.items) for found in lists(text, lambda word: "")]
        >>> read("Absent:\n- AMD\n- DR\n\nPresent: drusen, scar."), read("- AMD\n- DR\nNone of these is present.")
        ([('denied', ['AMD', 'DR']), ('asserted', ['drusen', 'scar'])], [('denied', ['AMD', 'DR'])])
    """
    lines = list(_lines(signs))
    at = 0
    while at < len(lines):
        found, after = _list_at(lines, at, signs, kind_of)
        if found is not None:
            yield found
        at = max(after, at + 1)


def _lines(signs: str) -> Iterator[_Line]:
    start = 0
    for whole in signs.split("\n"):
        lead = _BULLET.match(whole)
        at, indent, bullet = (lead.end(), len(lead["indent"]), bool(lead["mark"])) if lead else (0, 0, False)
        first = True
        for cut in [*(m.span() for m in _CUT.finditer(whole, at)), (len(whole), len(whole))]:
            text = whole[at : cut[0]]
            if any(c.isalnum() for c in text):
                begin = at + len(text) - len(text.lstrip())
                yield _Line(text.strip(), start + begin, start + cut[1], indent, bullet and first, first)
                first = False
            at = cut[1]
        start += len(whole) + 1


def _list_at(
    lines: list[_Line], at: int, signs: str, kind_of: Callable[[str], CellKind]
) -> tuple[Listed | None, int]:
    """Return the list that begins with a line, and the number of the line behind it."""
    line = lines[at]
    heading = _heading(lines, at)
    if heading is None:
        return _headless(lines, at, signs)
    head, rest = heading
    said = polarity_of(head)
    if rest:
        found = Listed(head, said, line.start, line.end, split_items(rest), in_line=True)
        after = at + 1
    else:
        found, after = _gathered(lines, at, signs, head)
    after = _with_verdict(found, lines, after, signs)
    return (found if _is_list(found, kind_of) else None), after if found.items else at + 1


def _is_list(found: Listed, kind_of: Callable[[str], CellKind]) -> bool:
    """Return whether a heading governs items and is no answer with its reason, nor a sentence about one name."""
    named = sum(map(is_bare, found.items))
    short = all(map(_is_short, found.items))
    if not found.items:
        return False
    if not found.polarity:
        return len(found.items) > 1 and named == len(found.items)
    if found.in_line and kind_of(found.heading) == "heading":
        return short and (named > 1 or (named and len(found.items) > 2))  # "Diagnosis: glaucoma" is a field
    if found.polarity == "asserted" or plain(found.heading) in TRUTH_WORDS:
        return short and named > 0
    if not found.in_line:
        return found.polarity != "open" or not _PERSON.search(found.heading)
    if _SHORT.fullmatch(found.heading) and not is_sentence(found.heading):
        return named > 0 or short
    return named > 0 and bool(len(found.items) > 1 or _FOLLOWING.search(found.heading))


_DISEASE, _SIGN = re.compile(phrases("headings.disease"), re.IGNORECASE), re.compile(TEXT)
_SHORT = re.compile(r"[^\s]{1,30}(?:\s[^\s]{1,30}){0,4}")
_PERSON = re.compile(r"(?<![a-z])(?:i|we|you|it|this|that)(?![a-z])|[我你它这该]", re.IGNORECASE)
_FOLLOWING = re.compile(r"(?<![a-z])(?:following|these|those)(?![a-z])|[以如]下|下列", re.IGNORECASE)
_VERB = re.compile(r"(?<![a-z])(?:is|are|was|were|has|have|had|shows?|there|would|i|we|it)(?![a-z])", re.IGNORECASE)
_VERB_ZH = re.compile("[该本此这是见]|显示|提示|没有|考虑|诊断为")


def is_sentence(text: str) -> bool:
    """Return whether a heading speaks of somebody or has a verb: then a lone name behind it is no list."""
    return bool(_PERSON.search(text) or _VERB.search(text)) and not _FOLLOWING.search(text)


def is_bare(item: str) -> bool:
    """Return whether an item is a known name or an option's sign, with few words around it.

    Example:
        >>> [is_bare(text) for text in ("Early glaucoma", "drusen (few)", "The cup is large and so is the disc")]
        [True, True, False]
    """
    return _is_short(item) and any(name.search(item) for name in (any_condition(), _SIGN, _DISEASE))


def _is_short(item: str) -> bool:
    """Return whether an item is a name of a few words, and no sentence."""
    return len(item.split()) <= _BARE_WORDS and not _VERB.search(item) and not _VERB_ZH.search(item)


def _heading(lines: list[_Line], at: int) -> tuple[str, str] | None:
    """Return the heading of a line and what follows it in the line; None for a line without one."""
    line = lines[at]
    title = _TITLE.fullmatch(line.text) if line.first else None
    found = title or _HEAD.match(line.text) or _BRACKETED.match(line.text)
    if found is None and (dashed := _DASHED.match(line.text)) and polarity_of(dashed["head"]) and not kinds_of(dashed["head"]):
        found = dashed
    if found is None:
        below = lines[at + 1] if at + 1 < len(lines) else None
        alone = line.first and below and below.first and below.bullet and len(line.text) <= 80
        if not (alone and polarity_of(line.text) and (not line.bullet or below.indent > line.indent)):  # type: ignore[union-attr]
            return None
        head, rest = line.text, ""
    else:
        head, rest = found["head"], line.text[found.end() :].strip(" *_\"'")
    head = head.strip(" *_\"'#")
    if _of_all(rest) or any_condition().search(head) or re.search(TEXT, head) or FINAL.search(f"{head}:") or CORRECTION.search(f"{head}:"):
        return None
    return (head, rest) if any(c.isalpha() for c in head) else None


def _gathered(lines: list[_Line], at: int, signs: str, heading: str) -> tuple[Listed, int]:
    """Return the list below a heading, and the number of the line behind it."""
    found = Listed(heading, polarity_of(heading), lines[at].start, lines[at].end)
    after, bulleted = at + 1, False
    while after < min(len(lines), at + _MOST_LINES):
        line = lines[after]
        gap = signs.count("\n", found.end, line.start)
        if not line.first:  # the rest of an item's line
            if not found.items:
                break
            found.end, after = line.end, after + 1
            continue
        inner = _heading(lines, after)
        if FINAL.search(f"{line.text}:") or CORRECTION.search(f"{line.text}:"):
            break
        if line.text.endswith(":") if inner is None else (polarity_of(inner[0]) or not line.bullet):
            break
        if line.bullet:
            if found.items and not bulleted:
                break
            bulleted = True
        elif bulleted or gap > 1 + (not found.items) or len(line.text) > _LONGEST_ITEM or ";" in line.text:
            break
        elif _of_all(line.text):
            break
        found.items += split_items(inner[1] if inner is not None else line.text)
        found.end, after = line.end, after + 1
    return found, after


def _headless(lines: list[_Line], at: int, signs: str) -> tuple[Listed | None, int]:
    """Return a list without a heading if a sentence behind it speaks of all its items."""
    found = Listed("", "", lines[at].start, lines[at].start)
    after = at
    while after < min(len(lines), at + _MOST_LINES):
        line = lines[after]
        names, colon, rest = line.text.rpartition(":")
        if said := _of_all(rest if colon else line.text):
            items = [*found.items, *split_items(names)]
            return (Listed("", said, found.start, line.end, items), after + 1) if len(items) > 1 else (None, at + 1)
        if after > at and _heading(lines, after) is not None:
            break
        if line.first and (line.bullet is not lines[at].bullet or (not line.bullet and not all(map(_is_short, split_items(line.text))))):
            break
        found.items += split_items(line.text)
        found.end, after = line.end, after + 1
    after = _with_verdict(found, lines, after, signs)
    return (found, after) if found.polarity and found.items else (None, at + 1)


def _with_verdict(found: Listed, lines: list[_Line], after: int, signs: str) -> int:
    """Let the sentence behind a list say of its items what it says of all; return the number of the line behind it."""
    if found.items and (said := _of_all(found.items[-1])):
        last = found.items.pop()
        found.items += split_items(last.rpartition(":")[0]) if ":" in last else []
        found.polarity = said
        return after
    if after < len(lines) and signs.count("\n", found.end, lines[after].start) <= 2:
        line = lines[after]
        if found.items and len(line.text) <= 120 and (said := _of_all(line.text)) and _heading(lines, after) is None:
            found.polarity, found.end = said, line.end
            return after + 1
    return after


def _of_all(text: str) -> Polarity:
    return next((said for said, pattern in _ALL if pattern.match(text)), "")


_BETWEEN = re.compile(r"[,;、]|\s[0-9]{1,2}[.)]\s|\s\|\s|\s/\s")
_AND = re.compile(r"\s(?:and|or|nor|&|as well as)\s|(?<=[^\x00-\x7f])(?:和|及|与|或|以及)(?=[^\x00-\x7f])", re.IGNORECASE)
_LEADING = re.compile(r"^\W{0,4}(?:[0-9]{1,2}[.)]\s|(?:and|or|nor)\s|和|及|或)?\W{0,4}(?=[\w<\ua000-\ua4ff])", re.IGNORECASE)


def split_items(text: str) -> list[str]:
    """Return the items of a line; "and" divides names of which one is known.

    Example:
        >>> split_items("1. AMD, DR and glaucoma"), split_items("pale and large")
        (['AMD', 'DR', 'glaucoma'], ['pale and large'])
    """
    items = []
    for part in _BETWEEN.split(text):
        parts = [_LEADING.sub("", one) for one in _AND.split(part)]
        known = [term_of(plain(one)) is not None for one in parts]
        several = len(parts) > 1 and any(map(is_bare, parts))
        items += [_LEADING.sub("", part)] * (not all(known)) + parts * (several or all(known))
    return [item.strip() for item in items if any(c.isalnum() for c in item)]
