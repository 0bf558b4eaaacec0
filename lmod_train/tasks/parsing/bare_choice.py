"""Decide whether a bare name, without a verb that asserts it, is a statement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.tasks.parsing.forms import pattern_of
from lmod_train.tasks.parsing.refusal import is_refusal
from lmod_train.tasks.parsing.slots import value_at
from lmod_train.tasks.parsing.stance import contains_negation, hedges

LABELLED = re.compile(
    rf"(?:[^:=\n]{{1,60}}[:=]|(?:(?!(?i:not?|isn't)\s)[\w()\-]{{1,20}}\s){{1,3}})\W{{0,9}}"
    rf"{pattern_of([*entry('answers.yes'), *entry('answers.no')])}\W{{0,9}}"
)  # "AMD: FALSE", "AMD TRUE"; but neither "There is no AMD" nor "is not true"
_POLAR = re.compile(pattern_of([*entry("answers.yes"), *entry("answers.no")]))
_FILLER = re.compile(rf"{phrases('modifiers.fillers')}|[^\w]|[0-9_]", re.IGNORECASE)
_MODIFIER = re.compile(phrases("modifiers.modifiers"), re.IGNORECASE)
_VALUED = compiled("bare_choice.valued")
_FIELD_START = re.compile(r"[,:|][^,:|]{0,200}$")
_BRACKET = re.compile(r"\((?P<inside>[^()\n]{0,80})\)?")
_TAIL = compiled("bare_choice.tail")
_SUPPORT = compiled("bare_choice.support")
_SIGN = re.compile(r"[\s\"'\])}>]{0,6}(?P<sign>[:=+]|-(?!\w))")
_ANNOUNCED = re.compile(r"[\s\"'\])}]{0,6}(?::|-|\s-)\s{0,3}(?=(?:[\w'-]{1,30}[\s,]{1,2}){2}[\w'-])")
_REASON = compiled("bare_choice.reason")
_DEGREE = re.compile(r"probab|likel|confiden|chance|certain|risk|percent|[0-9]\s?%|doubt", re.IGNORECASE)
_VERB = compiled("bare_choice.verb")
_TAIL_LEAD = re.compile(r"(?P<lead>[^:]{1,200})(?P<sign>[:,])\s{1,3}(?:(?:an?|the|it is|it's|this is|是|为)\s?)?$")
_OPENING_PHRASE = compiled("bare_choice.opening_phrase")
_LABEL = 8
"""Characters before a colon in which a negation is a label ("absent: normal") and not a reason ("nothing wrong:")."""
LONGEST_BARE = 200
"""Longest clause, in characters, that may contain choices only; also the context searched on each side of a name."""


def contains_only_choices(clause: str, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether a clause contains choices and nothing else; TRUE and FALSE may have a label ("AMD: FALSE").

    Args:
        clause: One of `clauses`.
        mentions: A pattern for each concept of the choices, None for the concept of TRUE / FALSE.
    """
    if len(clause) > LONGEST_BARE:
        return False
    support = _SUPPORT.search(clause)
    clause = clause[: support.start()] if support else clause
    if None in mentions and LABELLED.fullmatch(clause):
        return True
    clause = _BRACKET.sub(lambda m: _without_remark(m, mentions), clause)
    return _residue(_POLAR.sub(" ", _MODIFIER.sub(" ", _without(clause, mentions)))) == ""


def _without_remark(bracket: re.Match[str], mentions: Sequence[re.Pattern[str] | None]) -> str:
    """Return a blank for a bracket without a choice, value, hedge or refusal, else the bracket."""
    inside = bracket["inside"]
    relevant = value_at(inside, 0) or hedges(inside) or any(m.search(inside) for m in mentions if m is not None)
    return bracket[0] if relevant or is_refusal(inside) else " "


