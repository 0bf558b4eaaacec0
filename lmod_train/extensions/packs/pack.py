"""Packs: the predictions and scores of one run as one file for publication, a zip file of two JSON texts.

``pack.json`` holds scores, settings, provenance and the identity of the curated folder; ``predictions.jsonl`` has a
line per prediction. There is no image, truth, question or patient in it. Equal packs have equal bytes.

A pack may come from anybody. It is only read as JSON, its entries are read by their names and never extracted, sizes
and numbers of values are limited before anything is parsed, and every value is checked for its type.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.errors import PackDamaged
from lmod_train.core.files import write_durably
from lmod_train.core.raw import open_file
from lmod_train.core.types import Ending, Score

ENDING = ".lmodpack"

HEADER, LINES = "pack.json", "predictions.jsonl"

MOST_HEADER, MOST_LINE, MOST_BYTES = 1 << 26, 1 << 24, 1 << 30
"""Maximum bytes of the header, of one prediction and of all predictions, uncompressed."""

MOST_PREDICTIONS = 1_000_000

MOST_TEXT, MOST_OTHER_TEXT = 1 << 19, 1 << 18
"""Maximum characters of a reply with its quotes, and of any other text."""

MOST_VALUES, MOST_HEADER_VALUES = 20_000, 1_000_000
"""Maximum number of values in one prediction and in the header."""

MOST_DIRECTORY = 1 << 12
"""Maximum bytes of the directory of the zip file."""

Piece = str | tuple[int, int]
"""Part of a reply: text, or begin and end of the words of the question that it repeats."""


@dataclass(frozen=True, slots=True)
class PackedTask:
    """A task of a pack.

    Attributes:
        name: Its name.
        path: Its class path.
        version: Version that parsed and scored.
        asked: Versions that asked the questions.
        arguments: Arguments of its constructor, as JSON.
    """

    name: str
    path: str
    version: int
    asked: tuple[int, ...]
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class PackedSource:
    """A source of a pack; `open` if its licence permits redistribution, so that its record ids are readable."""

    name: str
    licence: str
    open: bool


@dataclass(frozen=True, slots=True)
class Packed:
    """A prediction of a pack.

    Attributes:
        id: Record id of the question as curated; ``withheld/`` and a keyed hash if it must not be redistributed.
        task: Name of the task.
        question: Keyed hash of what was asked: words, choices, images, place in the split.
        images: SHA-256 of the images; empty if the id is withheld.
        way: Factor -> value, for a question that was asked in several ways.
        reply: Pieces of the reply.
        finish_reason: As in `Reply`.
        step: Optimiser step of the checkpoint.
        likelihoods: Place of a choice among the record's -> its log-likelihood; empty if not recorded.
        answer: The parsed answer as JSON, by `lmod_train.extensions.packs.packing.packed_answer`.
    """

    id: str
    task: str
    question: str
    images: tuple[str, ...]
    way: Mapping[str, str]
    reply: tuple[Piece, ...]
    finish_reason: Ending
    step: int
    likelihoods: Mapping[str, float]
    answer: str


@dataclass(frozen=True, slots=True)
class Pack:
    """The predictions and scores of one run.

    Attributes:
        run: Name of the run.
        model: Name of the model.
        package: Version of the package that wrote the pack.
        protocol: Protocol of the curated folder.
        manifest: Part of the curated folder's manifest -> SHA-256 (`lmod_train.extensions.packs.withheld`).
        records: Number of records that the run asks; predictions may be fewer.
        settings: Settings of the replies, as sorted JSON; several if the replies are of mixed settings.
        provenance: Name -> text: versions, weights with their SHA-256, epochs, steps.
        tasks: Tasks, by name.
        sources: Sources, by name.
        left_out: Number of scores that were left out, as they would give away single truths.
        scores: Scores of the tasks.
        predictions: Sorted by `id` and `way`.
    """

    run: str
    model: str
    package: str
    protocol: str
    manifest: Mapping[str, str]
    records: int
    settings: tuple[str, ...]
    provenance: Mapping[str, str]
    tasks: tuple[PackedTask, ...]
    sources: tuple[PackedSource, ...]
    left_out: int
    scores: tuple[Score, ...]
    predictions: tuple[Packed, ...] = field(default=())


def write_pack(path: Path, pack: Pack) -> None:
    """Write a pack, whole or not at all; equal packs give equal bytes.

    Raises:
        PackDamaged: The reader would refuse it, e.g. a reply is too large.
    """
    lines = [_json(asdict(p)) + b"\n" for p in pack.predictions]
    if max(map(len, lines), default=0) > MOST_LINE or sum(map(len, lines)) > MOST_BYTES:
        raise PackDamaged(path, f"a prediction would be of more than {MOST_LINE} bytes, or all of {MOST_BYTES}")
    for p in pack.predictions:
        if length(p.reply) > MOST_TEXT or len(p.reply) > MOST_VALUES // 3:
            raise PackDamaged(path, f"the reply to {p.id} has more than {MOST_TEXT} characters, or too many quotes")
    head = {f.name: getattr(pack, f.name) for f in fields(Pack) if f.name != "predictions"}
    plain = head | {name: [asdict(one) for one in head[name]] for name in ("tasks", "sources")}
    plain["scores"] = [asdict(score) for score in pack.scores]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    plain |= {"schema_version": SCHEMA_VERSION, "count": len(lines), "sha256": digest}
    with write_durably(path) as beside, zipfile.ZipFile(beside, "w") as opened:
        for name, content in ((HEADER, _json(plain)), (LINES, b"".join(lines))):
            opened.writestr(_entry(name), content, zipfile.ZIP_DEFLATED, 9)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # of 1980, so that the bytes do not depend on the time
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def length(reply: Sequence[Piece]) -> int:
    """Return the number of characters of a reply with its quotes."""
    return sum(len(piece) if isinstance(piece, str) else piece[1] - piece[0] for piece in reply)


def most_bytes(compressed: int) -> int:
    """Return the maximum size of what a number of bytes may hold: more is a bomb, as hashes cannot be compressed."""
    return (1 << 24) + 200 * compressed


def read_pack(path: Path, most: int = MOST_PREDICTIONS) -> Pack:
    """Read a pack; nothing of it is executed, imported or extracted.

    Args:
        path: The file.
        most: Maximum number of predictions, at most `MOST_PREDICTIONS`.

    Raises:
        PackDamaged: It is missing, no pack, of another version, too large, or was changed or cut off.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as opened:
            return _read(path, opened, min(most, MOST_PREDICTIONS))
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PackDamaged(path, f"is no pack that can be read ({problem or type(error).__name__})") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PackDamaged(path, f"has other content than a pack ({' '.join(str(error).split())[:200]})") from error


