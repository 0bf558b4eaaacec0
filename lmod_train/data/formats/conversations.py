"""A file of LLaVA's conversations as a source of the one curation: one sample a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Dropped, ImageFile, Question, Sample, SampleStream
from lmod_train.data.formats.conversation_file import Dialogue, read_dialogues
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.tasks.conversation import Conversation


class Conversations(Source):
    """The conversations of one file; their images are shared, and keys of images are their places below the folder.

    A human turn is a ready question of the task `conversation`: the turns before it are in its messages, and the
    next turn of gpt is its answer. The group of a conversation is its first image file by name; curation joins those
    that share an image, also by way of others. One without an image stands by itself.

    Args:
        file: ``.json`` or ``.jsonl``.
        root: Folder that its image paths are relative to.
        name: Of the source in records; letters, digits and underscores.
        licence: Under which images and words came.
        redistributable: Whether they may be passed on; `export` refuses otherwise.
        modality: Of its images; empty where it is mixed or not known.
        language: ISO 639-1 code of the words.
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
    ) -> None:
        super().__init__(root)
        if not name.isidentifier():
            expected = "letters, digits and underscores, no digit first"
            raise BadArgument("--name", name, expected, "name the source with e.g. `--name llava_instruct`")
        self.file, self.language = Path(file), language
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
        for found in read_dialogues(self.file, self.root, self.name):
            yield found if isinstance(found, Dropped) else self._sample(found)

    def _sample(self, dialogue: Dialogue) -> Sample:
        images = tuple(ImageFile(path, path.relative_to(self.root).as_posix()) for path in dialogue.images)
        return Sample(
            source=self.name,
            key=dialogue.key,
            modality=self.modality,
            image=None,
            group=min((image.key for image in images), default=f"without an image: {dialogue.key}"),
            licence=self.licence,
            shared_images=images,
            asked=tuple(self._questions(dialogue)),
        )

    def _questions(self, dialogue: Dialogue) -> Iterator[Question]:
        turns = dialogue.turns
        asked = [n for n, turn in enumerate(turns) if turn.role == "user"]
        for variant, n in enumerate(asked, 1):
            answer = turns[n + 1].parts[0].text
            yield Question(Conversation.name, turns[: n + 1], (), answer, self.language, variant=str(variant))
