"""The reply file: one line a reply, written as it comes; the only thing a run cannot rebuild.

It survives a kill: an incomplete last line is dropped on reading, and cut off before the next is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import append_to, cut, write_through
from lmod_train.core.links import check_file
from lmod_train.core.raw import json_of_line, last_line, lines_of
from lmod_train.core.types import Reply

Key = tuple[str, int, str]
"""Record id, checkpoint step, and the hash of what was asked of whom."""


def reply_line(reply: Reply) -> str:
    """Return the reply as one line of JSON, newline included."""
    return json.dumps(asdict(reply), ensure_ascii=False, sort_keys=True) + "\n"


def read_replies(folder: Path) -> dict[Key, Reply]:
    """Read every ``rank-*.jsonl`` of a ``replies`` folder; the last line of a key (id, step, asked) wins.

    A reply is not displaced by a failure: where a run goes on with fewer processes, the file that lists the failure may
    come after the one with the reply.

    An incomplete last line, left by a kill, is passed over; a damaged line elsewhere is an error, as it is not ours. No
    folder and no file is no reply.

    Raises:
        ArtifactError: A complete line is not a reply.
    """
    replies: dict[Key, Reply] = {}
    for file in sorted(folder.glob("rank-*.jsonl")):
        check_file(folder.parent, file)
        for number, line in enumerate(lines_of(file), 1):
            if not line.strip() or not (line.endswith(b"\n") or _is_whole(line)):
                continue
            try:
                reply = _reply_of(line)
            except (ValueError, TypeError, AttributeError) as error:
                raise ArtifactError(file, f"line {number} is not a reply ({error})", f"delete line {number}") from error
            key = reply.id, reply.step, reply.asked
            if key not in replies or has_failed(replies[key]) or not has_failed(reply):
                replies[key] = reply
    return replies


def has_failed(reply: Reply) -> bool:
    """Return whether there is no reply but an error."""
    return bool(reply.error) or reply.finish_reason == "error"


def models_of(replies: Iterable[Reply]) -> list[str]:
    """Return the names of the models that gave some replies, sorted.

    A failed request, or one that a filter withheld, has no name that a server returned; its name counts if there is no
    other.

    Example:
        >>> models_of([Reply("a", "YES", model="m-2026"), Reply("b", "", "error", "HTTP 500", model="m")])
        ['m-2026']
    """
    several = list(replies)
    named = {r.model for r in several if r.finish_reason in ("stop", "length", "refusal") and not has_failed(r)}
    return sorted(named or {r.model for r in several})


def _reply_of(line: bytes) -> Reply:
    reply = Reply(**json_of_line(line))
    for name in _TEXTS:
        if not isinstance(text := getattr(reply, name), str):
            raise TypeError(f"{name} must be text")
        text.encode("utf-8")  # half a letter, which cannot be stored
    whole = all(isinstance(n, int) and abs(n) < 2**31 for n in (reply.step, reply.tokens_in, reply.tokens_out))
    if not (whole and isinstance(reply.seconds, int | float)):
        raise TypeError("step and tokens must be whole numbers, seconds a number")
    likely = reply.likelihoods
    if not isinstance(likely, dict) or not all(isinstance(n, int | float) for n in likely.values()):
        raise TypeError("likelihoods must be numbers by choice")
    return reply


_TEXTS = ("id", "reply", "finish_reason", "error", "rendered", "model", "settings", "asked")
"""Fields of a reply that are text."""


def _is_whole(last: bytes) -> bool:
    """Tell whether what stands behind the last newline lacks nothing but its own; no part of an object is JSON."""
    try:
        json_of_line(last)
    except ValueError:
        return False
    return True


class ReplyFile:
    """An append-only file of replies that survives a kill: a batch is on the disk before the next is asked."""

    def __init__(self, path: Path) -> None:
        self._file = append_to(path)
        end, last = last_line(path)
        if _is_whole(last):
            self._file.write("\n")
        else:  # or the next reply would continue it and both would be lost
            cut(path, end)  # not written anew: a kill in between would cost every reply

    def append(self, replies: Iterable[Reply]) -> None:
        """Write the replies, one line each, and wait until they are on the disk."""
        write_through(self._file, "".join(reply_line(r) for r in replies))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
