"""The images a curation has prepared, written to disk at once, so that a kill loses one job at most."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmod_train.core.errors import ArtifactError, CurationConflict
from lmod_train.core.files import append_to, cut, remove, write_through
from lmod_train.core.links import check_link
from lmod_train.core.raw import json_of_line, last_line, lines_of, open_file
from lmod_train.core.types import fields_of
from lmod_train.data.curation.prepare import Prepared
from lmod_train.data.curation.splits import Place

NAME = ".journal.jsonl"


class Thumbnails(Mapping[Place, str]):
    """Thumbnails by source and key of the image, each read from its line of a journal when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at: dict[Place, int] = {}

    def __getitem__(self, place: Place) -> str:
        with open_file(self.path, sys.maxsize) as file:
            file.seek(self.at[place])
            return str(json_of_line(file.readline())["thumbnail"])

    def __iter__(self) -> Iterator[Place]:
        return iter(self.at)

    def __len__(self) -> int:
        return len(self.at)


class Journal:
    """An append-only file in the curated folder: settings and inputs in the first line, then one sample a line.

    Attributes:
        done: What was done, by source and key, without the thumbnails, which would fill the memory.
        thumbnails: Of the images that have one; readable until `remove`.

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
        self.done: dict[Place, Prepared] = {}
        self.thumbnails = Thumbnails(self.path)
        end = 0
        for line, row in self._complete_lines():
            if end:
                self._hold(Prepared.of(row), end)
            elif differences := differing(row, header):
                raise CurationConflict(out, differences)
            end += len(line)
        self._file = append_to(self.path, newline="")
        if not end:
            write_through(self._file, _line(header))

    def append(self, prepared: Iterable[Prepared]) -> None:
        """Write what was done, one line each, and wait until it is on the disk."""
        several, end = list(prepared), self.path.stat().st_size
        lines = [_line(fields_of(one)) for one in several]
        write_through(self._file, "".join(lines))
        for one, line in zip(several, lines, strict=True):
            self._hold(one, end)
            end += len(line)

    def close(self) -> None:
        """Close the file and leave it for the next start."""
        self._file.close()

    def remove(self) -> None:
        """Close the file and delete it: the manifest stands in its place."""
        self.close()
        remove(self.path)

    def _hold(self, prepared: Prepared, at: int) -> None:
        place = prepared.source, prepared.key
        self.done[place] = replace(prepared, thumbnail="")
        self.thumbnails.at.pop(place, None)  # an earlier line of an image that is damaged by now
        if prepared.thumbnail:
            self.thumbnails.at[place] = at

    def _complete_lines(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        if not self.path.exists():
            return
        end, _ = last_line(self.path)
        cut(self.path, end)  # what a kill left of the last line, or the next one would continue it
        try:
            for line in lines_of(self.path):
                yield line, json_of_line(line)
        except ValueError as error:
            cure = f"delete {self.path} and curate again"
            raise ArtifactError(self.path, f"a line is damaged ({error})", cure) from error


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, default=fields_of) + "\n"  # ASCII, a byte a character


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
