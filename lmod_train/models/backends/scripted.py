"""Backend with prepared replies instead of a model, for tests and baselines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.raw import json_of_line, lines_of
from lmod_train.core.types import Batch, Identity, Record, Reply
from lmod_train.models.backends.base import Backend


def _plain(records: Sequence[Record], root: Path | Curated) -> Batch:
    """Return a batch without images."""
    return Batch(records)


class Scripted(Backend):
    """Returns replies from a JSON-lines file with `id` and `reply`, or one text for every record.

    Args:
        replies: File of the replies; records that are not in it fail.
        text: Reply to every record, if no file is given. ``{answer}`` is replaced by the record's answer.

    Example:
        >>> Scripted(text="I cannot tell from this image.").settings
        '{"text": "I cannot tell from this image."}'
    """

    def __init__(self, replies: Path | None = None, text: str = "") -> None:
        if (replies is None) == (text == ""):
            cure = "name a file as `replies`" if replies is None else "leave `text` empty: --model.backend.text ''"
            raise BadArgument("backend.replies", replies, "either `replies` or `text`, and not both", cure)
        self.collate = _plain
        self._text, self._file = text, replies
        self._replies: Mapping[str, str] = _read(replies) if replies else {}
        self.settings = json.dumps({"replies": str(replies)} if replies else {"text": text})

    def prepare(self, device: Any) -> None:
        """Do nothing; there is no model."""

    def identity(self) -> Identity:
        """Return the file, or the text, of the replies."""
        return Identity((Path(self._file),)) if self._file else Identity(settings={"text": self._text})

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record."""
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
    expected = 'a file with one object per line: {"id": ..., "reply": ...}'
    if not file.is_file():
        raise BadArgument("backend.replies", str(file), expected, "name an existing file")
    found = {}
    for number, line in enumerate(lines_of(file), 1):
        try:
            row = json_of_line(line)
            reply = str(row["reply"]).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be stored
            found[str(row["id"])] = reply
        except (ValueError, KeyError, TypeError) as error:
            raise BadArgument("backend.replies", f"{file}:{number}", expected, "correct that line") from error
    return found
