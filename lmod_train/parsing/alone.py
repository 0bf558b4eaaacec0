"""Whether a name stands alone, so that naming it is saying it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.parsing.cues import any_of
from lmod_train.parsing.forms import pattern_of
from lmod_train.parsing.refusal import is_refusal
from lmod_train.parsing.slots import value_at
from lmod_train.parsing.stance import denies_ahead, hedges
from lmod_train.vocabulary import modifiers as said
from lmod_train.vocabulary.answers import NO, YES

LABELLED = re.compile(
    rf"(?:[^:=\n]{{1,60}}[:=]|(?:(?!(?i:not?|isn't)\s)[\w()\-]{{1,20}}\s){{1,3}})\W{{0,9}}"
    rf"{pattern_of([*YES, *NO])}\W{{0,9}}"
)  # "AMD: FALSE", "AMD TRUE"; not "There is no AMD", and not "is not true"
_POLAR = re.compile(pattern_of([*YES, *NO]))
_FILLER = re.compile(rf"{any_of(said.FILLERS_EN, said.FILLERS_ZH)}|[^\w]|[0-9_]", re.IGNORECASE)
_MODIFIER = re.compile(any_of(said.MODIFIERS_EN, said.MODIFIERS_ZH), re.IGNORECASE)
_VALUED = re.compile(
    r"[\s<\[{\"']{0,6}(?:[-+~]?[0-9]|[TFYN]/[TFYN]|(?:non|not?|none)(?![a-z]))", re.IGNORECASE
)  # 7, 50 %, "none"
_LABEL_CELL = re.compile(r"[\s\"']{0,3}\|\s{0,3}[^\s|]{1,12}\s{0,3}(?:\||$)")
_FIELD_START = re.compile(r"[,:|][^,:|]{0,200}$")
_BRACKET = re.compile(r"\((?P<inside>[^()\n]{0,80})\)?")
_TAIL = re.compile(
    r"\s(?:rather than|instead of|as opposed to|with|due|because|as|since|given|based|in|of"
    r"|on|at|for|from|which|where|around|throughout|near|along"
    r"|evidenced|indicated|shown|manifesting|causing|affecting)(?![a-z])",
    re.IGNORECASE,
)
_SUPPORT = re.compile(
    r",\s{0,2}(?:(?:with|because|as|due|given|based|since|showing|evidenced|supported)(?![a-z])|(?:no|without)\s(?!signs?|evidence|features?|indications?|longer|doubt)[a-z]{4}|可见|伴|表现|因|由于|见)",
    re.IGNORECASE,
)  # what follows says why
_SIGN = re.compile(r"[\s\"'\])}>]{0,6}(?P<sign>[:=+]|-(?!\w))")
_ANNOUNCED = re.compile(r"[\s\"'\])}]{0,6}(?::|-|\s-)\s{0,3}(?=(?:[\w'-]{1,30}[\s,]{1,2}){3})")
_RESTS = re.compile(
    r"[\s\"')\]]{0,3}\s?(?:[-:,]\s)?(?:(?P<because>because|since|due to|owing to|based on|as evidenced by|in view of"
    r"|on account of)|with)\s(?=[a-z])",
    re.IGNORECASE,
)
_DEGREE = re.compile(r"probab|likel|confiden|chance|certain|risk|percent|[0-9]\s?%|doubt", re.IGNORECASE)
_VERB = re.compile(
    r"(?<![a-z])(?:is|are|was|were|be|has|have|had|can|cannot|may|might|could|would|will|should|does|do|did"
    r"|causes?|affects?|occurs?|leads?|shows?|needs?|requires?|tends?)(?![a-z])",
    re.IGNORECASE,
)
_TAIL_LEAD = re.compile(r"(?P<said>[^:]{1,200})(?P<sign>[:,])\s{1,3}(?:(?:an?|the|it is|it's|this is|是|为)\s?)?$")
_OPENING_PHRASE = re.compile(
    r"\W{0,9}(?:based on|given|considering|judging|taking|due to|because of"
    r"|all in all|taken together|(?:out )?of (?:all )?(?:the|these)|among"
    r"|(?:in|to) my (?:opinion|view|judge?ment|assessment|estimation|eye)|根据|综合|结合|鉴于)(?![a-z])[^,]{0,200}$",
    re.IGNORECASE,
)
_LABEL = 8
"""Characters before a colon in which a negation is a label: "absent: normal", not "nothing wrong: normal"."""
LONGEST_BARE = 200
"""Characters beyond which a clause says more than a choice, and of a clause looked at on each side of a name."""


def says_only(clause: str, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether a clause says choices and nothing else; of TRUE / FALSE also behind a label ("AMD: FALSE").

    Args:
        clause: A stretch of text (see `clauses`).
        mentions: A pattern for each concept of the choices, None for the prompt's own question.
    """
    if len(clause) > LONGEST_BARE:
        return False
    support = _SUPPORT.search(clause)
    clause = clause[: support.start()] if support else clause
    if None in mentions and LABELLED.fullmatch(clause):
        return True
    clause = _BRACKET.sub(lambda m: _aside(m, mentions), clause)
    return _residue(_POLAR.sub(" ", _MODIFIER.sub(" ", _without(clause, mentions)))) == ""


