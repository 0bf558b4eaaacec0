"""Claims in explanations: what a clause asserts or denies of the eye that is shown.

A clause that is hedged, conditional, general, or about another eye holds none: in doubt nothing is claimed. The same
grammar decides what a clause asserts as for answers (`lmod_train.tasks.parsing.stance`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

from lmod_train.core.package_data import package_data
from lmod_train.core.types import Reply
from lmod_train.extensions.reason.claims import SECTORS, Claim, Relation
from lmod_train.tasks.failures.case import LONGEST
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.stance import clause_spans, contains_negation, stance
from lmod_train.tasks.parsing.visible import split_repetition, visible_spans

_MARKUP = re.compile(r"[*_`#>|\\$]|\s")

_INSIDE = r"(?:[^.;,)\n]|(?<=[0-9])\.(?=[0-9]))"
_GAP, _BETWEEN = rf"(?P<gap>{_INSIDE}{{0,40}}?)", rf"\s?(?P<between>{_INSIDE}{{0,25}}?)"
"""Words between a subject and what is said of it, and between an adjective and its noun."""

_NUMBER = r"(?:0?[.,][0-9]{1,3}|[01](?:[.,][0-9]{1,3})?|[0-9]{1,3}(?:\.[0-9])?\s?%)(?!\.?[0-9])"
_RANGE = rf"(?P<low>{_NUMBER})(?:\s?(?:-|~|to|and|至|到)\s?(?P<high>{_NUMBER}))?"
_BEHIND = re.compile(r"\s?(?:or (?:more|above|greater|higher)|以上)|\s?(?P<less>or (?:less|below|lower)|以下)", re.I)
_HAN_VERB = re.compile("见|有|存在|无|未|没|不|则|呈|位于|出现|是|为")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_SECTORS = {"上": "superior", "下": "inferior", "鼻": "nasal", "颞": "temporal"}


@lru_cache(maxsize=1 << 14)  # models repeat explanations, and several models give the same
def claims_of(text: str) -> tuple[Claim, ...]:
    """Return the claims of a text, each with its place in it, in the order in which they begin.

    Example:
        >>> [(c.subject, c.relation, c.low) for c in claims_of("A ratio of 0.3 is normal. The CDR is 0.7.")]
        [('vcdr', '=', 0.7)]
        >>> [(c.subject, c.place, c.denied) for c in claims_of("The inferior rim is not thinned.")]
        [('rim', 'inferior', True)]
    """
    plain, places = _compact(text)
    found: list[Claim] = []
    for start, end in clause_spans(plain):
        if not plain[end : end + 3].lstrip(" \"')").startswith("?"):
            found += [replace(c, start=c.start + start, end=c.end + start) for c in _in_clause(plain[start:end])]
    placed = (replace(c, start=places[c.start], end=places[c.end - 1] + 1) for c in found)
    return tuple(sorted(placed, key=lambda c: (c.start, c.end)))


def claims_in(reply: Reply) -> tuple[Claim, ...]:
    """Return the claims of the first `LONGEST` characters of a reply.

    The last sentence of a reply that was cut off claims nothing: it might have gone on ("the ratio is 0.").

    Example:
        >>> claims_in(Reply("a", "The cup is large. The CDR is 0.", finish_reason="length"))[-1].subject
        'cup'
    """
    text = reply.reply[:LONGEST]
    if reply.finish_reason in ("length", "content_filter") or len(reply.reply) > LONGEST:
        text = text[: max((m.end() for m in _SENTENCE_END.finditer(text)), default=0)]
    return claims_of(text)


def distinct_claims(reply: Reply) -> tuple[Claim, ...]:
    """Return the claims of a reply, each content once, where it is said first."""
    found = {claim.content: claim for claim in reversed(claims_in(reply))}
    return tuple(reversed(found.values()))


_SENTENCE_END = re.compile(r"[.!?;](?=\s)|[。!?;\n]")


def _compact(text: str) -> tuple[str, list[int]]:
    """Return a text without thinking, loops and markup, blanks single, and the place of each character in the reply."""
    plain, kept, places = in_place(text), [], []
    for start, end in visible_spans(text)[0]:
        for at in range(start, end):
            sign = plain[at]
            if not _MARKUP.fullmatch(sign) or sign == "\n" or sign == ">":
                kept.append(sign)
                places.append(at)
            elif kept and kept[-1] not in " \n":
                kept.append(" ")
                places.append(at)
    whole = "".join(kept)
    before, _ = split_repetition(whole)
    return whole[: len(before)], places


def _in_clause(clause: str) -> Iterator[Claim]:
    if not _subjects().search(clause):
        return
    yield from _numbers(clause)
    taken: list[tuple[int, int]] = []
    for rule in _rules():
        for pattern in rule.patterns:
            for m in pattern.finditer(clause):
                if any(s <= m.start() and m.end() <= e for s, e in taken):
                    continue  # "haemorrhage" in "disc haemorrhage"
                taken.append(m.span())
                denied = _denied(clause, m)
                if denied is not None:
                    yield from _placed(rule, clause, m, denied)


def _denied(clause: str, found: re.Match[str], words: str | None = None) -> bool | None:
    """Return whether a clause denies what was found, False if it asserts it; None if it does neither of this eye.

    Args:
        clause: One of `clause_spans`.
        found: The mention.
        words: Those between its halves, if not all of them count.
    """
    parts = found.groupdict()
    gap, between = (parts.get("gap") or "") if words is None else words, parts.get("between") or ""
    first = max((m.end() for m in _word("reset").finditer(clause, 0, found.end())), default=0)
    before, after = clause[first : found.start()], clause[found.end() :]
    if any(_word("general").search(text) for text in (before, gap)) or _word("after").match(after):
        return None
    opens = re.fullmatch(r"\W*(?:an?|any|every)\s(?:normal\s)?", before, re.I)
    if opens and (_word("generic").match(after) or _word("generic").match(gap)):
        return None
    if re.fullmatch(r"\W*had\s", before, re.I):  # "had exudates been found"
        return None
    first = max(first, _statement(clause, found))
    before = clause[first : found.start()]
    if any(_word("hedge").search(text) for text in (before, gap, between)) or contains_negation(between):
        return None
    elsewhere = any(_word("noun").search(text) for text in (gap, between))
    if elsewhere or re.search(r"\bthan\b|较|比", f"{gap}|{between}"):
        return None
    if _word("denied_after").match(after) or ("gap" not in parts and _denied_list().match(after)):
        said: str | None = None if contains_negation(before) else "denied"
    else:
        negators = [m.span() for m in _word("negator").finditer(before)]
        if any(second[0] - one[1] < 3 for one, second in pairwise(negators)):  # "not without"
            return None
        first += negators[-1][0] if negators else 0
        end = clause.find(",", found.end()) if _HAN.search(found[0]) else -1
        said = stance(clause[first : end if end >= 0 else None], found.start() - first, found.end() - first, bare=True)
    if said is None:
        return None
    return (said == "denied") != (contains_negation(gap) or _word("denied_before").search(gap + "|") is not None)


def _statement(clause: str, found: re.Match[str]) -> int:
    """Return where the statement begins that a mention stands in: behind a comma, if the part has a verb of its own."""
    comma = max(clause.rfind(",", 0, found.start()), clause.rfind(" and ", 0, found.start())) + 1
    if found.groupdict() and (_HAN.search(found[0]) or _word("verb").search(found[0])):
        return comma
    end = clause.find(",", found.end())
    part = clause[clause.rfind(",", 0, found.start()) + 1 : end if end >= 0 else len(clause)]
    own = _HAN_VERB.search(part.replace(found[0], "", 1))
    return clause.rfind(",", 0, found.start()) + 1 if _HAN.search(part) and own else 0


def _placed(rule: _Rule, clause: str, found: re.Match[str], denied: bool) -> Iterator[Claim]:
    """Yield the claims of a rule: one a sector of the rim, one near the fovea, or one of the whole."""
    denied = denied != rule.reversed and rule.relation != "unseen"  # not seen either way
    claim = Claim(rule.subject, rule.relation, denied=denied, start=found.start(), end=found.end())
    if rule.subject == "rim" and rule.relation != "isnt":
        yield from (replace(claim, place=place) for place in _sectors_of(clause, found))
        return
    near = _near(clause, found)
    if near and rule.subject.startswith("lesion.") and rule.relation == "present":
        yield replace(claim, relation="near", start=min(near[0], claim.start), end=max(near[1], claim.end))
        if claim.denied:  # none there: elsewhere may be some
            return
    yield claim


def _near(clause: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Return where words for the fovea's surroundings stand beside a lesion, with no other lesion or comma between."""
    for m in _word("near").finditer(clause):
        between = clause[found.end() : m.start()] if m.start() >= found.end() else clause[m.end() : found.start()]
        if len(between) <= 40 and "," not in between and not _subjects().search(between):
            return m.span()
    return None


