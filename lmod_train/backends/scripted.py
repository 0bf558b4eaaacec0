"""A backend without a network: replies written beforehand, for trying the whole way and for baselines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.backends.base import Backend
from lmod_train.errors import BadArgument
from lmod_train.types import Batch, Identity, Record, Reply


def _plain(records: Sequence[Record], root: Path) -> Batch:
    """Collate without pixels."""
    return Batch(records)


class Scripted(Backend):
    """Replies from a file of JSON lines (`id`, `reply`), or one text for every record.

    Args:
        replies: File to look replies up in; a record without a line has failed.
        text: Reply to every record, where no file is given. ``{answer}`` in it stands for the record's own answer.

    Example:
        >>> Scripted(text="I cannot tell from this image.").settings
        '{"text": "I cannot tell from this image."}'
    """

    def __init__(self, replies: Path | None = None, text: str = "") -> None:
        if (replies is None) == (text == ""):
            raise BadArgument("backend.replies", replies, "either a file of replies or a text, not both", "give one")
        self.collate = _plain
        self._text, self._file = text, replies
        self._replies: Mapping[str, str] = _read(replies) if replies else {}
        self.settings = json.dumps({"replies": str(replies)} if replies else {"text": text})

    def prepare(self, device: Any) -> None:
        """Nothing to load."""

    def identity(self) -> Identity:
        """Return its file, or its text."""
        return Identity((Path(self._file),)) if self._file else Identity(settings={"text": self._text})

    def respond(self, batch: Batch) -> list[Reply]:
        """Look the replies up."""
        return [self._reply(record) for record in batch.records]

    def _reply(self, record: Record) -> Reply:
        rendered = "\n".join(part.text for m in record.messages for part in m.parts)
        text = self._text.replace("{answer}", record.answer) if self._text else self._replies.get(record.id)
        if text is None:
            return Reply(record.id, "", "error", "no scripted reply for this id", rendered, model="scripted")
        return Reply(record.id, text, rendered=rendered, model="scripted", settings=self.settings)


def _read(file: Path) -> dict[str, str]:
    """Return id -> reply.

    Raises:
        BadArgument: The file is missing or a line is not an object with id and reply.
    """
    expected = 'a file with one object a line: {"id": ..., "reply": ...}'
    if not file.is_file():
        raise BadArgument("backend.replies", str(file), expected, "name an existing file")
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            found[str(row["id"])] = str(row["reply"])
        except (ValueError, KeyError, TypeError) as error:
            raise BadArgument("backend.replies", f"{file}:{number}", expected, "mend that line") from error
    return found
