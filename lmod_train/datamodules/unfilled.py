"""Records that cannot be asked alone, as their words hold answers to earlier questions of their chain."""

from __future__ import annotations

from collections.abc import Iterable

from lmod_train.errors import BadArgument
from lmod_train.tasks.filled import placeholders, unfilled
from lmod_train.types import Record


def refuse_unfilled(records: Iterable[Record]) -> None:
    """Raise an error if the words of a record hold placeholders, which no model may learn or read as words.

    Args:
        records: Which are to be trained on or asked; may be empty.

    Raises:
        BadArgument: One does. The error names the first by id, and how many there are.
    """
    found = sorted((r for r in records if unfilled(r)), key=lambda r: r.id)
    if not found:
        return
    first = found[0]
    place = min(placeholders(first.messages))
    need = first.needs[place - 1] if 1 <= place <= len(first.needs) else "no record"
    example = f"{first.id}, whose words hold {{answer {place}}}: the answer to {need}"
    raise BadArgument(
        "data.tasks",
        first.task,
        f"questions that can be asked alone; {len(found)} are not, e.g. {example}",
        "leave the task out of data.tasks, or name a variant without such questions with `--data.variant`; a program "
        "of your own can fill answers in with `lmod_train.tasks.filled.filled`",
    )
