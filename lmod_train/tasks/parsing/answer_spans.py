"""Find the words of a reply that its answer was read from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from lmod_train.core.types import Answer, Unparsed
from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.cues import EXPLANATION, FINAL
from lmod_train.tasks.parsing.forms import forms_of, pattern_of, plain
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.visible import strip_thinking

LONGEST = 20_000
"""Characters of a reply up to which words are searched; longer replies are loops or files."""
TRIED = 160
"""Characters of a statement with several choices up to which each is tried: a try parses the statement again."""
MOST = 6
"""Mentions in such a statement up to which each is tried."""
BLANK = "…"

_NUMBER = r"(?<![0-9.])[0-9]{1,3}(?:\s?-\s?[0-9]{1,3})?(?![0-9])"
_STANCE = compiled("answer_spans.stance")
_BEFORE = re.compile(r"([0-9]{1,3})[^0-9\n]{0,60}$")

Span = tuple[int, int]
Parse = Callable[[str], Answer | Unparsed]


def taken(text: str, answer: Answer | Unparsed, choices: Sequence[str], parse: Parse) -> list[Span]:
    """Return the spans of the words that an answer was read from, in order, as start and end in the text.

    Searched are names of choices, yes and no, and numbers, in front of the explanation if the reply has one. If all are
    of the answer, these are the words. Of several choices in a short statement, the words are those without which the
    parser reads something else. Of regions, the words are the structures behind the number of their region. Otherwise
    the words are not known, and there is no span; nor is there one without an answer, or of an answer in free text.

    Args:
        text: The whole reply.
        answer: What was read in it.
        choices: The prompt's choices.
        parse: Reads an answer in a text, as `answer` was read.

    Example:
        >>> from lmod_train.tasks.parsing.choice import parse_choice
        >>> choices = ("GLAUCOMA", "NON-GLAUCOMA")
        >>> text = "Not glaucoma but NON-GLAUCOMA; Explanation: glaucoma has a large cup."
        >>> spans = taken(text, "NON-GLAUCOMA", choices, lambda text: parse_choice(text, choices))
        >>> [text[start:end] for start, end in spans]
        ['NON-GLAUCOMA']
    """
    if isinstance(answer, Unparsed) or not choices or len(text) > LONGEST:
        return []
    start, end = _statement(text)
    spans = _mentions(text, start, end, answer, tuple(choices))
    if isinstance(answer, Mapping):
        return _of_regions(text, spans, answer)
    kinds = _kinds(tuple(choices))
    if all(str(answer) in kinds.get(plain(text[a:b]), {plain(text[a:b])}) for a, b in spans):
        return spans
    if end - start > TRIED or len(spans) > MOST:
        return []
    return [(a, b) for a, b in spans if _decides(text[start:end], (a - start, b - start), answer, choices, parse)]


def _statement(text: str) -> Span:
    """Return start and end of the part of a reply behind its thinking and in front of its explanation."""
    visible = strip_thinking(text)[0]
    start = max(text.rfind(visible), 0) if visible else len(text)
    explanation = EXPLANATION.search(text, start)
    if explanation is None or FINAL.search(text, explanation.end()):
        return start, len(text)
    return start, explanation.start()


def _mentions(text: str, start: int, end: int, answer: Answer, choices: tuple[str, ...]) -> list[Span]:
    """Return the spans of all names of choices and numbers in a part of a text."""
    same_length = text[:end] if text.isascii() else "".join(_one(c) for c in text[:end])
    named = answer.values() if isinstance(answer, Mapping) else [str(answer)]
    pattern = _pattern(choices, tuple(sorted({*named} - {*choices, ""})))
    return [m.span() for m in pattern.finditer(same_length, start)]


def _one(character: str) -> str:
    """Return a character as the parsers see it, if it stays one character."""
    if character.isascii():
        return character
    normal = normalise(character)
    return normal if len(normal) == 1 else character


@lru_cache(maxsize=512)
def _pattern(choices: tuple[str, ...], others: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the choices, of what they affirm or deny, of yes and no, and of numbers."""
    concepts = [_STANCE.sub("", choice) for choice in choices]
    forms = {form for word in (*choices, *concepts, *others) if word.strip() for form in forms_of(word)}
    return re.compile(f"{pattern_of({*forms, *entry('answers.yes'), *entry('answers.no')})}|{_NUMBER}")


@lru_cache(maxsize=512)
def _kinds(choices: tuple[str, ...]) -> dict[str, set[str]]:
    """Return each spelling with the choices that it can state alone; yes and no state TRUE and FALSE."""
    found: dict[str, set[str]] = {plain(word): set() for word in (*entry("answers.yes"), *entry("answers.no"))}
    for choice in choices:
        for form in forms_of(choice):
            found.setdefault(plain(form), set()).add(choice)
    for choice in choices:
        for form in forms_of(_STANCE.sub("", choice)):
            found.setdefault(plain(form), set())
    return found


def _of_regions(text: str, spans: Sequence[Span], answer: Mapping[int, str]) -> list[Span]:
    """Return the spans of the structures behind the number of their region; none if one is not found."""
    found: dict[int, Span] = {}
    for start, end in spans:
        number = _BEFORE.search(text, max(0, start - 70), start)
        id = int(number[1]) if number else 0
        stated = answer.get(id)
        if id not in found and stated is not None and plain(text[start:end]) in _spellings(stated):
            found[id] = (start, end)
    return sorted(found.values()) if len(found) == len(answer) else []


@lru_cache(maxsize=512)
def _spellings(structure: str) -> set[str]:
    return {plain(form) for form in forms_of(structure)}


def _decides(text: str, span: Span, answer: Answer, choices: Sequence[str], parse: Parse) -> bool:
    """Return whether the parser reads another answer if the words of a span are others."""
    start, end = span
    own = {plain(form) for form in forms_of(text[start:end])}
    others = [choice for choice in choices if plain(choice) not in own][:1]
    return any(parse(text[:start] + other + text[end:]) != answer for other in (*others, BLANK))
