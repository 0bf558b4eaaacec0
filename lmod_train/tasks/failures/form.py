"""Find replies that give the prompt's form back instead of filling it in."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.tasks.failures.case import AskedReply, Span
from lmod_train.tasks.parsing.cues import EXPLANATION
from lmod_train.tasks.parsing.normalise import in_place

_NAME = phrases("form.name")
_EXPLAINED = entry("labels.explanation_labels")
_LABELS = any_of(
    [*filter(str.isascii, _EXPLAINED), *entry("labels.diagnoses.en"), *entry("labels.answers.en"), *entry("form.keys")],
    [word for word in _EXPLAINED if not word.isascii()],
)
_UNFILLED = compiled("form.unfilled", labels=_LABELS)
_FILLED_EXPLANATION = compiled("form.filled_explanation")
_OF_EXPLANATION = compiled("form.of_explanation")
_FORMAT = re.compile(r"follow the format:|请按照(?:以下)?格式", re.IGNORECASE)
_LONGEST_ANSWER = 120
COPIED = 60
"""Characters of the prompt that a reply gives back word for word."""


def template(case: AskedReply) -> Span | None:
    """Return the span of the place that is not filled in, or of the options or the prompt that are given back.

    A form that is quoted beside an answer with its explanation is none. In an answered reply only a place of the
    explanation counts.
    """
    if case.reason in ("failed", "refused"):
        return None
    explained = _FILLED_EXPLANATION.search(case.text) is not None
    places = (m for m in _UNFILLED.finditer(case.text) if not (explained and _OF_EXPLANATION.match(m[0])))
    place = next(places, None)
    if case.answered and not _nothing_but_places(case):
        return place.span() if place and case.asks_for_reasons and not explained else None
    return (place.span() if place else None) or _copied(case) or _all_options(case)


def _nothing_but_places(case: AskedReply) -> bool:
    """Return whether a map of regions holds nothing but places ("Type: xxx")."""
    return isinstance(case.answer, dict) and all(
        re.fullmatch(_NAME, word, re.IGNORECASE) for word in case.answer.values()
    )


def _copied(case: AskedReply) -> Span | None:
    """Return the span of words of the prompt that the reply gives back."""
    asked = in_place(case.question)
    for start in range(0, max(0, min(len(asked), 2000) - COPIED + 1), COPIED // 2):
        at = case.text.find(asked[start : start + COPIED])
        if at >= 0:
            return _extended(case.text, asked, at, start)
    found = _FORMAT.search(case.text)
    return found.span() if found else None


def _extended(text: str, asked: str, at: int, start: int) -> Span:
    """Return the longest span around `at` in which the text is the same as the prompt around `start`."""
    before = next((i for i in range(min(at, start)) if text[at - i - 1] != asked[start - i - 1]), min(at, start))
    left = min(len(text) - at, len(asked) - start)
    behind = next((i for i in range(left) if text[at + i] != asked[start + i]), left)
    return at - before, at + behind


def _all_options(case: AskedReply) -> Span | None:
    """Return the span of a reply whose answer names all options and little else."""
    head = case.text
    label = EXPLANATION.search(head)
    head = head[: label.start()] if label else head
    choices = [in_place(choice).casefold() for choice in case.record.choices]
    if len(head.strip()) > _LONGEST_ANSWER + sum(map(len, choices)) or len(choices) < 2 or case.record.regions:
        return None
    rest, folded = head.casefold(), head.casefold()
    for choice in sorted(choices, key=len, reverse=True):
        if choice not in rest:
            return None
        rest = rest.replace(choice, " ")
    words = [w for w in re.findall(r"[^\W\d_]+|[0-9%]+", _GROUP.sub(" ", rest)) if w not in _JOINING]
    return case.stripped(0, len(folded)) if not words else None


_GROUP = re.compile(r"group [0-9]")
_JOINING = frozenset(entry("rules.joining"))
