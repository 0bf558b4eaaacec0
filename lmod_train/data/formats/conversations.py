"""A file of conversations as a source of the one curation, one sample a conversation: LLaVA's, ShareGPT's, OpenAI's."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Dropped, ImageFile, Message, Part, Question, Sample, SampleStream
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.turns import IMAGE, parts_of
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import in_any_form
from lmod_train.data.sources.objects import KEYS, hash_of, image_in, name_of, objects_in
from lmod_train.tasks.conversation import TURNS, Conversation, kind_of


class Conversations(Source):
    """The conversations of one file; their images are shared, and keys of images are their places below the folder.

    A human turn is a ready question of the task `conversation`, of `yes_no_conversation` if its whole answer is yes or
    no, or of `choice_conversation` if its words list options, of which the answer is one: the turns before it are in
    its messages, and the next turn of gpt is its answer. The group of a conversation
    is its first image file by name; curation joins those that share an image, also by way of others. One without an
    image stands by itself.

    Args:
        file: JSON, JSON lines, Parquet, or a folder of `datasets`.
        root: Folder that its image paths are relative to.
        name: Of the source in records; letters, digits and underscores.
        licence: Under which images and words came.
        redistributable: Whether they may be passed on; `export` refuses otherwise.
        modality: Of its images; empty where it is mixed or not known.
        language: ISO 639-1 code of the words.
        patient: Field of an item with the patient, whose conversations are one group; empty for none.
        held: Name of the images inside the file -> where they are (see `held_images`).

    Attributes:
        items: Number of the items of the file, once `samples` were read.
        people: The patient of each, as the file names it, once they were read.
    """

    name = "conversations"
    modality = ""
    licence = "not stated"
    redistributable = False
    reference = ""

    def __init__(
        self,
        file: Path,
        root: Path = UNPLACED,
        name: str = "conversations",
        licence: str = "not stated",
        redistributable: bool = False,
        modality: str = "",
        language: str = "en",
        patient: str = "",
        held: Mapping[str, ImageFile] | None = None,
    ) -> None:
        super().__init__(root)
        if not name.isidentifier():
            expected = "letters, digits and underscores, no digit first"
            raise BadArgument("--name", name, expected, "name the source with e.g. `--name llava_instruct`")
        self.file, self.language, self.patient, self.held = Path(file), language, patient, held
        self.items, self.people = 0, list[str]()
        self.states_patients = bool(patient)
        self.name, self.licence, self.redistributable, self.modality = name, licence, redistributable, modality

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return False: a file of conversations is named by the user, and not found among other JSON files."""
        return False

    def verify(self) -> None:
        """Check that the folder of images and the file are there.

        Raises:
            BadArgument: One of them is not.
        """
        if not self.root.is_dir():
            cure = "name the folder its image paths are relative to with `--images DIR`"
            raise BadArgument("--images", str(self.root), "an existing folder", cure)
        if not self.file.exists():
            cure = "name the file itself, e.g. `llava_instruct_150k.json`"
            raise BadArgument("file", str(self.file), "an existing file of conversations", cure)

    def inputs(self) -> Mapping[str, Any]:
        """Return name and SHA-256 of the file, for the manifest."""
        return {"file": self.file.name, "sha256": hash_of(self.file)}

    def samples(self) -> SampleStream:
        """Yield a sample for each conversation, in the order of the file."""
        self.verify()
        self.items, self.people = 0, []
        for found in read_dialogues(self.file, self.root, self.name, self.patient, self.held):
            self.items += 1
            self.people += [found.person] if isinstance(found, Dialogue) and found.person else []
            yield found if isinstance(found, Dropped) else self._sample(found)
            if self.patient and isinstance(found, Dialogue) and not found.person:
                detail = f"no {self.patient}; it is a group with what shares its image"
                yield self._cost(self.root, "no patient", detail, found.key)

    def _sample(self, dialogue: Dialogue) -> Sample:
        images = dialogue.images
        return Sample(
            source=self.name,
            key=dialogue.key,
            modality=self.modality,
            image=None,
            group=self._group(dialogue, images),
            licence=self.licence,
            shared_images=images,
            asked=tuple(self._questions(dialogue)),
        )

    def _group(self, dialogue: Dialogue, images: Sequence[ImageFile]) -> str:
        """Return a hash of the patient, whose name or number no record holds; without one the first image by name."""
        if dialogue.person:
            return self._group_of(dialogue.person)
        return min((image.key for image in images), default=f"without an image: {dialogue.key}")

    def _questions(self, dialogue: Dialogue) -> Iterator[Question]:
        turns = dialogue.turns
        asked = [n for n, turn in enumerate(turns) if turn.role == "user"]
        for variant, n in enumerate(asked, 1):
            answer = turns[n + 1].parts[0].text
            task, choices = kind_of(_words(turns[n]), answer)
            yield Question(task, turns[: n + 1], choices, answer, self.language, variant=str(variant))


