"""The text of a record's prompt, as several checks compare it."""

from __future__ import annotations

from lmod_train.core.types import Record


def prompt_text(record: Record) -> str:
    """Return the text parts of all messages of a record, joined by spaces."""
    return " ".join(part.text for message in record.messages for part in message.parts)
