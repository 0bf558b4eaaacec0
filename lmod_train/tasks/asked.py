"""What is asked of whom, as a hash, and the saved replies that count today."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmod_train.core.types import Record, Reply


def asked(record: Record, weights: Sequence[str], template: str, settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 over everything that decides a reply, as 64 hexadecimal digits.

    Of the record these are the messages, the images' content and the choices; its id, the truth, the split and the
    version of the task are not, as no model sees them.

    Args:
        record: With its messages as they are sent.
        weights: SHA-256 of what the model was loaded from, in its order; names of what lies elsewhere.
        template: What turns messages into input, as a text or its hash.
        settings: How replies are decoded.

    Raises:
        TypeError: `settings` hold what JSON cannot.
    """
    everything = {
        "weights": list(weights),
        "template": template,
        "settings": settings,
        "messages": [[m.role, [[part.type, part.text] for part in m.parts]] for m in record.messages],
        "images": list(record.image_sha256),
        "choices": list(record.choices),
    }
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def asked_after(asked: str, texts: Sequence[str]) -> str:
    """Return the hash of a question whose placeholders hold these texts, as 64 hexadecimal digits.

    Args:
        asked: Hash of the question with its placeholders, from `asked`.
        texts: What stands at the placeholders, in the order of the record's needs.
    """
    return hashlib.sha256(json.dumps([asked, list(texts)]).encode()).hexdigest()


# Which of the saved replies count: those to what is asked today.


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
