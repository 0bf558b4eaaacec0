"""Which of the saved replies count: those to what is asked today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lmod_train.core.types import Reply


@dataclass(frozen=True, slots=True)
class Current:
    """The replies that count, and how many do not.

    Attributes:
        replies: Record id -> its reply: the newest one to what is asked today.
        stale: Saved replies to something else: other words, images, choices, weights, template or settings, or a
            record that is no longer asked.
    """

    replies: dict[str, Reply]
    stale: int


def current(asked: Mapping[str, str], saved: Iterable[Reply]) -> Current:
    """Sort out which saved replies count.

    Args:
        asked: Record id -> the hash of what is asked of whom today; empty where nobody knows, and no reply counts.
        saved: Each key (id, step, asked) once.

    Example:
        >>> found = current({"a": "x"}, [Reply("a", "now", asked="x"), Reply("a", "then", asked="y")])
        >>> {id: r.reply for id, r in found.replies.items()}, found.stale
        ({'a': 'now'}, 1)
    """
    several = list(saved)
    counting = [r for r in several if r.asked and r.asked == asked.get(r.id)]
    return Current(newest(counting), len(several) - len(counting))


def newest(replies: Iterable[Reply]) -> dict[str, Reply]:
    """Return record id -> the reply of the highest checkpoint step; of equal steps the later one.

    Example:
        >>> newest([Reply("a", "late", step=9), Reply("a", "early", step=3)])["a"].reply
        'late'
    """
    chosen: dict[str, Reply] = {}
    for reply in replies:
        if reply.id not in chosen or reply.step >= chosen[reply.id].step:
            chosen[reply.id] = reply
    return chosen