def _sectors_of(clause: str, found: re.Match[str]) -> list[str]:
    """Return the sectors of a claim about the rim: those in its words, else in front of it, else behind; else empty."""
    before = re.split("[,:;]", clause[max(0, found.start() - 40) : found.start()])[-1]
    after = re.split("[,:;]", clause[found.end() : found.end() + 40])[0]
    for part in (found[0], before, after):
        if named := _word("sector").findall(part):
            return list(dict.fromkeys(_sector(name.lower()) for name in named))
    return [""]


def _sector(name: str) -> str:
    plain = next((s for s in SECTORS if name.startswith(s)), "")
    if plain and name.removeprefix(plain) in ("", "ly", " pole"):
        return plain
    if clock := re.match("6|12|lower|upper", name):
        return "inferior" if clock[0] in ("6", "lower") else "superior"
    han = [own for sign, own in _SECTORS.items() if sign in name]
    if len(han) == 1:
        return han[0]
    between = {"inferior": "infero", "superior": "supero"}  # which no fact decides
    return between.get(han[0], "") + han[1] if len(han) == 2 else name.removesuffix("ly")


def _numbers(clause: str) -> Iterator[Claim]:
    """Yield the claims about the cup-to-disc ratio as a number, a range or a limit."""
    for pattern in _numbered():
        for m in pattern.finditer(clause):
            gap, after = m["gap"], clause[m.end() :]
            is_horizontal = re.search(r"horizontal\s$|水平$", clause[: m.start()], re.I)
            relation, rest = _relation(gap, _BEHIND.match(after))
            is_norm = _word("norm").search(rest) and relation == "=" and not re.search("within|在|处于", rest)
            gap = gap.replace("between", "")
            if is_horizontal or _word("other").search(rest) or is_norm or _word("norm_after").match(after):
                continue
            denied = _denied(clause, m, rest)
            if denied is None:
                continue
            low, high = _value(m["low"]), _value(m["high"] or m["low"])
            if low <= high <= 1:
                yield Claim("vcdr", relation, low, high, "", denied, m.start(), m.end())


