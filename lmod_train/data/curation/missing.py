"""Name the splits that a task has no record in, and the classes that one of its splits lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def missing(counts: Mapping[str, Mapping[str, Any]], splits: tuple[str, ...]) -> list[str]:
    """Return one line for each task without records in a split that should have some, or with a class missing there.

    Args:
        counts: Task -> split -> counts, as the manifest has them.
        splits: Those whose share is above 0.

    Example:
        >>> train = {"records": 3, "strata": {"GLAUCOMA": 1, "NORMAL": 2}}
        >>> missing({"glaucoma": {"train": train, "test": {"records": 1, "strata": {"NORMAL": 1}}}},
        ...         ("train", "val", "test"))
        ['glaucoma: no record in val', 'glaucoma: no GLAUCOMA in test']
        >>> missing({"sex": {}}, ("train", "test"))  # its count of 0 says so
        []
    """
    return [f"{task}: {line}" for task, found in counts.items() for line in _lacks(found, splits)]


def _lacks(found: Mapping[str, Any], splits: tuple[str, ...]) -> Iterator[str]:
    classes = sorted({stratum for counts in found.values() for stratum in counts["strata"]})
    for split in splits if found else ():
        if split not in found:
            yield f"no record in {split}"
        elif lacking := [c for c in classes if c not in found[split]["strata"]]:
            yield f"no {', '.join(lacking)} in {split}"
