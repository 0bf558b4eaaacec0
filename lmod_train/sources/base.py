"""What every source promises: a folder in, samples out; no pixels, no prompts."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Self, TypeVar

from lmod_train.sources.gaps import gaps, group_of
from lmod_train.types import Dropped, Extent, SampleStream
from lmod_train.vocabulary.phantoms import NOTE

Key = TypeVar("Key", bound=Hashable)

UNPLACED = Path()
"""Root of a source that is named in a configuration with its options and still has to be found."""


class Source(ABC):
    """One raw dataset in its publisher's own folder layout.

    What is uncertain about a dataset is an argument of its class after `root`, with the default and its reason in the
    docstring, so that a configuration can say otherwise.

    Args:
        root: Folder that holds the dataset, at any of the depths its circulating copies have; left out in
            configurations, where `at` fills it in once the folder is found.
    """

    name: str
    modality: str
    licence: str
    redistributable: bool
    reference: str

    def __init__(self, root: Path = UNPLACED) -> None:
        self.root = Path(root)

    @property
    def is_phantom(self) -> bool:
        """Whether its images were drawn by this project: they are no eyes, and have a licence of their own."""
        depths = ("", "*/", "*/*/", "*/*/*/")  # a root is found at any depth its circulating copies have
        return any(True for depth in depths for _ in self.root.glob(f"{depth}{NOTE}"))

    def at(self, root: Path) -> Self:
        """Return the same source, options and all, in another folder."""
        placed = copy(self)
        placed.root = Path(root)
        return placed

    @classmethod
    @abstractmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this very folder (not a parent) looks like the dataset, by its own markers; cheap."""

    @abstractmethod
    def verify(self) -> None:
        """Check the layout.

        Raises:
            SourceNotFound: Something is missing; the message prints the expected tree.
        """

    def inputs(self) -> Mapping[str, Any]:
        """Return what the manifest states of its inputs besides their listing; nothing by default."""
        return {}

    @abstractmethod
    def samples(self) -> SampleStream:
        """Yield samples in a stable order with stable keys, and a `Dropped` for every file left out."""

    def _drop(self, file: Path, reason: str, detail: str = "", key: str = "", extent: Extent = "gone") -> Dropped:
        """Return the line for something left out in reading; without a key it is named by its place below the root."""
        place = file.relative_to(self.root).as_posix()
        return Dropped(self.name, key or place, place, "read", reason, detail, extent)

    def _cost(self, file: Path, reason: str, detail: str = "", key: str = "") -> Dropped:
        """Return the line for labels or regions left out of samples that stay."""
        return self._drop(file, reason, detail, key, "part")

    def _problems(self, file: Path, reason: str, problems: Iterable[str]) -> Iterator[Dropped]:
        """Yield the line for each value of a table that cannot be used; a problem begins with the row's name."""
        for problem in problems:
            row, _, _ = problem.partition(":")
            yield self._cost(file, reason, problem, f"{file.relative_to(self.root).as_posix()}: {row}")

    def _twice(self, file: Path, kept: Path) -> Dropped:
        """Return the line for a file whose key another one has already."""
        return self._drop(file, "same key twice", f"the key is taken by {kept.relative_to(self.root).as_posix()}")

    def _keep_first(self, kept: dict[Key, Path], key: Key, file: Path, dropped: list[Dropped]) -> bool:
        """Keep the first file of a key, and list every later one; return whether this file is the first."""
        first = kept.setdefault(key, file)
        if first != file:
            dropped.append(self._twice(file, first))
        return first == file

    def _missing(
        self,
        what: str,
        images: Mapping[str, Path],
        held: Container[str],
        detail: str = "",
        extent: Extent = "part",
        group: Callable[[str], str] = group_of,
    ) -> Iterator[Dropped]:
        """Yield the line for each image that lacks something, one for all of a group in which none has it.

        Args:
            what: What is missing, in one or two words, e.g. ``mask``; the reason is ``missing mask``.
            images: Key of each image that should have it -> its file, or the file that lists it.
            held: Keys of those that have it.
            detail: What it means for them.
            extent: ``gone`` where the images themselves are missing.
            group: Key -> the group it is counted in.
        """
        for name, keys in gaps({key: group(key) for key in images}, held).items():
            counted = f"none of {len(keys)} has one" if len(keys) > 1 else ""
            said = "; ".join(part for part in (counted, detail) if part)
            yield self._drop(_common([images[key] for key in keys]), f"missing {what}", said, name, extent)

    def _absent(
        self, what: str, name: str, detail: str, extent: Extent = "gone", inside: Path | None = None
    ) -> Dropped:
        """Return the line for a folder, table, class or split that should be there and is not.

        Args:
            what: ``folder``, ``table``, ``class`` or ``split``; the reason is ``missing folder``, ...
            name: Its name, the line's key.
            detail: Where it is looked for, or what is lost with it.
            extent: ``part`` where only labels or regions are lost with it.
            inside: The folder it should be in, by default the root.
        """
        return self._drop(inside or self.root, f"missing {what}", detail, name, extent)


def _common(files: list[Path]) -> Path:
    """Return the one file, or the folder that holds all of several."""
    return files[0] if len(files) == 1 else Path(os.path.commonpath([file.parent for file in files]))
