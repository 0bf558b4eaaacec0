"""What every source promises: a folder in, samples out; no pixels, no prompts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from lmod_train.types import SampleStream


class Source(ABC):
    """One raw dataset in its publisher's own folder layout.

    Args:
        root: Folder that holds the dataset, at any of the depths its circulating copies have.
    """

    name: ClassVar[str]
    modality: ClassVar[str]
    licence: ClassVar[str]
    redistributable: ClassVar[bool]
    reference: ClassVar[str]

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

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
