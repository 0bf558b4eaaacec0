"""A file of LLaVA's conversations as a source of the one curation: one sample a conversation."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.raw import decoded, read_bytes
from lmod_train.core.types import Dropped, ImageFile, Message, Part, Question, Sample, SampleStream
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.turns import parts_of
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import in_any_form
from lmod_train.tasks.conversation import TURNS, Conversation, YesNoConversation, yes_or_no


class Conversations(Source):
    """The conversations of one file; their images are shared, and keys of images are their places below the folder.

    A human turn is a ready question of the task `conversation`, or of `yes_no_conversation` if its whole answer is yes
    or no: the turns before it are in its messages, and the next turn of gpt is its answer. The group of a conversation
    is its first image file by name; curation joins those that share an image, also by way of others. One without an
    image stands by itself.

    Args:
        file: ``.json`` or ``.jsonl``.
        root: Folder that its image paths are relative to.
        name: Of the source in records; letters, digits and underscores.
        licence: Under which images and words came.
        redistributable: Whether they may be passed on; `export` refuses otherwise.
        modality: Of its images; empty where it is mixed or not known.
        language: ISO 639-1 code of the words.
        patient: Field of an item with the patient, whose conversations are one group; empty for none.
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
    ) -> None:
        super().__init__(root)
        if not name.isidentifier():
            expected = "letters, digits and underscores, no digit first"
            raise BadArgument("--name", name, expected, "name the source with e.g. `--name llava_instruct`")
        self.file, self.language, self.patient = Path(file), language, patient
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
        if not self.file.is_file():
            cure = "name LLaVA's training file, e.g. `llava_instruct_150k.json`"
            raise BadArgument("file", str(self.file), "an existing file of conversations", cure)

    def inputs(self) -> Mapping[str, Any]:
        """Return name and SHA-256 of the file, for the manifest."""
        return {"file": self.file.name, "sha256": sha256_of(self.file)}

    def samples(self) -> SampleStream:
        """Yield a sample for each conversation, in the order of the file."""
        self.verify()
        for found in read_dialogues(self.file, self.root, self.name, self.patient):
            yield found if isinstance(found, Dropped) else self._sample(found)
            if self.patient and isinstance(found, Dialogue) and not found.person:
                detail = f"no {self.patient}; it is a group with what shares its image"
                yield self._cost(self.root, "no patient", detail, found.key)

    def _sample(self, dialogue: Dialogue) -> Sample:
        images = tuple(ImageFile(path, path.relative_to(self.root).as_posix()) for path in dialogue.images)
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
            choices = yes_or_no(answer)
            task = YesNoConversation.name if choices else Conversation.name
            yield Question(task, turns[: n + 1], choices, answer, self.language, variant=str(variant))


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
        person: The patient, as the item states it; empty if it does not.
    """

    key: str
    turns: tuple[Message, ...]
    images: tuple[Path, ...]
    person: str = ""


class BadDialogue(ValueError):
    """An item that cannot be used; carries reason and detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def read_dialogues(file: Path, images: Path, source: str, patient: str = "") -> Iterator[Dialogue | Dropped]:
    """Yield the conversations of a file in its order, and a `Dropped` for each that cannot be used.

    Args:
        file: A JSON list (``.json``), or one item a line (``.jsonl``).
        images: Folder that image paths are relative to; nothing outside it is read.
        source: Name for the drops.
        patient: Field of an item with the patient; empty for none.

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
            person = value.get(patient) if patient and isinstance(value, Mapping) else None
            yield replace(_dialogue(key, value, images), person="" if person is None else str(person).strip())
        except BadDialogue as error:
            shown = value.get("image") if isinstance(value, Mapping) else ""
            yield Dropped(source, key, str(shown or ""), STEP, error.reason, error.detail)


MOST_BYTES = 1_200_000_000
"""Maximum bytes of a file; the largest of LLaVA has 1.03 GB."""


def _values(file: Path) -> Iterator[Any]:
    expected = "a JSON list of items with id, image and conversations, or .jsonl with one a line"
    cure = "name LLaVA's training file, e.g. `llava_instruct_150k.json`"
    if not file.is_file():
        raise BadArgument("file", str(file), f"an existing file: {expected}", cure)
    try:
        if file.suffix == ".jsonl":
            yield from (_line(line) for line in decoded(read_bytes(file, MOST_BYTES)).split("\n") if line.strip())
            return
        values = json.loads(decoded(read_bytes(file, MOST_BYTES)))
    except (OSError, ValueError, RecursionError) as error:
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
        path = Path(os.path.normpath(in_any_form(root, name)))
        found = path.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte in it
        raise BadDialogue("image_missing", f"no file of this name: {name[:80]!r}") from None
    if not path.is_relative_to(root):
        raise BadDialogue("image_outside", f"leads out of the images folder: {name[:80]!r}")
    if not found:
        raise BadDialogue("image_missing", f"no such file below the images folder: {name[:80]!r}")
    return images / path.relative_to(root)


def import_conversations(
    source: Conversations,
    out: Path,
    *,
    ratios: Sequence[float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: int = 0,
    workers: int = 2,
    command: str = "",
    progress: bool = False,
) -> dict[str, Any]:
    """Make a curated folder of a file of LLaVA conversations; started again after a kill, it goes on where it was.

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
        command: What was typed, for the manifest.
        progress: Show a bar.

    Returns:
        The manifest, as written.

    Raises:
        BadArgument: An argument cannot be used, or nothing in the file can.
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
        command=command,
        progress=progress,
    )
    if not any(manifest["counts"].values()):
        cure = f"look into {out / 'dropped.csv'}, correct the file and name another folder with `--out DIR`"
        raise BadArgument(
            "file", str(source.file), f"a conversation that can be used (left out: {manifest['dropped']})", cure
        )
    return manifest