def _relation(gap: str, behind: re.Match[str] | None) -> tuple[Relation, str]:
    """Return how a number limits, and the words between without those of the limit."""
    limits: tuple[tuple[Relation, str], ...] = (("<", "below"), (">", "above"))
    for relation, name in limits:
        if _word(name).search(gap):
            return relation, _word(name).sub(" ", gap)
    if behind:
        return ("<" if behind["less"] else ">"), gap
    return "=", gap


def _value(written: str) -> float:
    number = float(written.rstrip("% ").replace(",", "."))
    return number / 100 if written.endswith("%") else number


@dataclass(frozen=True)
class _Rule:
    subject: str
    relation: Relation
    patterns: tuple[re.Pattern[str], ...]
    reversed: bool


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            subject,
            relation.removeprefix("not "),
            tuple(_compiled(one.replace("^", _BETWEEN).replace("~", _GAP)) for one in patterns),
            relation.startswith("not "),
        )
        for subject, relation, patterns in package_data(__file__, "words.yaml")["rules"]
    )


@cache
def _numbered() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a ratio with its number behind it, and in front of it."""
    here = r"(?:here|in this (?:eye|image|case|one)),?\s(?:it|this)(?=\s)|本(?:图|例|眼)则?(?=[是为])"
    named = rf"(?:{{ratio}}|(?:the|this|a|an)\s(?:vertical\s)?ratio|(?<!径)比值|{here})"
    filled = r"(?:cup (?:occup\w+|spans?|takes up|fills)|视杯)(?P<gap>[^.;\n0-9]{0,30}?)"
    return (
        _compiled(named + r"(?P<gap>[^.;\n0-9]{0,50}?)(?<![a-z0-9.])" + _RANGE),
        _compiled(r"(?<![a-z0-9.])" + _RANGE + r"(?P<gap>\s?(?:的|vertical\s)?){ratio}"),
        _compiled(filled + _RANGE + r"(?= of the (?:vertical )?dis[ck])"),
        _compiled(r"视杯[^.;\n0-9]{0,20}占(?P<gap>[^.;\n0-9]{0,20}?)" + _RANGE),
    )


@cache
def _subjects() -> re.Pattern[str]:
    """Return a pattern of all that claims are about: a clause without it is not searched with all others."""
    several = [*_numbered(), *(pattern for rule in _rules() for pattern in rule.patterns)]
    return re.compile("|".join(re.sub(r"\?P<\w+>", "?:", one.pattern) for one in several), re.IGNORECASE)


@cache
def _denied_list() -> re.Pattern[str]:
    """Return the pattern of what denies a mention behind others that are listed with it."""
    words = package_data(__file__, "words.yaml")
    return _compiled(f"{words['listed']}(?:{words['denied_after']})")


@cache
def _word(name: str) -> re.Pattern[str]:
    """Return the pattern of an entry of ``words.yaml``."""
    return _compiled(package_data(__file__, "words.yaml")[name])


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = package_data(__file__, "words.yaml")["parts"]
    while named := re.search(r"\{([a-z]+)\}", pattern):
        pattern = pattern.replace(named[0], f"(?:{parts[named[1]]})")
    begins, ends = r"(?:(?<![a-z])|(?![a-z]))", r"(?:(?![a-z])|(?<![a-z]))"  # whole words, of Latin letters alone
    return re.compile(rf"{begins}(?:{pattern}){ends}", re.IGNORECASE)