Role = Literal["system", "user", "assistant"]

ROLES: Mapping[str, str] = package_data(__file__, "texts.yaml")["roles"]
"""Who speaks, in the words of files and in ours."""

MOST_TURNS = 400
"""Maximum turns of a conversation: each question is a record that holds all turns before it."""

STEP = "read"
"""Step of curation under which drops are listed."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation.

    Attributes:
        key: Its id; with ``#2``, ``#3`` ... behind it where the file repeats the id, ``#n`` for the n-th item without.
        turns: What is said, user and assistant by turns, the assistant last; a system message may come first.
        images: In the order of their places, all there.
        person: The patient, as the item states it; empty if it does not.
    """

    key: str
    turns: tuple[Message, ...]
    images: tuple[ImageFile, ...]
    person: str = ""


class BadDialogue(ValueError):
    """An item that cannot be used; carries reason and detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def read_dialogues(
    file: Path, images: Path, source: str, patient: str = "", held: Mapping[str, ImageFile] | None = None
) -> Iterator[Dialogue | Dropped]:
    """Yield the conversations of a file in its order, and a `Dropped` for each that cannot be used.

    Args:
        file: Of any kind that `lmod_train.data.sources.objects` reads.
        images: Folder that image paths are relative to; nothing outside it is read.
        source: Name for the drops.
        patient: Field of an item with the patient; empty for none.
        held: Name of the images inside the file (see `held_images`) -> where they are.

    Raises:
        BadArgument: The file is missing, or holds no items.
    """
    taken: set[str] = set()
    repeats: Counter[str] = Counter()
    for number, value in enumerate(_values(file), 1):
        item: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        named = f"#{number}" if item.get("id") in (None, "") else str(item["id"])
        key = named
        while key in taken:
            repeats[named] += 1
            key = f"{named}#{repeats[named] + 1}"
        taken.add(key)
        try:
            person = item.get(patient) if patient else None
            found = _dialogue(key, value, images, held or {})
            yield replace(found, person="" if person is None else str(person).strip())
        except BadDialogue as error:
            yield Dropped(source, key, str(item.get("image") or "")[:_SHOWN], STEP, error.reason, error.detail)


_SHOWN = 80
"""Characters of a value that are shown."""


def held_images(values: Iterable[Any]) -> Iterator[bytes]:
    """Yield the images that items hold as bytes or in base64, beside their words and among them."""
    for value in values:
        try:
            named = _named(value)
            parts = [part for turn in _conversations(value) for part in _content(turn) if isinstance(part, Mapping)]
        except BadDialogue:
            continue
        yield from (one for one in (*named, *map(_inside, parts)) if isinstance(one, bytes))


def _values(file: Path) -> Iterator[Any]:
    expected = (
        "a JSON list of items with conversations or messages, .jsonl with one a line, Parquet, or a saved data set"
    )
    cure = "name the file itself, e.g. `llava_instruct_150k.json`"
    if not file.exists():
        raise BadArgument("file", str(file), f"an existing file: {expected}", cure)
    try:
        yield from objects_in(file)
    except (OSError, ValueError, RecursionError) as error:
        raise BadArgument("file", str(file), f"{expected} ({error})", cure) from error


def _dialogue(key: str, value: Any, images: Path, held: Mapping[str, ImageFile]) -> Dialogue:
    spoken, named = _conversations(value), _named(value)
    if len(spoken) > MOST_TURNS:
        raise BadDialogue("too_many_turns", f"{len(spoken):,} turns, expected at most {MOST_TURNS}")
    system = value.get("system")
    if system is not None and not isinstance(system, str):
        raise BadDialogue("roles", f"expected a text as system, found {str(system)[:_SHOWN]!r}")
    stated = [{"role": "system", "content": system}] if system and system.strip() else []
    roles = [_role(turn) for turn in (*stated, *spoken)]
    alternating = roles[1:] if roles[:1] == ["system"] else roles
    if not alternating or alternating != ["user", "assistant"] * (len(alternating) // 2):
        found = ", ".join(str(_speaker(turn)) for turn in spoken)
        reason = "roles"
        raise BadDialogue(reason, f"human and gpt must alternate, human first and gpt last; found {found or 'no turn'}")
    contents = _numbered(roles, [_content(turn) for turn in (*stated, *spoken)], len(named))
    turns, shown = [], list[bytes | str | None]()
    for role, content in zip(roles, contents, strict=True):
        message, inside = _message(role, content)
        turns.append(message)
        shown += inside
    if named and not shown:  # as ms-swift and MM-Retinal-Reason show what no word places
        first = roles.index("user")
        turns[first] = Message("user", (*[Part("image")] * len(named), *turns[first].parts))
        shown = [None] * len(named)
    if shown.count(None) != len(named):
        raise BadDialogue(
            "image_places", f"{shown.count(None)} times <image> in the turns of human, {len(named)} images"
        )
    for turn, after in pairwise(turns):
        if turn.role == "user" and not kind_of(_words(turn), after.parts[0].text)[0]:
            detail = f"its words list options, and {after.parts[0].text[:_SHOWN]!r} names none of them"
            raise BadDialogue("options_unread", detail)
    rest = iter(named)
    files = tuple(_file(next(rest) if one is None else one, images, held) for one in shown)
    return Dialogue(key, tuple(turns), files)


def _words(turn: Message) -> str:
    return "\n".join(part.text for part in turn.parts if part.type == "text")


def _conversations(value: Any) -> list[Any]:
    """Return the turns of an item."""
    named = [value.get(key) for key in KEYS if key in value] if isinstance(value, Mapping) else []
    if len(named) != 1 or not isinstance(named[0], list):
        found = ", ".join(map(str, value)) if isinstance(value, Mapping) else str(value)
        expected = "an object with a list `conversations` or `messages`"
        raise BadDialogue("not_an_item", f"expected {expected}, found {found[:_SHOWN]!r}")
    return named[0]


def _named(value: Mapping[str, Any]) -> list[bytes | str]:
    """Return the images that an item names or holds beside its words, in their order."""
    named = value.get("image") if value.get("image") is not None else value.get("images")
    listed = named if isinstance(named, list) else [] if named is None or named == "" else [named]
    found = [image_in(one) for one in listed]
    if None in found:
        raise BadDialogue("not_an_item", f"image: expected a path or a list of paths, found {str(named)[:_SHOWN]!r}")
    return [one for one in found if one is not None]


def _speaker(turn: Any) -> Any:
    return turn.get("from", turn.get("role")) if isinstance(turn, Mapping) else None


def _role(turn: Any) -> Role:
    speaker = _speaker(turn)
    role = ROLES.get(speaker) if isinstance(speaker, str) else None
    if role is None:
        raise BadDialogue("roles", f"expected from {', '.join(ROLES)}, found {str(turn)[:_SHOWN]!r}")
    return role  # type: ignore[return-value]


def _content(turn: Any) -> list[Any]:
    """Return the parts of a turn: texts, and objects of images."""
    held = turn.get("value", turn.get("content")) if isinstance(turn, Mapping) else None
    parts = held if isinstance(held, list) else [held]
    pieces = [part if isinstance(part, str) or _is_image(part) else _text(part) for part in parts]
    if None in pieces:
        raise BadDialogue("roles", f"expected a text, or parts of texts and images, found {str(turn)[:_SHOWN]!r}")
    return pieces


def _is_image(part: Any) -> bool:
    return isinstance(part, Mapping) and "image" in str(part.get("type"))


def _text(part: Any) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _inside(part: Mapping[str, Any]) -> bytes | str | None:
    """Return the image of a part of a turn; None for one that stands beside the words of the item."""
    return next((found for key in _IMAGE_KEYS if (found := image_in(part.get(key))) is not None), None)


_IMAGE_KEYS = ("image_url", "image", "url", "path", "bytes")

_NUMBERED = re.compile(r"<image[ _]?(\d{1,3})>")


def _numbered(roles: Sequence[str], contents: Sequence[list[Any]], images: int) -> list[list[Any]]:
    """Return the parts of turns with `IMAGE` in the place of words such as ``<image 1>``, in the order of the numbers.

    Where the words name the images in another order, or one of them twice, all stand before the first of these words,
    which call them image 1, image 2, ...
    """
    asked = [part for role, parts in zip(roles, contents, strict=True) for part in parts if role == "user"]
    numbers = [int(n) for part in asked if isinstance(part, str) for n in _NUMBERED.findall(part)]
    if not numbers:
        return [*contents]
    base = min(1, *numbers)
    if max(numbers) - base >= images:
        raise BadDialogue("image_places", f"<image {max(numbers)}> in the turns, {images} images")
    in_order = numbers == list(range(base, base + images))
    waiting = [] if in_order else [f"{IMAGE}\n" * images]

    def named(role: str, part: Any) -> Any:
        if not isinstance(part, str) or not _NUMBERED.search(part):
            return part
        if role != "user":
            return _NUMBERED.sub(r"image \1", part)
        return (waiting.pop() if waiting else "") + _NUMBERED.sub(IMAGE if in_order else r"image \1", part)

    return [[named(role, part) for part in parts] for role, parts in zip(roles, contents, strict=True)]


def _message(
    role: Literal["system", "user", "assistant"], content: list[Any]
) -> tuple[Message, list[bytes | str | None]]:
    """Return a turn, and the image of each of its places; None for the next of those that the item names."""
    parts: list[Part] = []
    shown: list[bytes | str | None] = []
    for piece in content:
        if isinstance(piece, str):
            if any("\ud800" <= letter <= "\udfff" for letter in piece):
                raise BadDialogue("not_utf8", f"a turn of {role} holds half a letter, which no file of text takes")
            own = parts_of(piece) if role == "user" else (Part("text", piece),)
            parts += own
            shown += [None for part in own if part.type == "image"]
        elif role == "user":
            parts.append(Part("image"))
            shown.append(_inside(piece))
        else:
            raise BadDialogue("image_places", f"an image in a turn of {role}")
    if not any(part.text.strip() for part in parts):
        raise BadDialogue("empty_turn", f"a turn of {role} has no words")
    texts = "".join(part.text for part in parts)
    return Message(role, tuple(parts) if role == "user" else (Part("text", texts),)), shown


def _file(named: bytes | str, images: Path, held: Mapping[str, ImageFile]) -> ImageFile:
    if isinstance(named, bytes):
        if (place := held.get(name_of(named))) is None:
            raise BadDialogue("image_missing", "an image inside the file, which was not unpacked")
        return place
    if "://" in named:
        raise BadDialogue("image_missing", f"an address, of which nothing is fetched: {named[:_SHOWN]!r}")
    root = images.absolute()
    try:
        path = Path(os.path.normpath(in_any_form(root, named)))
        found = path.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte in it
        raise BadDialogue("image_missing", f"no file of this name: {named[:_SHOWN]!r}") from None
    if not path.is_relative_to(root):
        raise BadDialogue("image_outside", f"leads out of the images folder: {named[:_SHOWN]!r}")
    if not found:
        raise BadDialogue("image_missing", f"no such file below the images folder: {named[:_SHOWN]!r}")
    inside = path.relative_to(root)
    return ImageFile(images / inside, inside.as_posix())


def import_conversations(
    source: Conversations,
    out: Path,
    *,
    ratios: Sequence[float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: int = 0,
    workers: int = 2,
    refusal: Refusal | None = None,
    command: str = "",
    progress: bool = False,
) -> dict[str, Any]:
    """Make a curated folder of a file of conversations; started again after a kill, it goes on where it was.

    Conversations that share an image file, also by way of others, or show copies of one photograph, come into one
    split; one without an image stands by itself. What cannot be used is left out and listed in ``dropped.csv``. The
    same file, images and arguments give the same bytes but for the manifest's `command` and `root`.

    Args:
        source: The file, and what it does not state.
        out: New or empty folder, or one begun by an earlier start.
        ratios: Shares of train, val and test.
        longest_side: Pixels of the curated images' longer side; never enlarged; None keeps originals.
        seed: Of the splits.
        workers: Processes that read images; 1 works in this process.
        refusal: What must not be left out; None permits everything, which is listed and counted.
        command: What was typed, for the manifest.
        progress: Show a bar.

    Returns:
        The manifest, as written.

    Raises:
        BadArgument: An argument cannot be used, or nothing in the file can.
        LmodError: `refusal` refuses what was left out.
        CurationConflict: `out` was begun with other settings or another file.
    """
    if longest_side is not None and longest_side < 1:
        expected = "at least 1 pixel, or null for originals"
        raise BadArgument("--longest_side", longest_side, expected, "leave it out: 1024")
    source.verify()
    manifest = curate(
        [source],
        [task(source.language) for task in TURNS],
        out,
        protocol=Conversation.name,
        seed=seed,
        ratios=ratios,
        longest_side=longest_side,
        workers=workers,
        refusal=refusal,
        command=command,
        progress=progress,
    )
    if not any(manifest["counts"].values()):
        cure = f"look into {out / 'dropped.csv'}, correct the file and name another folder with `--out DIR`"
        raise BadArgument(
            "file", str(source.file), f"a conversation that can be used (left out: {manifest['dropped']})", cure
        )
    return manifest
