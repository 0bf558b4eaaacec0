"""The image of a record for a classifier, which has one input."""

from __future__ import annotations

from collections.abc import Iterable

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record


def one_picture(record: Record) -> str:
    """Return the path of a record's plain image, relative to the curated folder.

    Raises:
        BadArgument: The record has no image, or several.
    """
    if len(record.image_plain) != 1:
        expected = f"one image per record ({record.id} has {len(record.image_plain) or 'none'})"
        cure = "remove the task from data.tasks, or evaluate it with a vision-language model"
        raise BadArgument("data.tasks", record.task, expected, cure)
    return record.image_plain[0]


def refuse_other_counts(records: Iterable[Record]) -> None:
    """Raise an error if a record has no image or several, before a run begins and not when its batch comes.

    Raises:
        BadArgument: One has.
    """
    for record in records:
        one_picture(record)
