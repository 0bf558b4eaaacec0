"""Conversations as LLaVA's training code reads them: one JSON list a split.

Liu et al., "Visual Instruction Tuning", 2023; the reader is ``llava/train/train.py`` of their repository, the format
that of ``docs/Finetune_Custom_Data.md``: ``id``, ``image`` (relative to ``--image_folder``) and ``conversations`` (from
``human`` or ``gpt``). It has no place for a system message, and takes a list of images in LLaVA-NeXT only.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any, TextIO

from lmod_train.core.package_data import package_data
from lmod_train.data.formats.chosen_records import Selection
from lmod_train.data.formats.folder import ExportFolder, exported_id
from lmod_train.data.formats.turns import Conversation, text_of, written

EMBEDS = False
"""Images lie beside the file."""

SPEAKERS = {"user": "human", "assistant": "gpt"}


def write(selection: Selection, folder: ExportFolder) -> None:
    """Write ``<split>.json`` for every split, and the images; the items of a file follow the order of the records."""
    with ExitStack() as stack:
        files: dict[str, TextIO] = {
            split: stack.enter_context((folder.path / f"{split}.json").open("w", encoding="utf-8"))
            for split in selection.splits
        }
        begun: set[str] = set()
        for conversation in written(selection, folder, system=False):
            split: str = conversation.record.split
            _append(
                files[split],
                item_of(conversation, folder.place(conversation.record), folder.key),
                first=split not in begun,
            )
            begun.add(split)
        for split, file in files.items():
            file.write("\n]\n" if split in begun else "[]\n")
    folder.describe("Conversations for LLaVA", _how(selection, folder))


def _append(file: TextIO, item: dict[str, Any], *, first: bool) -> None:
    """Write one item of a JSON list, one a line, so that nothing need be held until the end."""
    file.write(("[\n" if first else ",\n") + json.dumps(item, ensure_ascii=False))


def item_of(conversation: Conversation, images: list[str], key: bytes = b"") -> dict[str, Any]:
    """Return one item; ``image`` is left out without one, a text for one and a list for several.

    Args:
        conversation: Without a `problem_of`.
        images: Paths as the reader shall find them.
        key: Key of the hash in its id.
    """
    item: dict[str, Any] = {"id": exported_id(conversation.record.id, key)}
    if images:
        item["image"] = images[0] if len(images) == 1 else images
    item["conversations"] = [{"from": SPEAKERS[t.role], "value": text_of(t)} for t in conversation.turns]
    return item


def _how(selection: Selection, folder: ExportFolder) -> str:
    where = "the curated folder" if folder.images == "none" else "this folder"
    files = ", ".join(f"`{split}.json`" for split in selection.splits)
    return str(package_data(__file__, "texts.yaml")["llava"]).format(files=files, where=where)
