"""Repeatable shuffles: the order depends on the items and the seed, not on which other items there are."""

from __future__ import annotations

import hashlib


def shuffle_key(*pieces: object) -> str:
    """Return a key to sort by for a uniform, repeatable shuffle: the SHA-256 of the pieces, in hexadecimal.

    The key is the same on every machine and in every process, unlike `hash`. The key of one item does not change when
    other items are added or removed, unlike the draws of a random generator.

    Args:
        pieces: The seed, what is shuffled, and what identifies the item.

    Example:
        >>> shuffle_key(0, "refuge", "g0001") == shuffle_key(0, "refuge", "g0001") != shuffle_key(1, "refuge", "g0001")
        True
    """
    return hashlib.sha256("\x00".join(str(p) for p in pieces).encode("utf-8", "surrogateescape")).hexdigest()