def _aside(bracket: re.Match[str], mentions: Sequence[re.Pattern[str] | None]) -> str:
    """Return a blank for a bracket that says nothing of a choice, else the bracket."""
    inside = bracket["inside"]
    speaks = value_at(inside, 0) or hedges(inside) or any(m.search(inside) for m in mentions if m is not None)
    return bracket[0] if speaks or is_refusal(inside) else " "


def announces(clause: str, option: str, beyond: str = "") -> bool:
    """Return whether a clause is an option in the prompt's own capitals and, behind a colon or dash, what it rests on.

    Args:
        clause: From the option on.
        option: One of the prompt's words.
        beyond: What follows the clause: of "GLAUCOMA:" and a number on the next line, the number is the value.

    Example:
        >>> announces("GLAUCOMA: The cup is large and pale", "GLAUCOMA")
        True
        >>> announces("GLAUCOMA: The image shows no cupping", "GLAUCOMA")
        False
    """
    clause = clause[: 2 * LONGEST_BARE].lstrip(" \"'([{-")
    if not (option.isupper() and clause.startswith(option)):
        return False
    if clause[len(option) :] == ":":
        return not valued(beyond)  # "GLAUCOMA: Explanation: ..."
    reason = _ANNOUNCED.match(clause, len(option))
    if reason is None:
        return False
    said_of = clause[reason.end() :]
    return not (hedges(said_of) or denies_ahead(said_of) or is_refusal(said_of) or value_at(said_of, 0))


def rests_on(clause: str, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether a clause is one name and a reason without a verb of its own, or one behind "because".

    Example:
        >>> rests_on("Early glaucoma with a thin rim", [re.compile("glaucoma")])
        True
        >>> rests_on("Glaucoma with a thin rim is a disease", [re.compile("(?i)glaucoma")])
        False
    """
    named = [m for mention in mentions if mention is not None for m in mention.finditer(clause[: 2 * LONGEST_BARE])]
    if len(named) != 1 or _residue(clause[: named[0].start()]):
        return False
    reason = _RESTS.match(clause, named[0].end())
    rest = clause[reason.end() :] if reason else ""
    spoiled = reason is None or hedges(rest) or is_refusal(rest) or _DEGREE.search(rest) is not None
    return not spoiled and bool((reason and reason["because"]) or not _VERB.search(rest))


def concludes(clause: str, start: int, end: int, healthy: bool) -> bool:
    """Return whether a name is all that follows an opening phrase and a comma, or of "normal" the last colon.

    A disease behind a colon is no conclusion, for it may be the question ("asked about: glaucoma").

    Args:
        clause: The clause that holds the name.
        start: First character of the name.
        end: One past its last character.
        healthy: Whether the name is that of no disease: "nothing wrong: normal" is no contradiction.

    Example:
        >>> [concludes(said, len(said) - 8, len(said), False) for said in ("Given this, glaucoma", "For: glaucoma")]
        [True, False]
    """
    lead = _TAIL_LEAD.search(clause[max(0, start - LONGEST_BARE) : start])
    if lead is None or _residue(clause[end : end + LONGEST_BARE]) or hedges(lead["said"]):
        return False
    if lead["sign"] == ",":
        return _OPENING_PHRASE.match(lead["said"]) is not None and not denies_ahead(lead["said"])
    return healthy and not denies_ahead(lead["said"][-_LABEL:])


def stands_alone(clause: str, start: int, end: int, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether nothing but articles, modifiers and brackets that hold no answer stands in the name's field.

    Behind the name there may also be a reason ("because ...", "in the left eye").

    Args:
        clause: The clause that holds the name.
        start: First character of the name.
        end: One past its last character.
        mentions: As for `says_only`: other choices beside the name are alternatives, no other words.
    """
    before, rest = clause[max(0, start - LONGEST_BARE) : start], clause[end : end + LONGEST_BARE]
    if _LABEL_CELL.match(rest) and not before.strip(" |\"'"):
        return False  # of a table, the first cell is the label of the second
    field = _FIELD_START.search(before)
    if _residue(_without(before[field.start() :] if field else before, mentions)) != "":
        return False
    if _RESTS.match(rest) and rests_on(clause, mentions):
        return True
    return _SIGN.match(rest) is None and _nothing_behind(rest, mentions)


def valued(rest: str) -> bool:
    """Return whether a number or a "none" stands right behind a name, which then is no statement.

    Example:
        >>> valued(" 85% / "), valued("; 85%")
        (True, False)
    """
    return _VALUED.match(rest) is not None


def _nothing_behind(rest: str, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether what follows a name in its field says nothing more of it."""
    bracket = _BRACKET.match(rest.lstrip(" \"'"))
    if bracket:
        if value_at(bracket["inside"], 0) or hedges(bracket["inside"]):
            return False
        rest = rest.lstrip(" \"'")[bracket.end() :]
    rest = rest.partition(",")[0].partition("|")[0]
    tail = _TAIL.search(rest)
    if tail and hedges(rest[tail.start() :]):
        return False
    rest = _without(rest[: tail.start()] if tail else rest, mentions)
    return _residue(rest) == "" and not valued(rest)


def _without(text: str, mentions: Sequence[re.Pattern[str] | None]) -> str:
    for mention in mentions:
        text = text if mention is None else mention.sub(" ", text)
    return text


def _residue(text: str) -> str:
    return _FILLER.sub("", _MODIFIER.sub(" ", text))
