"""Predictions as a pack holds them, and back with the records of a curated folder."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from lmod_train.core.artifacts.pack import Packed
from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Answer, Prediction, Record, Reply, Unparsed
from lmod_train.report.withheld import Keys
from lmod_train.scoring.ways import FACTORS, asked_id

_URL = re.compile(r"""[a-z][a-z0-9+.-]*://[^\s"'<>\\]+""", re.IGNORECASE)
_LOWEST = -sys.float_info.max
"""Stands for minus infinity, which JSON does not have."""


def packed(prediction: Prediction, curated: Record, keys: Keys) -> Packed:
    """Return a prediction as a pack holds it.

    Args:
        prediction: The prediction of a run.
        curated: The record of its question as curated.
        keys: Hashes of the records of the curated folder.
    """
    reply, places = prediction.reply, {choice: str(i) for i, choice in enumerate(curated.choices)}
    return Packed(
        id=keys.id_of(curated),
        task=curated.task,
        question=keys.question_of(curated),
        images=curated.image_sha256 if keys.is_open(curated) else (),
        way=way_of(prediction.record, curated),
        reply=without_quotes(reply.reply, words_of(curated)),
        finish_reason="error" if reply.error else reply.finish_reason,
        step=reply.step,
        likelihoods={places[c]: max(v, _LOWEST) for c, v in reply.likelihoods.items() if c in places and v == v},
        answer=packed_answer(prediction.answer, curated.choices),
    )


def unpacked(pack: Packed, curated: Record) -> tuple[Record, Reply]:
    """Return the record and the reply of a packed prediction.

    Args:
        pack: The prediction.
        curated: Its question in the curated folder.

    Raises:
        ValueError: A quote or the place of a choice is outside the record.
    """
    beyond = [place for place in pack.likelihoods if place not in map(str, range(len(curated.choices)))]
    if beyond:
        raise ValueError(f"a likelihood of choice {beyond[0][:20]!r} of {len(curated.choices)}")
    likelihoods = {curated.choices[int(p)]: v if v > _LOWEST else -math.inf for p, v in pack.likelihoods.items()}
    id = asked_id(curated.id, pack.way)
    text = with_quotes(pack.reply, words_of(curated))
    reply = Reply(id, text, pack.finish_reason, step=pack.step, likelihoods=likelihoods)
    return replace(curated, id=id, tags={**curated.tags, **pack.way}), reply


def way_of(asked: Record, curated: Record) -> dict[str, str]:
    """Return factor -> value of the way in which a question was asked; empty if as curated."""
    return {f: asked.tags[f] for f in FACTORS if f in asked.tags and f not in curated.tags}


def packed_answer(answer: Answer | Unparsed, choices: Sequence[str]) -> str:
    """Return a parsed answer as JSON: places of choices, a number, or why there is none; words are left out.

    Example:
        >>> packed_answer("NORMAL", ["GLAUCOMA", "NORMAL"]), packed_answer({2: "disc"}, ["disc"])
        ('{"choice": 1}', '{"regions": {"2": 0}}')
        >>> packed_answer(Unparsed("empty", "nothing"), []), packed_answer("free words", [])
        ('{"unparsed": "empty"}', '{"text": true}')
    """
    if isinstance(answer, Unparsed):
        return json.dumps({"unparsed": answer.reason})
    if isinstance(answer, Mapping):
        return json.dumps({"regions": {str(k): _place(v, choices) for k, v in sorted(answer.items())}})
    if isinstance(answer, int | float):
        return json.dumps({"number": float(answer)})
    return json.dumps({"choice": _place(answer, choices)} if answer in choices else {"text": True})


def _place(word: str, choices: Sequence[str]) -> int:
    return list(choices).index(word) if word in choices else -1


def public(text: str) -> str:
    """Return a text without folders, and its URLs without user, query and names of machines that are not public.

    Example:
        >>> public("/srv/ada/models/x/a.bin"), public("https://ada:pw@api.example.org/v1?key=1")
        ('a.bin', 'https://api.example.org/v1')
        >>> public("http://node7:8000/v1 m")
        'private endpoint m'
    """
    return "".join(
        part if i % 2 else without_folders(part) for i, part in enumerate(re.split(f"({_SHOWN})", _urls_of(text)))
    )


_SHOWN = r"https?://[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/[\w./-]*)?"
"""A URL as `_url` returns it."""


def _urls_of(text: str) -> str:
    return _URL.sub(lambda found: _url(found[0]), text)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "private endpoint"
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[\w-]+(\.[\w-]+)*\.[a-z]{2,}", host):
        return "private endpoint"
    if host.rpartition(".")[2] in ("local", "internal", "lan", "corp", "home", "localdomain"):
        return "private endpoint"
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{re.sub(r'[^/A-Za-z0-9_.-]', '', parts.path)}"


def model_name(model: str) -> str:
    """Return the name of a model; of an absolute path, the last part."""
    return Path(model).name if Path(model).is_absolute() else public(model)


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
