"""Fair, repeatable shuffles: what is drawn hangs on the words given, and on nothing else."""

from __future__ import annotations

import hashlib


def lot(*pieces: object) -> str:
    """Return a random-looking text that depends on the pieces alone: sorting by it is a fair, repeatable shuffle.

    The same on every machine and in every process, unlike `hash`; a lot drawn for one item does not move when others
    come or go, unlike a random generator's.

    Example:
        >>> lot(0, "refuge", "g0001") == lot(0, "refuge", "g0001") != lot(1, "refuge", "g0001")
        True
    """
    return hashlib.sha256("\x00".join(str(p) for p in pieces).encode("utf-8", "surrogateescape")).hexdigest()
