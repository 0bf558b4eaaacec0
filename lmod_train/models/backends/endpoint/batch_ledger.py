"""What a run has left at a service: its batches, from before each is sent until its results are on the disk."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import append_to, cut, write_durably, write_through
from lmod_train.core.links import check_file
from lmod_train.core.raw import json_of_line, last_line, lines_of

_MARK = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Left:
    """A batch that was left at a service.

    Attributes:
        mark: Its name in this run.
        ids: Ids of its requests.
        since: Time before it was sent, in seconds since 1970.
        batches: Its id at the service; several if it is not known which of them it is; empty if it is not known at all.
        ended: How it has ended; empty while it has not.
    """

    mark: str
    ids: tuple[str, ...]
    since: float
    batches: tuple[str, ...] = ()
    ended: str = ""


class Ledger:
    """The batches of a run, in files that only grow: a line is on the disk before the next step is taken.

    A batch is written down before it is sent, so that one is never forgotten, wherever a command is killed.

    Args:
        folder: Folder of the files in the run, whose other files are those of other processes.
        name: File of this process.

    Attributes:
        left: Mark -> batch, in the order in which they were sent.

    Raises:
        ArtifactError: A whole line is not of a batch.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._file = folder, folder / name
        self.left: dict[str, Left] = {}
        for file in sorted(folder.glob("rank-*.jsonl")):
            check_file(folder.parent, file)
            for number, line in enumerate(lines_of(file), 1):
                if line.endswith(b"\n"):  # else the process was killed as it wrote, before it did what the line says
                    self._read(file, number, line)

    def _read(self, file: Path, number: int, line: bytes) -> None:
        try:
            known = json_of_line(line)
            mark = known.pop("mark")
            for name in known.keys() & {"ids", "batches"}:
                known[name] = tuple(map(str, known[name]))
            if not _MARK.fullmatch(mark):
                raise ValueError(f"mark={mark!r}")
            self.left[mark] = replace(self.left[mark], **known) if mark in self.left else Left(mark, **known)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ArtifactError(file, f"line {number} is not of a batch ({error})", f"delete line {number}") from error

    @property
    def open(self) -> list[Left]:
        """Batches that have not ended."""
        return [one for one in self.left.values() if not one.ended]

    def begin(self, mark: str, ids: Sequence[str]) -> None:
        """Write down a batch that will be sent."""
        self._write(Left(mark, tuple(ids), time.time()), ids=list(ids), since=time.time())

    def sent(self, mark: str, batches: Sequence[str]) -> None:
        """Write down the ids of a batch at the service."""
        self._write(replace(self.left[mark], batches=tuple(batches)), batches=list(batches))

    def end(self, mark: str, how: str, lines: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Write down that a batch has ended, its results first.

        Args:
            mark: The batch.
            how: How it has ended.
            lines: Its results; None if it was never answered.
        """
        if lines is not None:
            with write_durably(self._results(mark)) as part:
                part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self._write(replace(self.left[mark], ended=how), ended=how)

    def results(self, mark: str) -> Iterator[Mapping[str, Any]]:
        """Yield the results of a batch that has ended; none if it was never answered.

        Raises:
            ArtifactError: A line is not a result.
        """
        file = self._results(mark)
        if not file.exists():
            return
        check_file(self._folder.parent, file)
        for number, line in enumerate(lines_of(file), 1):
            try:
                result = json_of_line(line)
            except ValueError:
                result = None
            if not isinstance(result, dict):
                raise ArtifactError(file, f"line {number} is not a result", f"delete line {number}")
            yield result

    def _results(self, mark: str) -> Path:
        return self._folder / f"{mark}.results.jsonl"

    def _write(self, one: Left, **changed: Any) -> None:
        with append_to(self._file) as file:
            end, last = last_line(self._file)
            if last:
                cut(self._file, end)
            write_through(file, json.dumps({"mark": one.mark, **changed}) + "\n")
        self.left[one.mark] = one