def _check_directory(path: Path) -> None:
    """Refuse a zip file with a large directory, which `zipfile` would read as a whole."""
    with open_file(path, MOST_HEADER + MOST_BYTES) as stream:  # it is packed, and not larger than its content
        stream.seek(max(0, path.stat().st_size - 42))
        tail = stream.read()
    if tail[-22:-18] != b"PK\5\6":  # the end of a zip file without a comment
        if zipfile.is_zipfile(path):
            raise PackDamaged(path, "is no pack that can be read (there is a comment behind its directory)")
    elif int.from_bytes(tail[-10:-6], "little") > MOST_DIRECTORY or tail[:4] == b"PK\6\7":
        raise PackDamaged(path, f"holds other files than a pack (its directory has more than {MOST_DIRECTORY} bytes)")


def _read(path: Path, opened: zipfile.ZipFile, most_predictions: int) -> Pack:
    entries = opened.infolist()
    if [e.filename for e in entries] != [HEADER, LINES]:
        shown = ", ".join(repr(e.filename[:60]) for e in entries[:4])
        raise PackDamaged(path, f"holds other files than a pack ({len(entries)} entries: {shown})")
    packed = path.stat().st_size
    for entry, limit in zip(entries, (MOST_HEADER, MOST_BYTES), strict=True):
        most = min(limit, most_bytes(min(entry.compress_size, packed)))
        if entry.file_size > most or entry.flag_bits & 1 or entry.compress_type not in (0, zipfile.ZIP_DEFLATED):
            raise PackDamaged(path, f"{entry.filename} is larger than {most} bytes, encrypted or of another packing")
    header = _object(opened.read(entries[0]), MOST_HEADER_VALUES)
    found = header.pop("schema_version", None)
    if found != SCHEMA_VERSION:
        raise PackDamaged(path, f"is of schema version {found}, expected {SCHEMA_VERSION}")
    if "predictions" in header:
        raise ValueError("predictions are in the header")
    count, digest = header.pop("count"), hashlib.sha256()
    lines = tuple(_made(Packed, _object(line, MOST_VALUES)) for line in _lines(opened, most_predictions, digest.update))
    if len(lines) != count or digest.hexdigest() != header.pop("sha256"):
        raise PackDamaged(path, f"was changed: {len(lines)} predictions, expected {count} of the stated SHA-256")
    made: Pack = _made(Pack, header | {"predictions": []}, lines)
    return made


