"""LLaVA conversations in, a curated folder out: the one curation, with conversations as its source and task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.conversations import Conversations
from lmod_train.tasks.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Origin:
    """What an imported file does not state, and its user must.

    Attributes:
        name: Of the source in records; letters, digits and underscores.
        licence: Under which images and words came.
        redistributable: Whether they may be passed on; `export` refuses otherwise.
        modality: Word of `lmod_train.core.vocabulary.modalities`; empty where it is another or mixed.
        language: ISO 639-1 code of the words.
    """

    name: str
    licence: str = "not stated"
    redistributable: bool = False
    modality: str = ""
    language: str = "en"


def import_conversations(
    file: Path,
    images: Path,
    out: Path,
    origin: Origin,
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
        file: ``.json`` or ``.jsonl``.
        images: Folder that its image paths are relative to.
        out: New or empty folder, or one begun by an earlier start.
        origin: What the file does not state.
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
    source = Conversations(
        file, images, origin.name, origin.licence, origin.redistributable, origin.modality, origin.language
    )
    source.verify()
    manifest = curate(
        [source],
        [Conversation(origin.language)],
        out,
        protocol=Conversation.name,
        seed=seed,
        ratios=ratios,
        longest_side=longest_side,
        workers=workers,
        command=command,
        progress=progress,
    )
    if not manifest["counts"][Conversation.name]:
        cure = f"look into {out / 'dropped.csv'}, correct the file and name another folder with `--out DIR`"
        raise BadArgument("file", str(file), f"a conversation that can be used (left out: {manifest['dropped']})", cure)
    return manifest
