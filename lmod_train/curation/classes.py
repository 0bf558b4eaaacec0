"""The class of a record, as its reference reply tells it."""

from __future__ import annotations

from collections.abc import Sequence


def own_part(answer: str, choices: Sequence[str]) -> str:
    """Return the reply without what it says of other tasks, as it is where it says of one.

    A template that asks for two things at once has one reply for both ("MALE / 60–69", LMOD v1, section 3.1.2); of the
    parts between the slashes, the one that is a choice is the task's own.

    Example:
        >>> own_part("Sex/Age group: MALE / 60–69", ("MALE", "FEMALE")), own_part("DRUSEN TRUE", ("TRUE", "FALSE"))
        ('Sex/Age group: MALE', 'DRUSEN TRUE')
    """
    label, colon, value = answer.rpartition(": ")
    own = [part for part in value.split(" / ") if part in choices]
    return f"{label}{colon}{own[0]}" if len(own) == 1 else answer
