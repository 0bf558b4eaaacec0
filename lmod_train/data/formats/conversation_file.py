"""A file of LLaVA conversations, read one by one: what can be asked, and what must be left out and why."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.raw import decoded
from lmod_train.core.types import Dropped, Message, Part
from lmod_train.data.formats.turns import parts_of
from lmod_train.data.sources.clutter import in_any_form

ROLES: dict[str, Literal["system", "user", "assistant"]] = {"system": "system", "human": "user", "gpt": "assistant"}
"""Who speaks, in LLaVA's words and in ours."""

_TURNS = ("conversations", "conversatons")  # as LLaVA-Med's instruction files spell it

STEP = "read"
"""Step of curation under which drops are listed."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation.

    Attributes:
        key: Its id; with ``#2``, ``#3`` ... behind it where the file repeats the id, ``#n`` for the n-th item without.
        turns: What is said, user and assistant by turns, the assistant last; a system message may come first.
        images: Files in the order of their places, all there.
    """

    key: str
    turns: tuple[Message, ...]
    images: tuple[Path, ...]


class BadDialogue(ValueError):
    """An item that cannot be used; carries reason and detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def read_dialogues(file: Path, images: Path, source: str) -> Iterator[Dialogue | Dropped]:
    """Yield the conversations of a file in its order, and a `Dropped` for each that cannot be used.

    Args:
        file: A JSON list (``.json``), or one item a line (``.jsonl``).
        images: Folder that image paths are relative to; nothing outside it is read.
        source: Name for the drops.

    Raises:
        BadArgument: The file is missing, or is not such a list.
    """
    taken: set[str] = set()
    repeats: Counter[str] = Counter()
    for number, value in enumerate(_values(file), 1):
        named = str(value["id"]) if isinstance(value, Mapping) and value.get("id") not in (None, "") else f"#{number}"
        key = named
        while key in taken:
            repeats[named] += 1
            key = f"{named}#{repeats[named] + 1}"
        taken.add(key)
        try:
            yield _dialogue(key, value, images)
        except BadDialogue as error:
            shown = value.get("image") if isinstance(value, Mapping) else ""
            yield Dropped(source, key, str(shown or ""), STEP, error.reason, error.detail)


def _values(file: Path) -> Iterator[Any]:
    expected = "a JSON list of items with id, image and conversations, or .jsonl with one a line"
    cure = "name LLaVA's training file, e.g. `llava_instruct_150k.json`"
    if not file.is_file():
        raise BadArgument("file", str(file), f"an existing file: {expected}", cure)
    try:
        if file.suffix == ".jsonl":
            yield from (_line(line) for line in decoded(file.read_bytes()).split("\n") if line.strip())
            return
        values = json.loads(decoded(file.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise BadArgument("file", str(file), f"{expected} ({error})", cure) from error
    if not isinstance(values, list):
        raise BadArgument("file", str(file), f"{expected}; found {type(values).__name__}", cure)
    yield from values


def _line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line  # no mapping: left out as such, and the other lines stay


def _dialogue(key: str, value: Any, images: Path) -> Dialogue:
    spoken = _conversations(value)
    turns = tuple(_turn(t) for t in spoken)
    roles = [t.role for t in turns]
    alternating = roles[1:] if roles[:1] == ["system"] else roles
    if not alternating or alternating != ["user", "assistant"] * (len(alternating) // 2):
        found = ", ".join(str(t.get("from")) for t in spoken)
        raise BadDialogue(
            "roles", f"human and gpt must alternate, human first and gpt last; found {found or 'no turn'}"
        )
    named = value.get("image", value.get("images"))
    names = [named] if isinstance(named, str) else (named or [])
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise BadDialogue("not_an_item", f"image: expected a path or a list of paths, found {str(named)[:80]!r}")
    places = sum(p.type == "image" for t in turns if t.role == "user" for p in t.parts)
    if places != len(names):
        raise BadDialogue("image_places", f"{places} times <image> in the turns of human, {len(names)} images")
    return Dialogue(key, turns, tuple(_file(name, images) for name in names))


def _conversations(value: Any) -> list[Any]:
    """Return the turns of an item."""
    named = [value.get(key) for key in _TURNS if key in value] if isinstance(value, Mapping) else []
    if len(named) != 1 or not isinstance(named[0], list):
        raise BadDialogue("not_an_item", f"expected an object with a list `conversations`, found {str(value)[:80]!r}")
    return named[0]


def _turn(value: Any) -> Message:
    speaker, text = (value.get("from"), value.get("value")) if isinstance(value, Mapping) else (None, None)
    if not isinstance(speaker, str) or speaker not in ROLES or not isinstance(text, str):
        raise BadDialogue("roles", f"expected from {', '.join(ROLES)} and a text as value, found {str(value)[:80]!r}")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise BadDialogue("not_utf8", f"a turn of {speaker} holds half a letter, which no file of text takes")
    role = ROLES[speaker]
    parts = parts_of(text) if role == "user" else (Part("text", text),)
    if not any(p.text.strip() for p in parts):
        raise BadDialogue("empty_turn", f"a turn of {speaker} has no words")
    return Message(role, parts)


def _file(name: str, images: Path) -> Path:
    root = images.absolute()
    try:
        # a link inside the folder is the user's own and may lead anywhere
        path = Path(os.path.normpath(in_any_form(root, name)))
        found = path.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte in it
        raise BadDialogue("image_missing", f"no file of this name: {name[:80]!r}") from None
    if not path.is_relative_to(root):
        raise BadDialogue("image_outside", f"leads out of the images folder: {name[:80]!r}")
    if not found:
        raise BadDialogue("image_missing", f"no such file below the images folder: {name[:80]!r}")
    return images / path.relative_to(root)
