"""Drops that a strict curation lets pass, because someone looked at them and listed them in a file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lmod_train.core.errors import BadArgument, StrictDrops
from lmod_train.core.escaping import from_csv
from lmod_train.core.raw import MOST_TABLE_BYTES, decoded, read_bytes
from lmod_train.core.types import Dropped

Named = tuple[str, str, str]
"""Source, key and reason of a drop."""

_COLUMNS = ("source", "key", "reason")
_DELIMITERS = ",;\t"


def read_accepted(path: Path) -> Counter[Named]:
    """Return the drops that a file lists, each as often as it lists it.

    Args:
        path: A table with the columns source, key and reason, such as a copied ``dropped.csv``; or lines of these three
            without a header. Comma, semicolon or tab divides them.

    Raises:
        BadArgument: The file cannot be read, or a line of it has fewer than three values.
    """
    try:
        text = decoded(read_bytes(path, MOST_TABLE_BYTES))
        first = next((line for line in text.splitlines() if line.strip()), "")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=max(_DELIMITERS, key=first.count)))
    except (OSError, ValueError, csv.Error) as error:
        raise _unusable(path, f"{type(error).__name__}: {error}") from error
    lines = [[from_csv(cell.strip()).strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    header = [cell.casefold() for cell in lines[0]] if lines else []
    at = [header.index(column) for column in _COLUMNS] if set(_COLUMNS) <= set(header) else None
    accepted: Counter[Named] = Counter()
    for row in lines[1:] if at else lines:
        wanted = at or (0, 1, 2)
        if len(row) <= max(wanted):
            raise _unusable(path, f"a line of {len(row)} values: {', '.join(row)}")
        accepted[row[wanted[0]], row[wanted[1]], row[wanted[2]]] += 1
    return accepted


def named(dropped: Dropped) -> Named:
    """Return what a drop is accepted by, as a table's cells hold it."""
    return dropped.source.strip(), dropped.key.strip(), dropped.reason.strip()


def refused(dropped: Iterable[Dropped], accepted: Counter[Named]) -> list[Dropped]:
    """Return the drops that are not accepted: each line of the file lets one such drop pass.

    Example:
        >>> bad = Dropped("refuge", "val/V0001", "V0001.jpg", "read", "missing mask")
        >>> refused([bad, bad], Counter({("refuge", "val/V0001", "missing mask"): 1})) == [bad]
        True
    """
    left = Counter(accepted)
    new = []
    for one in dropped:
        if left[named(one)] > 0:
            left[named(one)] -= 1
        else:
            new.append(one)
    return new


def outdated(dropped: Sequence[Dropped], accepted: Counter[Named]) -> list[Named]:
    """Return the accepted drops that do not occur (any more), sorted."""
    return sorted((accepted - Counter(map(named, dropped))).elements())


@dataclass(frozen=True)
class Refusal:
    """When to refuse what was dropped.

    Attributes:
        strict: Whether to refuse at all.
        accepted: Drops that pass nevertheless.
        command: What was typed, for the error to repeat.
    """

    strict: bool = False
    accepted: Counter[Named] = field(default_factory=Counter)
    command: str = ""

    def raise_before(self, dropped: Sequence[Dropped], out: Path) -> None:
        """Check what sources drop before their images are read; nothing, as `raise_for` needs the complete list."""

    def raise_for(self, dropped: Sequence[Dropped], listing: Path) -> None:
        """Check that nothing was dropped but what is accepted.

        Raises:
            StrictDrops: Something was; `listing`, the file that lists it, is named.
        """
        new = Counter((d.source, d.step, d.reason) for d in refused(dropped, self.accepted)) if self.strict else None
        if new:
            reasons = [f"{' '.join(kind)}: {n}" for kind, n in sorted(new.items())]
            raise StrictDrops(listing, reasons, self.command)


def _unusable(path: Path, found: str) -> BadArgument:
    cure = "copy a curated folder's dropped.csv, look through it, and name the copy"
    expected = f"a table with the columns source, key and reason, or lines of these three (found {found})"
    return BadArgument("accept", str(path), expected, cure)
