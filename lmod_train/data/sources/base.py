"""Base class of the sources: reads the folders of one raw dataset and yields samples; decodes no pixels."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Self, TypeVar

from lmod_train.core.links import check_links_below
from lmod_train.core.types import Dropped, Extent, Sample, SampleStream
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.data.sources.gaps import gaps, group_of

Key = TypeVar("Key", bound=Hashable)

UNSTATED = "not stated: the layout is that of a published dataset, its files are not known"
"""Licence of a source that is not shown to be the published one, see `Source.is_published`."""

UNPLACED = Path()
"""Root of a source that is configured with options and whose folder is not known yet."""


class Source(ABC):
    """One raw dataset in its publisher's folder layout.

    Uncertain properties of a dataset are arguments of its class after `root`, with the default and its reason in the
    docstring, so that a configuration can change them.

    Args:
        root: Folder that contains the dataset, directly or some levels below; left out in configurations, where `at`
            sets it once the folder is found.
    """

    name: str
    modality: str
    licence: str
    redistributable: bool
    reference: str
    states_patients: bool | None = None
    """Whether it states which images are of one patient, None if that differs; if not, intervals are over images."""

    mend: str = "look into the folders named by their roots"
    """What to do where it yields no sample."""

    def __init__(self, root: Path = UNPLACED) -> None:
        self.root = Path(root)

    @property
    def is_phantom(self) -> bool:
        """Whether the images are phantoms drawn by this project, which have their own licence."""
        depths = ("", "*/", "*/*/", "*/*/*/")  # copies of a dataset have their root at different depths
        return any(True for depth in depths for _ in self.root.glob(f"{depth}{NOTE}"))

    def is_published(self) -> bool:
        """Return whether the files show to be those of the published dataset; anyone's may have a simple layout.

        Of others the licence is not known, and nothing of them leaves the machine.
        """
        return True

    def at(self, root: Path) -> Self:
        """Return a copy of this source with the same options and another root."""
        placed = copy(self)
        placed.root = Path(root)
        return placed

    @classmethod
    @abstractmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder itself, not one above it, is the dataset, by its file names; must be fast."""

    @abstractmethod
    def verify(self) -> None:
        """Check the layout.

        Raises:
            SourceNotFound: Something is missing; the message prints the expected tree.
        """

    def check_links(self) -> None:
        """Check that no link below the root leads out of it, before anything there is read.

        Raises:
            LeavesFolder: One does, and the user does not allow it.
        """
        check_links_below(self.root)

    def inputs(self) -> Mapping[str, Any]:
        """Return what the manifest states of its inputs besides their listing; nothing by default."""
        return {}

    def account(self, samples: Iterable[Sample]) -> Mapping[str, Any]:
        """Return what the manifest states of the curated samples besides their number; nothing by default."""
        return {}

    @abstractmethod
    def samples(self) -> SampleStream:
        """Yield samples in a stable order with stable keys, and a `Dropped` for every file that is not used."""

    def _taken(self, key: str, file: Path, group: str = "", **fields: Any) -> Sample:
        """Return the sample of an image file, a group of its own unless one is known."""
        return Sample(self.name, key, self.modality, file, group or key, self.licence, **fields)

    def _group_of(self, person: str) -> str:
        """Return the group of a patient: a hash, as records hold no name or number of one."""
        return f"p{hashlib.sha256(f'{self.name} {person}'.encode()).hexdigest()[:16]}"

    def _drop(self, file: Path, reason: str, detail: str = "", key: str = "", extent: Extent = "gone") -> Dropped:
        """Return the entry for a dropped file; its path relative to the root is the default key."""
        place = file.relative_to(self.root).as_posix()
        return Dropped(self.name, key or place, place, "read", reason, detail, extent)

    def _cost(self, file: Path, reason: str, detail: str = "", key: str = "") -> Dropped:
        """Return the entry for labels or regions dropped from samples that are kept."""
        return self._drop(file, reason, detail, key, "part")

    def _problems(self, file: Path, reason: str, problems: Iterable[str]) -> Iterator[Dropped]:
        """Yield an entry for each value of a table that cannot be used; each problem begins with the row's name."""
        for problem in problems:
            row, _, _ = problem.partition(":")
            yield self._cost(file, reason, problem, f"{file.relative_to(self.root).as_posix()}: {row}")

    def _twice(self, file: Path, kept: Path) -> Dropped:
        """Return the entry for a file whose key another file has already."""
        return self._drop(file, "same key twice", f"the key is used by {kept.relative_to(self.root).as_posix()}")

    def _keep_first(self, kept: dict[Key, Path], key: Key, file: Path, dropped: list[Dropped]) -> bool:
        """Add a file to `kept` if its key is new, else an entry to `dropped`; return whether it was added."""
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
        """Yield an entry for each image that lacks something; one entry for a group of which no image has it.

        Args:
            what: What is missing, in one or two words, e.g. ``mask``; the reason is ``missing mask``.
            images: Key of each image that should have it -> the image's file, or the file that lists it.
            held: Keys of the images that have it.
            detail: Explanation that is added to each entry.
            extent: ``gone`` if the images themselves are missing.
            group: Function from a key to its group.
        """
        for name, keys in gaps({key: group(key) for key in images}, held).items():
            counted = f"none of {len(keys)} has one" if len(keys) > 1 else ""
            text = "; ".join(part for part in (counted, detail) if part)
            yield self._drop(_common([images[key] for key in keys]), f"missing {what}", text, name, extent)

    def _absent(
        self, what: str, name: str, detail: str, extent: Extent = "gone", inside: Path | None = None
    ) -> Dropped:
        """Return the entry for a missing folder, table, class or split.

        Args:
            what: ``folder``, ``table``, ``class`` or ``split``; the reason is ``missing folder``, ...
            name: Name of what is missing, the entry's key.
            detail: Where it is expected, or what is lost with it.
            extent: ``part`` if only labels or regions are lost.
            inside: Folder in which it is expected; the root by default.
        """
        return self._drop(inside or self.root, f"missing {what}", detail, name, extent)


def _common(files: list[Path]) -> Path:
    """Return the file if there is one, else the deepest folder that contains all files."""
    return files[0] if len(files) == 1 else Path(os.path.commonpath([file.parent for file in files]))
