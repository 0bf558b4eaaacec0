"""Find answers that their own explanation contradicts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lmod_train.core.types import Record, Unparsed
from lmod_train.core.vocabulary import any_of, entry, phrases
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.signs import SIGNS
from lmod_train.tasks.conditions import Conditions, asked_of
from lmod_train.tasks.failures.case import AskedReply, Span
from lmod_train.tasks.failures.form import template
from lmod_train.tasks.failures.loop import loop
from lmod_train.tasks.failures.textbook import generic
from lmod_train.tasks.parsing.age_group import parse_age_group
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.concepts import mentions_choice
from lmod_train.tasks.parsing.cues import CORRECTION, FINAL
from lmod_train.tasks.parsing.finding import parse_finding
from lmod_train.tasks.parsing.sex import parse_sex
from lmod_train.tasks.parsing.stage import parse_stage
from lmod_train.tasks.parsing.stance import clause_spans, clauses, contains_negation, stance

_OTHER_EYE = re.compile("|".join(entry("signs.other_eye")), re.IGNORECASE)
_HEALTHY = re.compile(phrases("signs.healthy"), re.IGNORECASE)
_CONCESSION = re.compile(rf"(?<![a-z])(?:{'|'.join(entry('signs.concessions'))})(?![a-z])", re.IGNORECASE)
_COMPARISON = re.compile(rf"(?<![a-z])(?:{'|'.join(entry('signs.comparisons'))})(?![a-z])", re.IGNORECASE)
_DENYING = {"NON-GLAUCOMA", "FALSE", "normal", "0"}
_LEAST_DENIED = 2
"""Signs that an explanation denies, and asserts none, from which on it speaks against the disease."""


def contradiction(case: AskedReply) -> Span | None:
    """Return the span of the part of the explanation that excludes the answer.

    Either the explanation, read as a reply of its own, gives another answer; or it asserts signs of the disease that
    the answer denies, or calls the eye healthy where the answer is the disease. A reply that corrects itself does not
    contradict itself.
    """
    text = case.reasons
    if not isinstance(case.answer, str) or not text.strip() or CORRECTION.search(case.text) or FINAL.search(case.text):
        return None
    if _OTHER_EYE.search(text) or case.of(template) or case.of(loop) or case.of(generic):
        return None
    other = _claim(clean(text), case.record)
    if isinstance(other, str) and other != case.answer:
        return case.stripped(*case.explanation)
    return _by_signs(case, case.answer)


def _claim(text: str, record: Record) -> str | Unparsed:
    """Return the answer that a text gives to a question, read by the parser for its choices."""
    if record.choices == Conditions.choices and record.answer.rpartition(" ")[0]:
        return parse_finding(text, record.choices, asked_of(record))
    return _choice(text, record.choices, record.task)


@lru_cache(maxsize=4096)  # models repeat explanations, and several models give the same
def _choice(text: str, choices: tuple[str, ...], task: str) -> str | Unparsed:
    """Return the choice that a text names."""
    if choices == ("MALE", "FEMALE"):
        return parse_sex(text, choices)
    if choices == tuple(group.label for group in AGE_GROUPS):
        if _COMPARISON.search(text):
            return Unparsed("ambiguous", "compares ages")
        return parse_age_group(text, choices)
    if all(choice.isdecimal() for choice in choices):
        if _COMPARISON.search(text):
            return Unparsed("ambiguous", "compares stages")
        return parse_stage(text, choices, next((scale.words for scale in SCALES if scale.name == task), ()))
    if not mentions_choice(text, choices):  # most explanations: parsing them would take ten times as long
        return Unparsed("no_match")
    return parse_choice(text, choices)


@dataclass(frozen=True)
class _Found:
    """Where an explanation asserts signs, denies signs, and calls the eye healthy."""

    shown: tuple[Span, ...]
    denied: tuple[Span, ...]
    healthy: tuple[Span, ...]


def _by_signs(case: AskedReply, answer: str) -> Span | None:
    """Return the span of a sign that the answer denies, or of a healthy eye that the answer calls diseased."""
    conditions = _conditions(case.record, answer)
    if not conditions:
        return None
    found = _found(case, conditions)
    if answer in _DENYING:
        admitted = found.healthy or found.denied or _CONCESSION.search(case.reasons)
        return found.shown[0] if found.shown and not admitted else None
    if found.shown:
        return None
    if found.healthy:
        return found.healthy[0]
    nothing_else = all(map(contains_negation, clauses(case.reasons)))
    return found.denied[0] if len(found.denied) >= _LEAST_DENIED and nothing_else else None


def _conditions(record: Record, answer: str) -> tuple[str, ...]:
    """Return the diseases whose signs bear on the answer to a question."""
    if record.choices == ("GLAUCOMA", "NON-GLAUCOMA"):
        return ("glaucoma",)
    if record.choices == Conditions.choices and record.answer.rpartition(" ")[0]:
        return (asked_of(record).condition,)
    scale = next((scale for scale in SCALES if scale.name == record.task), None)
    if scale:
        return (scale.disease,)
    if "normal" in record.choices:
        return tuple(choice for choice in record.choices if choice != "normal") if answer == "normal" else (answer,)
    return ()


def _found(case: AskedReply, conditions: tuple[str, ...]) -> _Found:
    signs, healthy = _patterns(conditions)
    start, _ = case.explanation
    shown: list[Span] = []
    denied: list[Span] = []
    well: list[Span] = []
    for low, high in clause_spans(case.reasons):
        clause = case.reasons[low:high]
        for pattern, asserted in ((signs, shown), (healthy, well), (_HEALTHY, well)):
            for m in pattern.finditer(clause):
                held = stance(clause, m.start(), m.end(), bare=True)
                span = start + low + m.start(), start + low + m.end()
                if held == "asserted" or pattern is _HEALTHY:
                    asserted.append(span)
                elif held == "denied" and pattern is signs:
                    denied.append(span)
    return _Found(tuple(shown), tuple(denied), tuple(well))


@lru_cache(maxsize=64)
def _patterns(conditions: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of the signs of the diseases, and of their absence."""
    rows = [row for row in SIGNS if row.condition in conditions]
    if not rows:
        return re.compile("(?!)"), re.compile("(?!)")
    signs = any_of([w for row in rows for w in row.english], [w for row in rows for w in row.chinese])
    healthy = any_of([w for row in rows for w in row.healthy_en], [w for row in rows for w in row.healthy_zh])
    return re.compile(signs, re.IGNORECASE), re.compile(healthy, re.IGNORECASE)
