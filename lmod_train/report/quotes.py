"""Quotes in replies: passages that repeat the words of a question, which may not be redistributed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmod_train.core.types import Record

LEAST = 8
"""Number of words in a row, or Chinese characters, from which equal words are a quote."""

Piece = str | tuple[int, int]
"""Text, or begin and end of a passage of the question's words."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def words_of(record: Record) -> str:
    """Return the text of all messages of a record, which the places of quotes refer to."""
    return "\n".join(part.text for message in record.messages for part in message.parts if part.text)


def without_quotes(reply: str, words: str) -> tuple[Piece, ...]:
    """Return a reply in pieces, its quotes as places in the words of the question.

    A quote is a run of at least `LEAST` words that the question has in the same order, in the same letters; spaces and
    punctuation between them may differ. Time is linear in the length of both.

    Example:
        >>> without_quotes("You ask: a b c d e f g h. Yes.", "Say a b c d e f g h")
        ('You ask: ', (4, 19), '. Yes.')
    """
    own = [found.span() for found in _WORD.finditer(reply)]
    known = [found.span() for found in _WORD.finditer(words)]
    pieces: list[Piece] = []
    done = 0
    for at, place, length in _runs([reply[a:b] for a, b in own], [words[a:b] for a, b in known]):
        for (begin, end), (first, last) in _parts(own[at : at + length], known[place : place + length], reply, words):
            pieces += [reply[done:begin]] if begin > done else []
            pieces.append((first, last))
            done = end
    return (*pieces, *([reply[done:]] if done < len(reply) else []))


def with_quotes(pieces: Sequence[Piece], words: str) -> str:
    """Return the reply that `without_quotes` divided.

    Raises:
        ValueError: A place is outside the words.
    """
    beyond = [p for p in pieces if not isinstance(p, str) and not 0 <= p[0] < p[1] <= len(words)]
    if beyond:
        raise ValueError(f"a quote of characters {beyond[0]} of a question with {len(words)}")
    return "".join(p if isinstance(p, str) else words[p[0] : p[1]] for p in pieces)


def _runs(own: Sequence[str], known: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (place in the reply, place in the question, number of words) of the quotes, from left to right."""
    first: dict[tuple[str, ...], int] = {}
    for place in range(len(known) - LEAST + 1):
        first.setdefault(tuple(known[place : place + LEAST]), place)
    at = 0
    while at <= len(own) - LEAST:
        found = first.get(tuple(own[at : at + LEAST]))
        length = 0 if found is None else _equal(own[at : at + len(known)], known[found:])
        if found is not None:
            yield at, found, length
        at += max(1, length)


def _equal(own: Sequence[str], known: Sequence[str]) -> int:
    """Return the number of equal words that two sequences begin with."""
    return next((i for i, (a, b) in enumerate(zip(own, known, strict=False)) if a != b), min(len(own), len(known)))


_Span = tuple[int, int]


def _parts(own: Sequence[_Span], known: Sequence[_Span], reply: str, words: str) -> Iterator[tuple[_Span, _Span]]:
    """Yield the passages of a quote that are equal in the text between the words too."""
    begin = 0
    for i in range(1, len(own) + 1):
        whole = i < len(own) and reply[own[i - 1][1] : own[i][0]] == words[known[i - 1][1] : known[i][0]]
        if not whole:
            yield (own[begin][0], own[i - 1][1]), (known[begin][0], known[i - 1][1])
            begin = i
