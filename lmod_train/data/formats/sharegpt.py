"""Messages as LLaMA-Factory and ms-swift both read them: one JSON line a conversation, and LLaMA-Factory's index.

LLaMA-Factory: ``src/llamafactory/data`` (formatting ``sharegpt`` with ``tags`` for role and content; images relative to
``media_dir``, which is the data set's folder unless set). ms-swift: ``swift/dataset`` (columns ``messages`` and
``images``; relative paths are looked for below ``ROOT_IMAGE_DIR``). Both count the word ``<image>`` against the images.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

from lmod_train.data.formats.chosen_records import Selection
from lmod_train.data.formats.folder import ExportFolder, exported_id
from lmod_train.data.formats.turns import Conversation, text_of, written

EMBEDS = False
"""Images lie beside the file."""


def write(selection: Selection, folder: ExportFolder) -> None:
    """Write ``<split>.jsonl`` for every split, ``dataset_info.json`` with an entry for each, and the images."""
    with ExitStack() as stack:
        files = {
            split: stack.enter_context((folder.path / f"{split}.jsonl").open("w", encoding="utf-8"))
            for split in selection.splits
        }
        for conversation in written(selection, folder, system=True):
            item = item_of(conversation, folder.place(conversation.record), folder.key)
            files[conversation.record.split].write(json.dumps(item, ensure_ascii=False) + "\n")
    index = {f"lmod_{split}": entry(f"{split}.jsonl") for split in selection.splits}
    folder.write_text("dataset_info.json", json.dumps(index, indent=2) + "\n")
    folder.describe("Conversations for LLaMA-Factory and ms-swift", _how(selection, folder))


def item_of(conversation: Conversation, images: list[str], key: bytes = b"") -> dict[str, Any]:
    """Return one line: ``messages`` with role and content, ``images``, and the record's id, which readers pass over.

    Nothing is put between an image and the words behind it.

    Args:
        conversation: Without a `problem_of`.
        images: Paths as the reader shall find them.
        key: Key of the hash in its id.
    """
    messages = [{"role": t.role, "content": text_of(t, after="")} for t in conversation.turns]
    return {"messages": messages, "images": images, "id": exported_id(conversation.record.id, key)}


def entry(file: str) -> dict[str, Any]:
    """Return what ``dataset_info.json`` of LLaMA-Factory states about one file."""
    return {
        "file_name": file,
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "images": "images"},
        "tags": {
            "role_tag": "role",
            "content_tag": "content",
            "user_tag": "user",
            "assistant_tag": "assistant",
            "system_tag": "system",
        },
    }


def _how(selection: Selection, folder: ExportFolder) -> str:
    names = ", ".join(f"`lmod_{split}`" for split in selection.splits)
    curated = folder.images == "none"
    return (
        f"LLaMA-Factory: `dataset_dir:` this folder, `dataset:` one of {names}"
        f"{', and `media_dir:` the curated folder' if curated else ''}.\n\n"
        f"ms-swift: `ROOT_IMAGE_DIR={'CURATED' if curated else 'FOLDER'} swift sft --dataset "
        f"FOLDER/{selection.splits[0]}.jsonl ...`, where "
        f"{'CURATED is the curated folder and ' if curated else ''}FOLDER is this folder."
    )
