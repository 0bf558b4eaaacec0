"""Parse whether a reply calls a statement true or false, in English or Chinese.

Only verdicts count: a word such as "true", "incorrect" or 对 that is alone, behind a label, or said of the statement
("the text is incorrect"). Findings ("no haemorrhage is seen") do not, as what they mean depends on the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.groups import EMPTY, TICKED, Slot
from lmod_train.tasks.parsing.reading import UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.slots import kinds_of
from lmod_train.tasks.parsing.stance import clause_spans, negators_before

_REACH = 200
"""Characters before a verdict in which its subject, a denial or a hedge is looked for."""
_QUOTED = re.compile(r"\"(?!\w{1,12}[.!]?\")[^\"\n]{5,300}\"|'(?=[^'\n]{0,300}\s)[^'\n]{9,300}'(?![a-z])")
_TRUE, _FALSE = phrases("verdicts.true"), phrases("verdicts.false")
_TICK, _CROSS = (re.compile(rf"[{entry('characters.marks')[kind]}]\ufe0f?(?!\s?[0-9])") for kind in ("yes", "no"))
_ENDED = phrases("verdict.ended")
_VERDICT = re.compile(rf"(?:(?P<true>{_TRUE})|(?P<false>{_FALSE})){_ENDED}", re.IGNORECASE)
_ALONE = compiled("verdict.alone")
_LEAD = compiled("verdict.lead")
_SUBJECT = re.compile(phrases("verdicts.subjects"), re.IGNORECASE)
_COPULA = compiled("verdict.copula")
_HAN_BEFORE = compiled("verdict.han_before", 0)
_NOT = compiled("verdict.not")
_HEDGE = re.compile(phrases("verdicts.hedges"), re.IGNORECASE)
_INSTEAD = compiled("verdict.instead")
_EITHER = compiled("verdict.either")
_AGREES = compiled("verdict.agrees")
_AGREES_ZH = compiled("verdict.agrees_zh", 0)
_THING = re.compile(any_of((*entry("verdicts.subjects.en"), "i"), entry("verdicts.subjects.zh")), re.IGNORECASE)


def parse_verdict(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the choice for a true or for a false statement, as a reply judges the statement.

    Args:
        text: A reply without thinking and markup (see `lmod_train.tasks.parsing.reading.read`).
        choices: Two: what is replied to a true statement, and to a false one.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` (no verdict, a possibility, a condition) or ``ambiguous``
        (both verdicts).

    Example:
        >>> tf = ("True", "False")
        >>> [parse_verdict(text, tf) for text in ("True, no edema", "It is not correct.", "不是错的", "No edema.")][:3]
        ['True', 'False', 'True']
        >>> [parse_verdict(text, tf).reason for text in ("No edema.", "对/错", "")]
        ['no_match', 'ambiguous', 'empty']
    """
    return answer_in(text, lambda slot: _read_slot(slot, choices), lambda prose: _in_prose(prose, choices))


def _read_slot(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the verdict that a slot states; None for a slot about something else."""
    if slot.value == EMPTY or (slot.name and not slot.role) or slot.role == "subject":
        return None
    value = clean(slot.value)
    kinds = ("yes",) if slot.value == TICKED else kinds_of(value)
    if len(kinds) == 1 and kinds[0] in ("yes", "no"):
        return choices[kinds[0] == "no"]
    if kinds:
        return Unparsed("ambiguous" if len(kinds) > 1 else "refused" if kinds[0] == "refused" else "no_match", kinds[0])
    stated = _in_prose(value, choices)
    if isinstance(stated, str) or stated.reason == "ambiguous":
        return stated
    return None if slot.layout == "line" else UNKNOWN


_QUOTED_BEFORE = compiled("verdict.quoted_before")
_DOUBTS = compiled("verdict.doubts")
_ASKS_FALSE = compiled("verdict.asks_false")


def _in_prose(text: str, choices: Sequence[str]) -> str | Unparsed:
    if _ASKS_FALSE.search(text):  # "Is it false? No."
        return Unparsed("no_match", text.strip()[:80])
    text = _CROSS.sub(" false; ", _TICK.sub(" true; ", text))
    if _EITHER.search(text) and len(set(_verdicts(_EITHER.sub(" ", text)))) != 1:
        return Unparsed("ambiguous", "states both")
    final = final_statement(text)
    stated = set(_verdicts(final, first=True)) if final is not None else set()
    stated = stated or set(_verdicts(split_explanation(text)[0])) or set(_verdicts(text))
    if len(stated) == 1:
        return choices[0] if stated.pop() else choices[1]
    return Unparsed("ambiguous", "states both") if stated else Unparsed("no_match", text.strip()[:80])


def _verdicts(text: str, first: bool = False) -> Iterator[bool]:
    """Yield the verdicts of the clauses that are no questions; with `first`, of the first clause that has any."""
    text = _QUOTED.sub(" ", text)
    for start, end in clause_spans(text):
        if text[end : end + 4].lstrip(" \"')").startswith("?"):
            continue
        found = list(_of_clause(text[start:end]))
        yield from found
        if first and found:
            return


def _of_clause(clause: str) -> Iterator[bool]:
    for at, polarity in _placed(clause):
        before = _before(clause, at)
        own = re.split(r"[,:]", before)[-1]
        denial = _NOT.search(before)
        stem = before[: denial.start()] if denial else before
        if (_NOT.search(stem) if denial else _DOUBTS.search(own)) or (
            negators_before(before) > bool(denial) and not _QUOTED_BEFORE.search(before)
        ):
            continue  # 没有不对, "I don't think that it is true"
        if _INSTEAD.search(before) or _HEDGE.search(own) or not _is_said_of_statement(stem, clause):
            continue
        yield polarity != bool(denial)
    for agrees in _AGREES.finditer(clause):
        if _THING.search(before := _before(clause, agrees.start())) and not _HEDGE.search(before):
            yield _agrees(agrees)
    for agrees in _AGREES_ZH.finditer(clause):
        if not _HEDGE.search(_before(clause, agrees.end())):
            yield not agrees["not"]


def _before(clause: str, at: int) -> str:
    return clause[max(0, at - _REACH) : at]


def _placed(clause: str) -> Iterator[tuple[int, bool]]:
    for found in _VERDICT.finditer(clause):
        yield found.start(), found["true"] is not None
    for found in _ALONE.finditer(clause):
        lead = _LEAD.match(clause)
        just_before = clause[max(0, found.start() - 2) : found.start()]
        if (lead and lead.end() >= found.start()) or re.search(r"[:,]\s?$", just_before):
            yield found.start(), found["true"] is not None


def _is_said_of_statement(before: str, clause: str) -> bool:
    """Return whether the words before a verdict are none but leads, or make it one on the statement."""
    own = before[-_REACH:]
    last_part = re.split(r"[,:]\s?", own)[-1]
    if _LEAD.fullmatch(own) or _LEAD.fullmatch(last_part):
        return True
    return bool(_SUBJECT.search(own) and (_COPULA.search(own) or _HAN_BEFORE.search(own)))


def _agrees(found: re.Match[str]) -> bool:
    if found["calls"]:
        return found["calls"].lower() in ("correctly", "accurately")
    return (found["true"] is not None) != bool(found["not"])
