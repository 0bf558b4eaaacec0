"""What was left out, in lines for the screen: what is missing one by one, everything counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.core.escaping import for_terminal
from lmod_train.core.types import Dropped

MOST = 10
"""Lines of a source about what is missing; the rest is counted."""

_MISSING = "missing "
_EXTENTS = {"gone": "gone", "part": "in part"}


def drop_lines(dropped: Sequence[Dropped], listing: Path) -> Iterator[str]:
    """Yield a line for each thing that a source lacks, and two counts for each source: gone, and in part.

    Args:
        dropped: What was left out.
        listing: The file that lists all of it.

    Example:
        >>> listed = [Dropped("refuge", "val", ".", "read", "missing mask", "none of 8 has one", "part")]
        >>> for line in drop_lines(listed, Path("CURATED/dropped.csv")):
        ...     print(line)
        missing of refuge: mask of val (none of 8 has one)
        dropped of refuge: 0 gone, 1 in part (missing mask 1); listed in CURATED/dropped.csv
    """
    for source in sorted({d.source for d in dropped}):
        own = [d for d in dropped if d.source == source]
        missing = [d for d in own if d.reason.startswith(_MISSING)]
        yield from (_missing_line(d) for d in missing[:MOST])
        if missing[MOST:]:
            yield f"missing of {source}: {len(missing) - MOST} more"
        counts = (_counted(word, [d.reason for d in own if d.extent == e]) for e, word in _EXTENTS.items())
        yield f"dropped of {source}: {', '.join(counts)}; listed in {listing}"


def _missing_line(dropped: Dropped) -> str:
    what = dropped.reason.removeprefix(_MISSING)
    detail = f" ({dropped.detail})" if dropped.detail else ""
    return for_terminal(f"missing of {dropped.source}: {what} of {dropped.key}{detail}")


def _counted(word: str, reasons: Sequence[str]) -> str:
    listed = ", ".join(f"{reason} {n}" for reason, n in sorted(Counter(reasons).items()))
    return f"{len(reasons)} {word}" + (f" ({listed})" if listed else "")
