"""The images a curation has prepared, written to disk at once, so that a kill loses one job at most."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lmod_train.core.errors import ArtifactError, CurationConflict
from lmod_train.core.files import append_to, cut, remove, write_through
from lmod_train.core.links import check_link
from lmod_train.core.raw import json_of_line, last_line, lines_of
from lmod_train.data.curation.prepare import Prepared

NAME = ".journal.jsonl"


class Journal:
    """An append-only file in the curated folder: settings and inputs in the first line, then one sample a line.

    Args:
        out: The curated folder.
        header: Settings and fingerprint of the inputs; what was done counts only under the same.

    Raises:
        CurationConflict: The journal was begun with another header.
        ArtifactError: A complete line is damaged.
    """

    def __init__(self, out: Path, header: Mapping[str, Any]) -> None:
        self.path = out / NAME
        check_link(out, self.path)
        lines = self._complete_lines()
        self.done: dict[tuple[str, str], Prepared] = {}
        if lines:
            differences = differing(lines[0], header)
            if differences:
                raise CurationConflict(out, differences)
            for row in lines[1:]:
                prepared = Prepared.of(row)
                self.done[prepared.source, prepared.key] = prepared
        self._file = append_to(self.path, errors="backslashreplace")  # JSON's own escape
        if not lines:
            self._write([header])

    def append(self, prepared: Iterable[Prepared]) -> None:
        """Write what was done, one line each, and wait until it is on the disk."""
        several = list(prepared)
        self._write([asdict(p) for p in several])
        self.done |= {(p.source, p.key): p for p in several}

    def close(self) -> None:
        """Close the file and leave it for the next start."""
        self._file.close()

    def remove(self) -> None:
        """Close the file and delete it: the manifest stands in its place."""
        self.close()
        remove(self.path)

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        write_through(self._file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def _complete_lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        end, _ = last_line(self.path)
        cut(self.path, end)  # what a kill left of the last line, or the next one would continue it
        try:
            return [json_of_line(line) for line in lines_of(self.path)]
        except ValueError as error:
            cure = f"delete {self.path} and curate again"
            raise ArtifactError(self.path, f"a line is damaged ({error})", cure) from error


def differing(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return ``key: was -> now`` for every leaf that differs between two nested mappings of plain values.

    A mapping that only one of them has is one line.

    Example:
        >>> differing({"seed": 0, "split": {"by": "group"}}, {"seed": 1, "split": {"by": "group"}})
        ['seed: 0 -> 1']
        >>> differing({}, {"tasks": {"sex": {"version": 2}}}), differing({"task": {"sex": 1}}, {"task": {}})
        (['tasks: absent -> sex'], ['task.sex: 1 -> absent'])
    """
    return list(_differences(was, now, ""))


def _differences(was: Mapping[str, Any], now: Mapping[str, Any], above: str) -> Iterator[str]:
    for key in sorted({*was, *now}):
        before, after = was.get(key, _ABSENT), now.get(key, _ABSENT)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, f"{above}{key}.")
        elif before != after:
            yield f"{above}{key}: {_shown(before)} -> {_shown(after)}"


_ABSENT = object()


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if isinstance(value, Mapping) and value:
        return ", ".join(map(str, value)) if any(isinstance(v, Mapping) for v in value.values()) else "present"
    return json.dumps(value, ensure_ascii=False)