def _lines(opened: zipfile.ZipFile, most: int, seen: Callable[[bytes], object]) -> Iterator[bytes]:
    """Yield the lines, at most `MOST_LINE` bytes each; `seen` is called with each."""
    with opened.open(LINES) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE + 1), b"")):
            if len(line) > MOST_LINE or number >= most:
                raise ValueError(
                    f"prediction {number + 1} has more than {MOST_LINE} bytes, or there are more than {most}"
                )
            seen(line)
            yield line


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?')

_BETWEEN = (b",", b"[", b"{")


def _check_values(text: bytes, most: int) -> None:
    """Refuse JSON with more than `most` values before it is parsed."""
    found = sum(map(text.count, _BETWEEN))
    if found <= most:
        return
    for number, word in enumerate(_STRING.finditer(text)):
        found -= sum(map(word[0].count, _BETWEEN))
        if number > 2 * most:  # a key and a value each
            break
    if found > most:
        raise ValueError(f"an object has more than {most} values")


def _object(text: bytes, most: int) -> dict[str, Any]:
    _check_values(text, most)
    value = json.loads(text.decode("ascii"), object_pairs_hook=_once, parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise TypeError(f"a {type(value).__name__} instead of an object")
    return value


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    listed = list(pairs)
    if len(dict(listed)) < len(listed):
        raise ValueError("an object has a key twice")
    return dict(listed)


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _made(kind: Any, values: dict[str, Any], predictions: tuple[Packed, ...] | None = None) -> Any:
    """Return a dataclass of values with exactly its fields and their types."""
    if set(values) != {f.name for f in fields(kind)}:
        raise ValueError(f"{kind.__name__} has other fields: {', '.join(sorted(map(str, values)))[:150]}")
    types = _types(kind)
    checked = {name: _value(value, types[name], f"{kind.__name__}.{name}") for name, value in values.items()}
    return kind(**checked | ({} if predictions is None else {"predictions": predictions}))


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(value: Any, kind: Any, name: str) -> Any:
    """Return a JSON value as one of a type; raise TypeError if it is of another."""
    if kind in _READ:
        return _READ[kind](value, name)
    if kind is Ending and value in get_args(Ending):
        return value
    if kind == Piece and isinstance(value, str):
        return value
    if kind == Piece and isinstance(value, list) and len(value) == 2:
        return tuple(_whole(one, name) for one in value)
    if getattr(kind, "__origin__", None) is tuple and isinstance(value, list):
        made = tuple(_value(one, kind.__args__[0], name) for one in value)
        if kind.__args__[0] == Piece and length(made) > MOST_TEXT:
            raise ValueError(f"a reply has more than {MOST_TEXT} characters with its quotes")
        return made
    if getattr(kind, "__origin__", None) is Mapping and isinstance(value, dict):
        return {key: _value(one, kind.__args__[1], name) for key, one in value.items()}
    if kind in (PackedTask, PackedSource, Score) and isinstance(value, dict):
        return _made(kind, value)
    raise TypeError(f"{name} is {json.dumps(value)[:60]}")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {json.dumps(value)[:60]}, expected a text")
    if len(value) > MOST_OTHER_TEXT:
        raise ValueError(f"{name} has {len(value)} characters, expected at most {MOST_OTHER_TEXT}")
    return value


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise TypeError(f"{name} is {json.dumps(value)[:60]}, expected a whole number")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} is {json.dumps(value)[:60]}, expected a number")
    return float(value)


def _truth_value(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {json.dumps(value)[:60]}, expected true or false")
    return value


_READ: dict[Any, Callable[[Any, str], Any]] = {
    str: _text,
    int: _whole,
    float: _number,
    bool: _truth_value,
    float | None: lambda value, name: None if value is None else _number(value, name),
}
"""Type -> function that checks a value and returns it."""
