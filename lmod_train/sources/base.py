"""What every source promises: a folder in, samples out; no pixels, no prompts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from pathlib import Path
from typing import ClassVar, Self

from lmod_train.types import Dropped, SampleStream

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

    name: ClassVar[str]
    modality: ClassVar[str]
    licence: ClassVar[str]
    redistributable: ClassVar[bool]
    reference: ClassVar[str]

    def __init__(self, root: Path = UNPLACED) -> None:
        self.root = Path(root)

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

    @abstractmethod
    def samples(self) -> SampleStream:
        """Yield samples in a stable order with stable keys, and a `Dropped` for every file left out."""

    def _drop(self, file: Path, reason: str, detail: str = "", key: str = "") -> Dropped:
        """Return the line for something left out in reading; without a key it is named by its place below the root."""
        place = file.relative_to(self.root).as_posix()
        return Dropped(self.name, key or place, place, "read", reason, detail)

    def _twice(self, file: Path, kept: Path) -> Dropped:
        """Return the line for a file whose key another one has already."""
        return self._drop(file, "same key twice", f"the key is taken by {kept.relative_to(self.root).as_posix()}")