def is_option_with_reason(clause: str, option: str, beyond: str = "") -> bool:
    """Return whether a clause is an option in the prompt's capitals with its reason behind a colon or dash.

    Args:
        clause: Text that starts with the option.
        option: One of the prompt's choices.
        beyond: Text after the clause: a number on the line after "GLAUCOMA:" is its value.

    Example:
        >>> is_option_with_reason("GLAUCOMA: The cup is large and pale", "GLAUCOMA")
        True
        >>> is_option_with_reason("GLAUCOMA: The image shows no cupping", "GLAUCOMA")
        False
    """
    clause = clause[: 2 * LONGEST_BARE].lstrip(" \"'([{-")
    dashed = re.match(r"\s-{1,2}\s", clause[len(option) :]) and clause[:1].isupper()
    if not (option.isupper() and clause.startswith(option)) and not (
        dashed and clause.casefold().startswith(option.casefold())
    ):
        return False
    if clause[len(option) :] == ":":
        return not value_follows(beyond)  # "GLAUCOMA: Explanation: ..."
    reason = _ANNOUNCED.match(clause, len(option))
    if reason is None:
        return False
    text = clause[reason.end() :]
    return not (hedges(text) or contains_negation(text) or is_refusal(text) or value_at(text, 0))


def is_choice_with_reason(clause: str, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether a clause is one name with a reason, either after "because" or without a finite verb.

    Example:
        >>> is_choice_with_reason("Early glaucoma with a thin rim", [re.compile("glaucoma")])
        True
        >>> is_choice_with_reason("Glaucoma with a thin rim is a disease", [re.compile("(?i)glaucoma")])
        False
    """
    named = [m for mention in mentions if mention is not None for m in mention.finditer(clause[: 2 * LONGEST_BARE])]
    if len(named) != 1 or _residue(clause[: named[0].start()]):
        return False
    reason = _REASON.match(clause, named[0].end())
    rest = clause[reason.end() :] if reason else ""
    uncertain = reason is None or hedges(rest) or is_refusal(rest) or _DEGREE.search(rest) is not None
    return not uncertain and bool((reason and reason["because"]) or not _VERB.search(rest))


def is_conclusion(clause: str, start: int, end: int, healthy: bool) -> bool:
    """Return whether a name is all that follows an opening phrase and a comma or, for "normal", the last colon.

    A disease behind a colon is no conclusion, as it may be the question ("asked about: glaucoma").

    Args:
        clause: The clause that contains the name.
        start: First character of the name.
        end: One past its last character.
        healthy: Whether the name is "normal": a negation may then stand before it ("nothing wrong: normal").

    Example:
        >>> [is_conclusion(text, len(text) - 8, len(text), False) for text in ("Given this, glaucoma", "For: glaucoma")]
        [True, False]
    """
    lead = _TAIL_LEAD.search(clause[max(0, start - LONGEST_BARE) : start])
    if lead is None or _residue(clause[end : end + LONGEST_BARE]) or hedges(lead["lead"]):
        return False
    if lead["sign"] == ",":
        return _OPENING_PHRASE.match(lead["lead"]) is not None and not contains_negation(lead["lead"])
    return healthy and not contains_negation(lead["lead"][-_LABEL:])


def is_isolated(clause: str, start: int, end: int, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether a name is alone in its field but for articles, modifiers, and brackets without an answer.

    The name may be followed by a reason or a place ("because ...", "in the left eye").

    Args:
        clause: The clause that contains the name.
        start: First character of the name.
        end: One past its last character.
        mentions: As for `contains_only_choices`; other choices beside the name are allowed.
    """
    before, rest = clause[max(0, start - LONGEST_BARE) : start], clause[end : end + LONGEST_BARE]
    field = _FIELD_START.search(before)
    if _residue(_without(before[field.start() :] if field else before, mentions)) != "":
        return False
    if _REASON.match(rest) and is_choice_with_reason(clause, mentions):
        return True
    return _SIGN.match(rest) is None and _is_empty_behind(rest, mentions)


def value_follows(rest: str) -> bool:
    """Return whether the text behind a name starts with a number or "none": then the name alone is no statement.

    Example:
        >>> value_follows(" 85% / "), value_follows("; 85%")
        (True, False)
    """
    return _VALUED.match(rest) is not None


def _is_empty_behind(rest: str, mentions: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether the rest of the name's field adds nothing to it."""
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
    return _residue(rest) == "" and not value_follows(rest)


def _without(text: str, mentions: Sequence[re.Pattern[str] | None]) -> str:
    for mention in mentions:
        text = text if mention is None else mention.sub(" ", text)
    return text


def _residue(text: str) -> str:
    return _FILLER.sub("", _MODIFIER.sub(" ", text))
