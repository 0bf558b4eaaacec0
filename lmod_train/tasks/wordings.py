"""Other wordings of a curated question: paraphrases with the same choices, the same format and the same meaning.

A task states each of its prompts with its paraphrases (`Task.wordings`), as templates with the same placeholders. What
stands in the placeholders is read from the curated prompt, which is number 0 and stays as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from lmod_train.core.types import Message, Record

Wordings = Sequence[Sequence[str]]
"""For each prompt of a task, the template as published and its paraphrases."""

_PLACE = re.compile(r" ?(<[^<>]+>|\{question\})")
"""A placeholder such as ``<IMAGE TYPE>``, with the blank before it; ``{question}`` is filled with any text."""


def count_wordings(record: Record, wordings: Wordings) -> int:
    """Return the number of wordings of a record, its own included: 1 if it was not asked with any of the templates."""
    return max((len(several) for _, several, _ in _read(record, wordings)), default=1)


def digests_of(record: Record, wordings: Wordings) -> frozenset[str]:
    """Return the digest of the template of each text of the user; an empty text for one made from no template.

    Args:
        record: A record, as curated or reworded.
        wordings: Those of its task.
    """
    return frozenset(
        next((digest_of(t) for several in wordings for t in several if filling(t, part.text) is not None), "")
        for message in record.messages
        for part in message.parts
        if message.role == "user" and part.type == "text"
    )


def digest_of(template: str) -> str:
    """Return the first twelve digits of a template's SHA-256.

    Example:
        >>> digest_of("This is <IMAGE TYPE>.") == digest_of("This is an OCT image.")
        False
    """
    return hashlib.sha256(template.encode()).hexdigest()[:12]


def reworded(record: Record, wordings: Wordings, number: int) -> Record:
    """Return a record in another wording; only its messages change.

    Args:
        record: A record as curated.
        wordings: Those of its task.
        number: Number of the wording, below `count_wordings`; 0 is the curated one.
    """
    if number == 0:
        return record
    texts = {text: _filled(several[number], places) for text, several, places in _read(record, wordings)}
    return replace(record, messages=tuple(_with(m, texts) if m.role == "user" else m for m in record.messages))


def _with(message: Message, texts: Mapping[str, str]) -> Message:
    return replace(message, parts=tuple(replace(p, text=texts.get(p.text, p.text)) for p in message.parts))


def _read(record: Record, wordings: Wordings) -> Iterator[tuple[str, Sequence[str], Mapping[str, str]]]:
    """Yield each text of the user that was made from a template: the text, its wordings, and what fills each place."""
    for part in (p for m in record.messages if m.role == "user" for p in m.parts if p.type == "text"):
        for several in wordings:
            places = filling(several[0], part.text)
            if places is not None:
                yield part.text, several, places
                break


def filling(template: str, text: str) -> dict[str, str] | None:
    """Return what stands in the placeholders of a template in a text; None if the text was not made from it.

    A placeholder may have been kept, as part of a requested format, or left out with the blank before it; then its
    value is empty.

    Example:
        >>> filling("This is <IMAGE TYPE>. Stage: <AN INTEGER>.", "This is an OCT image. Stage: <AN INTEGER>.")
        {'<IMAGE TYPE>': 'an OCT image', '<AN INTEGER>': '<AN INTEGER>'}
    """
    match = _pattern(template).fullmatch(text)
    return None if match is None else dict(zip(_places(template), match.groups(default=""), strict=True))


def _filled(template: str, places: Mapping[str, str]) -> str:
    """Return a template with its placeholders filled, as `filling` returns them."""

    def fill(found: re.Match[str]) -> str:
        text = places[found[1]]
        return found[0].replace(found[1], text) if text else ""

    return _PLACE.sub(fill, template)


def _places(template: str) -> list[str]:
    """Return the placeholders of a template, each once."""
    return list(dict.fromkeys(_PLACE.findall(template)))


@lru_cache(maxsize=256)
def _pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of the texts of a template, with one group for each of its placeholders.

    What fills a placeholder in angle brackets contains none, so that a kept placeholder is never part of it.
    """
    pattern, end, known = "", 0, list[str]()
    for place in _PLACE.finditer(template):
        name = place[1]
        fill = f"{re.escape(name)}|[^<>]+?" if name[0] == "<" else ".+"
        own = f"(?P=p{known.index(name)})" if name in known else f"(?P<p{len(known)}>{fill})"
        known += [] if name in known else [name]
        pattern += re.escape(template[end : place.start()]) + (f"(?: {own})?" if place[0][0] == " " else own)
        end = place.end()
    return re.compile(pattern + re.escape(template[end:]), re.DOTALL)
