"""The one picture of a record that a classifier looks at."""

from __future__ import annotations

from lmod_train.errors import BadArgument
from lmod_train.types import Record


def one_picture(record: Record) -> str:
    """Return the path of a record's plain picture, relative to the curated folder.

    Raises:
        BadArgument: The record shows no picture, or several: a classifier has one input.
    """
    if len(record.image_plain) != 1:
        raise BadArgument(
            "data.tasks",
            record.task,
            f"one image a record ({record.id} has {len(record.image_plain) or 'none'})",
            "leave the task out of data.tasks, or evaluate it with a vision-language model",
        )
    return record.image_plain[0]
